//go:build !wasm

package plugin

import "crypto/rand"

// random fills b with random bytes.
func random(b []byte) error {
	_, err := rand.Read(b)
	return err
}

//go:build !wasm

package seal

import "crypto/rand"

// random fills b with random bytes.
func random(b []byte) error {
	_, err := rand.Read(b)
	return err
}

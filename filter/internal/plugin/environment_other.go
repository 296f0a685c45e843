//go:build !wasm

package plugin

import "os"

func environment(name string) string { return os.Getenv(name) }

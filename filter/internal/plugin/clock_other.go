//go:build !wasm

package plugin

import "time"

// micros returns the time in microseconds since 1970.
func micros() int64 { return time.Now().UnixMicro() }

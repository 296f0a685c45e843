//go:build !wasm

package plugin

import "time"

// now returns the time in milliseconds since 1970.
func now() int64 { return time.Now().UnixMilli() }

//go:build !linux

package envoy

import "syscall"

// As on Linux, but that nothing ends the child when we are killed.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

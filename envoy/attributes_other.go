//go:build !linux

package envoy

import "syscall"

// processAttributes puts the child into a process group of its own, as on Linux. If this program is killed, the child
// goes on.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

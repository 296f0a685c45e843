//go:build !linux

package envoy

import "syscall"

// processAttributes puts the child into its own process group, as on Linux. If this program is killed, the child
// continues.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

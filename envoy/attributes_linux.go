package envoy

import "syscall"

// processAttributes puts the child into a process group of its own, so that Ctrl-C in a terminal does not reach it.
// This program stops it, after it has printed so. If this program is killed, the kernel ends the child too.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

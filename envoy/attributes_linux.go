package envoy

import "syscall"

// processAttributes puts the child into its own process group, so that Ctrl-C in a terminal does not reach it. This
// program announces the stop, and then stops the child. If this program is killed, the kernel ends the child too.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

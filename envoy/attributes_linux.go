package envoy

import "syscall"

// A group of its own keeps the terminal's Ctrl-C from the child: it is stopped by us, after we have said so. And when
// we are killed, it goes too.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

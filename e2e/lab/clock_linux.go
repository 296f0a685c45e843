package lab

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// ProcessTime returns the processor time of a process: of all its threads, those that have ended too. The clock comes
// from clock_getcpuclockid(3), whose id the kernel makes of the process's (include/linux/posix-timers.h).
func ProcessTime(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED: in nanoseconds
	var at syscall.Timespec
	clock := uintptr(^pid<<3 | scheduled)
	if _, _, failed := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&at)), 0); failed != 0 {
		return 0, fmt.Errorf("the processor time of process %d: %w", pid, failed)
	}
	return time.Duration(at.Nano()), nil
}

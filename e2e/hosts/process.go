package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticks is the unit in which Linux counts processor time, in parts of a second.
const ticks = 100

// CPUSeconds returns the processor time that all threads of a process have used so far.
func CPUSeconds(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("processor time can only be measured on Linux: %w", err)
	}
	// These are the fields after the command, which may contain any character.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, errors.New("unknown form of /proc/PID/stat")
	}
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	return float64(user+system) / ticks, errors.Join(err1, err2)
}

// ResidentKiB returns the resident memory of a process.
func ResidentKiB(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("memory can only be measured on Linux: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")))
		}
	}
	return 0, errors.New("no VmRSS in /proc/PID/status")
}

// Memory divides the resident memory of a process, in bytes.
type Memory struct {
	// VMs is the part in the memories of wasm VMs. Other is the rest.
	VMs, Other int
	// LargestVM is the size of the largest VM's memory, resident or not.
	LargestVM int
}

// wasmGuard is the least that is inaccessible after a wasm memory, and more than is anywhere else: V8 reserves 8 GiB
// for each memory, and Envoy gives a VM 1 GiB at most.
const wasmGuard = 4 << 30

// MemoryOf returns the resident memory of an Envoy.
func MemoryOf(pid int) (Memory, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return Memory{}, fmt.Errorf("memory can only be measured on Linux: %w", err)
	}
	var memory Memory
	var start, end uint64
	var access string
	resident := 0 // of the mapping from start to end
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 1 && fields[0] == "Rss:":
			kib, err := strconv.Atoi(fields[1])
			if err != nil {
				return Memory{}, err
			}
			resident = kib << 10
			memory.Other += resident
		case len(fields) > 1 && !strings.HasSuffix(fields[0], ":"): // the next mapping begins
			writable, size, last := access == "rw-p", int(end-start), end
			if _, err := fmt.Sscanf(line, "%x-%x %s", &start, &end, &access); err != nil {
				return Memory{}, fmt.Errorf("unknown form of /proc/PID/smaps: %w", err)
			}
			if writable && start == last && access == "---p" && end-start > wasmGuard {
				memory.VMs += resident
				memory.Other -= resident
				memory.LargestVM = max(memory.LargestVM, size)
			}
		}
	}
	if memory.LargestVM == 0 {
		return Memory{}, errors.New("no wasm memory in /proc/PID/smaps")
	}
	return memory, nil
}

package lab

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestProcessTime checks that the clock of this process moves while it works, and that another process has its own.
func TestProcessTime(t *testing.T) {
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	before, err := ProcessTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		now, err := ProcessTime(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now > before+20*time.Millisecond {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("10 s of work took %s of processor time", now-before)
		}
	}
	if asleep, err := ProcessTime(other.Process.Pid); err != nil || asleep <= 0 || asleep > 20*time.Millisecond {
		t.Errorf("a process that sleeps has used %s (%v)", asleep, err)
	}
}

package engines

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
)

// TestWatch ends the program that has started a server, and waits until all of the server is gone.
func TestWatch(t *testing.T) {
	v := &VLLM{cmd: exec.Command("sh", "-c", "sleep 60 & wait")}
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-v.cmd.Process.Pid, syscall.SIGKILL) }) // all should have ended already
	if err := v.watch(); err != nil {
		t.Fatal(err)
	}
	if err := v.holding.Close(); err != nil {
		t.Fatal(err)
	}
	if err := v.guard.Wait(); err != nil {
		t.Fatalf("what kills the server has failed: %v", err)
	}
	var ended *exec.ExitError
	if err := v.cmd.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the server has ended with %v", err)
	}
}

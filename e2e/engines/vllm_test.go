package engines

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestWatch ends the program that has started a server, and waits until all of the server is gone.
func TestWatch(t *testing.T) {
	v := startFake(t)
	if err := v.holding.Close(); err != nil {
		t.Fatal(err)
	}
	if err := v.guard.Wait(); err != nil {
		t.Fatalf("what kills the server has failed: %v", err)
	}
	<-v.ended
	<-v.logged
	if status, ok := v.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("the server has ended with %v", v.cmd.ProcessState)
	}
}

// TestKillServer kills a server whose engine goes on.
func TestKillServer(t *testing.T) {
	v := startFake(t)
	if err := v.KillServer(); err != nil {
		t.Fatal(err)
	}
	if len(v.processes()) != 1 {
		t.Errorf("of the server there are %v", v.processes())
	}
	v.Stop()
	if len(v.processes()) != 0 {
		t.Errorf("of the stopped server there are %v", v.processes())
	}
}

// startFake starts two processes in the place of a server and its engine.
func startFake(t *testing.T) *VLLM {
	t.Helper()
	v := newVLLM(exec.Command("sh", "-c", "sleep 60 & echo started; wait"))
	if err := v.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-v.cmd.Process.Pid, syscall.SIGKILL) }) // all should have ended already
	if err := v.watch(); err != nil {
		t.Fatal(err)
	}
	for ticks := time.Tick(time.Millisecond); v.Log() == ""; <-ticks {
	}
	return v
}

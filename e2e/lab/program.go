//go:build e2e

package lab

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Limits for the program on a busy machine.
const (
	ReadyLimit = time.Minute      // until it is ready
	StopLimit  = 20 * time.Second // until it has ended, after the signal
)

// Program is one run of the program that ships.
type Program struct {
	Cmd            *exec.Cmd
	Stdout, Stderr Output
	Err            error  // how it ended; valid after [Program.Ended]
	Temp           string // its folder for temporary files
	PIDs           string // the file that its Envoys write their process ids to
	done           chan struct{}
}

// RunHarmony starts $HARMONY_BIN in a folder of its own, with a script for Envoy that records the process id and runs
// the real one. extra is added to the environment and wins.
func RunHarmony(t *testing.T, extra []string, args ...string) *Program {
	t.Helper()
	folder := t.TempDir()
	c := &Program{Temp: filepath.Join(folder, "tmp"), PIDs: filepath.Join(folder, "pids")}
	if err := os.Mkdir(c.Temp, 0o700); err != nil {
		t.Fatal(err)
	}
	wrapper := WriteScript(t, folder, "envoy", `echo $$ >>"$PIDS"; exec "$REAL_ENVOY" "$@"`)
	c.Cmd = exec.Command(Tool(t, "HARMONY_BIN"), args...)
	c.Cmd.Dir = folder
	c.Cmd.Env = append(os.Environ(), "TMPDIR="+c.Temp, "PIDS="+c.PIDs, "REAL_ENVOY="+Tool(t, "ENVOY"), "ENVOY="+wrapper)
	c.Cmd.Env = append(c.Cmd.Env, extra...)
	c.start(t)
	return c
}

// Run starts a command, which is stopped when the test ends.
func Run(t *testing.T, cmd *exec.Cmd) *Program {
	t.Helper()
	c := &Program{Cmd: cmd}
	c.start(t)
	return c
}

// start starts the program.
func (c *Program) start(t *testing.T) {
	t.Helper()
	c.done = make(chan struct{})
	c.Cmd.Stdout, c.Cmd.Stderr = &c.Stdout, &c.Stderr
	c.Cmd.WaitDelay = time.Second
	if err := c.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.Err = c.Cmd.Wait()
		close(c.done)
	}()
	command := strings.Join(c.Cmd.Args, " ")
	t.Cleanup(func() {
		select {
		case <-c.done:
		default:
			_ = c.Cmd.Process.Signal(syscall.SIGTERM)
			if !c.Ended(StopLimit) {
				_ = c.Cmd.Process.Kill()
				t.Errorf("%s did not stop", command)
			}
		}
		if t.Failed() {
			t.Logf("%s\n%s%s", command, &c.Stdout, &c.Stderr)
		}
	})
}

// WriteScript writes a shell script into a folder and returns its path.
func WriteScript(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// WriteConfig writes a configuration into a folder of its own and returns the file's path.
func WriteConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Ended waits for the program's end, and reports whether it came within the limit.
func (c *Program) Ended(limit time.Duration) bool {
	select {
	case <-c.done:
		return true
	case <-time.After(limit):
		return false
	}
}

// ExitCode returns the exit status of a program that has ended.
func (c *Program) ExitCode(t *testing.T) int {
	t.Helper()
	var failed *exec.ExitError
	switch {
	case c.Err == nil:
		return 0
	case errors.As(c.Err, &failed):
		return failed.ExitCode()
	}
	t.Fatal(c.Err)
	return -1
}

// Announced waits until standard output matches a pattern, and returns its group.
func (c *Program) Announced(t *testing.T, pattern string) string {
	t.Helper()
	for end := time.Now().Add(ReadyLimit); time.Now().Before(end); {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(c.Stdout.String()); m != nil {
			return m[1]
		}
		if c.Ended(10 * time.Millisecond) {
			t.Fatalf("it ended: %v\n%s", c.Err, &c.Stderr)
		}
	}
	t.Fatalf("it has not said %s: %s", pattern, &c.Stdout)
	return ""
}

// StartUp runs harmony up on a free port, and returns its URL when it has printed it.
func StartUp(t *testing.T, args ...string) (*Program, string) {
	t.Helper()
	return StartUpWith(t, nil, args...)
}

// StartUpWith is StartUp with more in the environment.
func StartUpWith(t *testing.T, extra []string, args ...string) (*Program, string) {
	t.Helper()
	c := RunHarmony(t, extra, append([]string{
		"up", "--listen", "127.0.0.1:0", "--wasm", Tool(t, "HARMONY_WASM"), "--concurrency", "1",
		// Tests that end while an answer is under way do not wait for it.
		"--drain-time", "100ms"}, args...)...)
	deadline := time.Now().Add(ReadyLimit)
	for time.Now().Before(deadline) {
		for line := range strings.Lines(c.Stdout.String()) {
			if url, ok := strings.CutPrefix(line, "listening on "); ok && strings.HasSuffix(url, "\n") {
				return c, strings.TrimSpace(url)
			}
		}
		if c.Ended(10 * time.Millisecond) {
			t.Fatalf("harmony up ended before it was ready: %v", c.Err)
		}
	}
	t.Fatalf("harmony up was not ready within %s", ReadyLimit)
	return nil, ""
}

// Stop ends the program by a signal. The test fails unless it exits with status 0 and leaves nothing.
func (c *Program) Stop(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := c.Cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if !c.Ended(StopLimit) {
		t.Fatalf("it still runs %s after the signal", StopLimit)
	}
	if code := c.ExitCode(t); code != 0 {
		t.Errorf("exit status %d after %v, want 0", code, signal)
	}
	c.NothingLeft(t, true)
}

// Kill ends the program by SIGKILL, and waits for its end.
func (c *Program) Kill(t *testing.T) {
	t.Helper()
	if err := c.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if !c.Ended(StopLimit) {
		t.Fatal("it still runs after SIGKILL")
	}
}

// NothingLeft fails the test if an Envoy that the program started still runs, or a temporary file is left. started
// reports whether it must have started one.
func (c *Program) NothingLeft(t *testing.T, started bool) {
	t.Helper()
	data, err := os.ReadFile(c.PIDs)
	if err != nil && (started || !errors.Is(err, os.ErrNotExist)) {
		t.Fatalf("no Envoy was started: %v", err)
	}
	for _, text := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("Envoy's process %d is still there (%v)", pid, err)
		}
	}
	left, err := os.ReadDir(c.Temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		t.Errorf("%s is left in the temporary folder", f.Name())
	}
}

// StopWazero ends harmony up. The test fails unless it exits with status 0 and has started no Envoy.
func StopWazero(t *testing.T, c *Program) {
	t.Helper()
	if err := c.Cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if !c.Ended(StopLimit) {
		t.Fatalf("it still runs %s after the signal", StopLimit)
	}
	if code := c.ExitCode(t); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
	if pids, err := os.ReadFile(c.PIDs); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it has started an Envoy: %s %v", pids, err)
	}
}

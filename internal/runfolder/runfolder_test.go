package runfolder

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// childVariable makes this test's program a run that makes a folder in the variable's folder and waits to be killed.
const childVariable = "RUNFOLDER_CHILD"

func TestMain(m *testing.M) {
	parent := os.Getenv(childVariable)
	if parent == "" {
		os.Exit(m.Run())
	}
	f, err := New(parent, "run-")
	if err == nil {
		err = os.WriteFile(f.File("secret"), []byte("x"), 0o600)
	}
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(f.Path + "\n")
	io.Copy(io.Discard, os.Stdin) // until it is killed
}

// killed starts a run and kills it, and returns its folder. before is called while the run lives.
func killed(t *testing.T, parent string, before func(path string)) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childVariable+"="+parent)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 4096)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	path := string(line[:n-1])
	if before != nil {
		before(path)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	return path
}

// TestRemoveDead checks that the folder of a killed run is removed, and nothing else.
func TestRemoveDead(t *testing.T) {
	parent := t.TempDir()
	mine, err := New(parent, "run-")
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Remove()
	elsewhere := t.TempDir()
	keep := []string{mine.File(lockName), filepath.Join(parent, "run-of-another-program", "file"),
		filepath.Join(parent, "other-1", lockName), filepath.Join(elsewhere, lockName)}
	for _, path := range keep[1:] {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Links lead elsewhere: to a folder, and as a lock to a file that nothing holds.
	for link, target := range map[string]string{"run-link": elsewhere, "run-of-another-program/" + lockName: keep[3]} {
		if err := os.Symlink(target, filepath.Join(parent, link)); err != nil {
			t.Fatal(err)
		}
	}
	dead := killed(t, parent, func(path string) {
		RemoveDead(parent, "run-")
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the folder of a running process: %v", err)
		}
		if got := Live(parent, "run-"); len(got) != 2 || !slices.Contains(got, path) || !slices.Contains(got, mine.Path) {
			t.Errorf("running are %v", got)
		}
	})
	if _, err := os.Stat(dead); err != nil {
		t.Fatalf("a killed process leaves its folder: %v", err)
	}
	if got := Live(parent, "run-"); !slices.Equal(got, []string{mine.Path}) {
		t.Errorf("running are %v", got)
	}
	RemoveDead(parent, "run-")
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the folder of a killed process is left: %v", err)
	}
	for _, path := range keep {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// TestModes checks that other users see nothing of a folder, and that Remove leaves nothing.
func TestModes(t *testing.T) {
	parent := t.TempDir()
	f, err := New(parent, "run-")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	f.Remove()
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := New(filepath.Join(parent, "none"), "run-"); err == nil {
		t.Error("a folder in a folder that is not there")
	}
}

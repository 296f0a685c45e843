//go:build e2e && release

package release

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// root is a folder that programs see as the root of a file system, in which there is only what a test puts there. They
// share the machine's loopback, and no other network is asked.
type root struct{ folder string }

// newRoot returns a root with what every system has: null and random numbers, folders for temporary files, a user's home.
func newRoot(t *testing.T) *root {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("only root may change the root of a file system: run make test-release as root")
	}
	r := &root{t.TempDir()}
	for _, folder := range []string{"dev/shm", "tmp", "home"} {
		if err := os.MkdirAll(r.path(folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, minor := range map[string]int{"null": 3, "random": 8, "urandom": 9} {
		const characters, memory = syscall.S_IFCHR | 0o666, 1
		if err := syscall.Mknod(r.path("dev/"+name), characters, memory<<8|minor); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// path returns where a path in the root lies on this machine.
func (r *root) path(name string) string { return filepath.Join(r.folder, name) }

// add copies files and folders of this machine into the root, under their own paths. skip names folders to leave out.
func (r *root) add(t *testing.T, skip []string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		to := r.path(path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"-C", real, "-cf", "-"}
		info, err := os.Stat(real)
		switch {
		case err != nil:
			t.Fatal(err)
		case !info.IsDir():
			run(t, "/", nil, "cp", real, to)
			continue
		}
		for _, s := range skip {
			args = append(args, "--exclude=./"+s)
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		pack := exec.CommandContext(t.Context(), "tar", append(args, ".")...)
		unpack := exec.CommandContext(t.Context(), "tar", "-C", to, "-xf", "-")
		if unpack.Stdin, err = pack.StdoutPipe(); err != nil {
			t.Fatal(err)
		}
		if err := unpack.Start(); err != nil {
			t.Fatal(err)
		}
		if err := pack.Run(); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := unpack.Wait(); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

// addLibraries copies the shared libraries that programs of this machine need, with the C library's other parts.
func (r *root) addLibraries(t *testing.T, programs ...string) {
	t.Helper()
	seen := map[string]bool{}
	for _, program := range programs {
		// ldd fails for a static program, which needs none.
		out, _ := exec.CommandContext(t.Context(), "ldd", program).Output()
		for _, word := range strings.Fields(string(out)) {
			if filepath.IsAbs(word) && !seen[word] {
				seen[word] = true
				r.add(t, nil, word)
				if strings.HasPrefix(filepath.Base(word), "libc.so") {
					for _, part := range []string{"libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libresolv.so.2"} {
						r.add(t, nil, filepath.Join(filepath.Dir(word), part))
					}
				}
			}
		}
	}
}

// command returns a command that runs in the root, with next to nothing in its environment.
func (r *root) command(t *testing.T, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = "/home", append([]string{"HOME=/home", "PATH=/nowhere"}, env...)
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: r.folder}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	return c
}

// run runs a command in the root and returns what it prints. The test fails if the command does.
func (r *root) run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	c := r.command(t, env, name, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String()
}

// absent fails the test if the root has a file of one of these names: it would not be as empty as the test says.
func (r *root) absent(t *testing.T, names ...string) {
	t.Helper()
	err := filepath.WalkDir(r.folder, func(path string, entry fs.DirEntry, err error) error {
		for _, name := range names {
			if err == nil && !entry.IsDir() && entry.Name() == name {
				t.Errorf("the root has %s", strings.TrimPrefix(path, r.folder))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// answers starts harmony up by a command, asks it, and returns the program, its URL, and the time from its start to the
// first answer.
func answers(t *testing.T, c *exec.Cmd) (*lab.Program, string, time.Duration) {
	t.Helper()
	began := time.Now()
	p := lab.Run(t, c)
	url := p.Announced(t, `listening on (http://\S+)\n`)
	a := lab.AskChat(lab.HTTP1(t), url)
	took := time.Since(began)
	if a.Err != nil || a.Status != 200 || !strings.Contains(a.Body, `"content":"`) {
		t.Fatalf("got %d %s (%v)", a.Status, a.Body, a.Err)
	}
	return p, url, took.Round(10 * time.Millisecond)
}

// up returns the arguments of harmony up before a simulated server.
func up(server string, more ...string) []string {
	return append([]string{"up", "--listen", "127.0.0.1:0", "--drain-time", "100ms", "--model", lab.Model, "--backend",
		"vllm=" + server}, more...)
}

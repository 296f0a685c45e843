//go:build e2e

package lab

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Postgres is a PostgreSQL server on loopback.
type Postgres struct {
	*Program
	t            *testing.T
	folder, port string
}

// StartPostgres runs the PostgreSQL of $HARMONY_POSTGRES with an empty cluster.
func StartPostgres(t *testing.T) *Postgres {
	t.Helper()
	p := &Postgres{t: t, folder: filepath.Join(t.TempDir(), "cluster")}
	if err := os.Mkdir(p.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		for _, folder := range []string{p.folder, filepath.Dir(p.folder), filepath.Dir(filepath.Dir(p.folder))} {
			if err := os.Chown(folder, p.owner(), -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	init := p.command("initdb", "-D", p.folder, "-U", "harmony", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	if output, err := init.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.port = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	p.Start()
	return p
}

// owner is the id of the user that PostgreSQL runs as in place of root.
func (p *Postgres) owner() int {
	p.t.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			if id, err := strconv.Atoi(u.Uid); err == nil {
				return id
			}
		}
	}
	p.t.Fatal("there is neither a user postgres nor nobody")
	return 0
}

func (p *Postgres) command(name string, args ...string) *exec.Cmd {
	p.t.Helper()
	c := exec.Command(filepath.Join(Tool(p.t, "HARMONY_POSTGRES"), name), args...)
	c.Dir = p.folder
	if os.Geteuid() == 0 {
		id := uint32(p.owner())
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id, NoSetGroups: true}}
	}
	return c
}

// Start runs the server, again after [Postgres.Kill], and waits until it takes connections.
func (p *Postgres) Start() {
	p.t.Helper()
	p.Program = Run(p.t, p.command("postgres", "-D", p.folder, "-p", p.port, "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "max_connections=200"))
	started := p.Program
	p.t.Cleanup(func() {
		_ = started.Cmd.Process.Signal(syscall.SIGQUIT) // it writes nothing for a next start, and may have ended
		started.Ended(StopLimit)
	})
	for end := time.Now().Add(ReadyLimit); ; {
		if output, err := p.command("psql", "-h", "127.0.0.1", "-p", p.port, "-U", "harmony", "-c", "SELECT 1",
			"postgres").CombinedOutput(); err == nil {
			return
		} else if time.Now().After(end) {
			p.t.Fatalf("PostgreSQL does not answer: %v\n%s\n%s", err, output, &p.Stderr)
		}
		if p.Ended(20 * time.Millisecond) {
			p.t.Fatalf("PostgreSQL ended: %v\n%s", p.Err, &p.Stderr)
		}
	}
}

// Kill ends the server and the processes that it has started by SIGKILL. [Postgres.Start] starts it again.
func (p *Postgres) Kill() {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(syscall.SIGSTOP); err != nil { // it starts no others
		p.t.Fatal(err)
	}
	for _, pid := range p.children() {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	p.Program.Kill(p.t)
}

// children returns the processes that the server has started.
func (p *Postgres) children() (pids []int) {
	p.t.Helper()
	pid := p.Cmd.Process.Pid
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, field := range strings.Fields(string(text)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			p.t.Fatal(err)
		}
		pids = append(pids, child)
	}
	return pids
}

// ProcessTime returns the processor time of the server's processes, of those that have ended too.
func (p *Postgres) ProcessTime() (total time.Duration) {
	p.t.Helper()
	// The 16th and the 17th field of proc_pid_stat(5) are of children that have ended, in hundredths of a second.
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	for _, field := range strings.Fields(rest)[13:15] {
		ticks, err := strconv.Atoi(field)
		if err != nil {
			p.t.Fatal(err)
		}
		total += time.Duration(ticks) * 10 * time.Millisecond
	}
	for _, pid := range append(p.children(), p.Cmd.Process.Pid) {
		if used, err := ProcessTime(pid); err == nil { // a process may have ended
			total += used
		}
	}
	return total
}

// Database returns the URL of a new, empty database.
func (p *Postgres) Database(name string) string {
	p.t.Helper()
	if output, err := p.command("createdb", "-h", "127.0.0.1", "-p", p.port, "-U", "harmony",
		name).CombinedOutput(); err != nil {
		p.t.Fatalf("%v\n%s", err, output)
	}
	return fmt.Sprintf("postgres://harmony@127.0.0.1:%s/%s?sslmode=disable", p.port, name)
}

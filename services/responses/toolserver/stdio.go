package toolserver

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// startError means that a program could not be started. Why is in the log only: the text has paths.
type startError struct{}

// Error implements the error interface.
func (*startError) Error() string { return "the server's program cannot be started" }

// command is the transport of a server that is a process. The SDK's own has no limit for messages, ends the process but
// not what that has started, and waits without end for what holds the pipes.
type command struct{ session *session }

// Connect implements [mcp.Transport].
func (c *command) Connect(ctx context.Context) (mcp.Connection, error) {
	s := c.session
	p, err := start(s)
	if err != nil {
		s.pool.log.Warn("a tool server cannot be started", "server", s.server.Label, "error", err)
		return nil, &startError{}
	}
	out := &stream{ReadCloser: p, session: s, newlines: 1}
	s.stream.Store(out)
	garbage := func(error) error {
		return s.setFault(&ConnectionError{"the server's process wrote something that is not a message"})
	}
	t := &mcp.IOTransport{Reader: newChecked(out, byLine, garbage), Writer: &input{p.stdin},
		MaxLineLength: int(2 * s.pool.limits.Message)}
	return t.Connect(ctx)
}

// process is a program that runs, with what it has started, in a process group of its own.
type process struct {
	session               *session
	command               *exec.Cmd
	stdin, stdout, stderr *os.File
	ended                 chan struct{}
	once                  sync.Once
}

// inherited are the variables of the environment that a server gets. The others may hold secrets of the service.
var inherited = []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "SSL_CERT_DIR", "SSL_CERT_FILE",
	"TERM", "TMPDIR",
	"TZ", "USER"}

func start(s *session) (*process, error) {
	server := s.server
	cmd := exec.Command(server.Command[0], server.Command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, server.Environment...)
	p := &process{session: s, command: cmd, ended: make(chan struct{})}
	// The pipes are files, so that exec does not wait for who else holds their other ends.
	theirs := make([]*os.File, 3)
	var err error
	if theirs[0], p.stdin, err = os.Pipe(); err == nil {
		if p.stdout, theirs[1], err = os.Pipe(); err == nil {
			p.stderr, theirs[2], err = os.Pipe()
		}
	}
	if err == nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
		err = cmd.Start()
	}
	closeAll(theirs...)
	if err != nil {
		closeAll(p.stdin, p.stdout, p.stderr)
		return nil, err
	}
	go p.wait()
	go p.watch()
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// wait waits for the process, and ends what it has left behind, which would hold its pipes open.
func (p *process) wait() {
	err := p.command.Wait()
	p.signal(syscall.SIGKILL)
	close(p.ended)
	text := "exit status 0"
	if err != nil {
		text = err.Error()
	}
	p.session.pool.log.Debug("a tool server's process ended", "server", p.session.server.Label, "status", text)
}

func (p *process) signal(s syscall.Signal) {
	_ = syscall.Kill(-p.command.Process.Pid, s) // the group may be gone
}

// watch reads what the process writes to stderr. Lines before the first call of a tool are logged, for those
// who configure it. Later lines may repeat what a user has said, and are only counted.
func (p *process) watch() {
	log, label := p.session.pool.log, p.session.server.Label
	buffer := make([]byte, 4<<10)
	logged, counted := 0, 0
	for {
		n, err := p.stderr.Read(buffer)
		if n > 0 && !p.session.asked.Load() && logged < maxStderr && log.Enabled(context.Background(), slog.LevelDebug) {
			logged += n
			log.Debug("a tool server writes to stderr", "server", label, "text", strings.ToValidUTF8(string(buffer[:n]), "?"))
		} else {
			counted += n
		}
		if err != nil {
			break
		}
	}
	if counted > 0 {
		log.Debug("a tool server wrote to stderr what is not logged", "server", label, "bytes", counted)
	}
}

// Read implements [io.Reader] with the process's stdout.
func (p *process) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// Close implements [io.Closer]: it closes stdin, which asks the process to end, then sends SIGTERM, and at last
// SIGKILL.
func (p *process) Close() error {
	p.once.Do(func() {
		_ = p.stdin.Close()
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			select {
			case <-p.ended:
			case <-time.After(exitTime):
				p.signal(s)
			}
		}
		<-p.ended
		closeAll(p.stdout, p.stderr)
	})
	return nil
}

// input is a process's stdin. A process that does not read must not hold its callers for ever.
type input struct{ *os.File }

// Write implements [io.Writer].
func (i *input) Write(b []byte) (int, error) {
	if err := i.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	return i.File.Write(b)
}

// Close does nothing: the process is closed as a whole, by its stdout.
func (*input) Close() error { return nil }

var _ io.WriteCloser = (*input)(nil)

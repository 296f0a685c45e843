package envoy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/runfolder"
)

// Options select the Envoy to start and its settings.
type Options struct {
	// Path is the path of the program (see [Find]).
	Path string
	// VersionChecked says that the caller has called [CheckVersion]. Otherwise Start does, which takes 0.1 s.
	VersionChecked bool
	// Bootstrap is the configuration (see [Bootstrap] and [DiscoveryBootstrap]). Ports may be 0.
	Bootstrap []byte
	// Concurrency is the number of worker threads. 0 means Envoy's default.
	Concurrency int
	// Environment has variables that Envoy gets besides this program's, as NAME=value. They win.
	Environment []string
	// LogLevel is a log level of Envoy: trace, debug, info, warning, error, critical or off. The default is warning.
	LogLevel string
	// ReadyTimeout is how long Envoy may take until it serves. 0 means 30 s.
	ReadyTimeout time.Duration
	// StopTimeout is how long Envoy may take to end after a signal. 0 means 5 s.
	StopTimeout time.Duration
}

const (
	readyTimeout = 30 * time.Second
	stopTimeout  = 5 * time.Second
	pollInterval = 10 * time.Millisecond
	tailLines    = 20
	// folders begins the names of the folders of Envoys. Folders of killed programs are removed at the next start.
	folders = "harmony-envoy-"
)

// Process is an Envoy that this program has started.
type Process struct {
	options Options
	folder  *runfolder.Folder // for this process alone, with the bootstrap and the admin address
	pid     int
	admin   AdminInterface
	log     logBuffer

	done    chan struct{} // closed when the program has ended
	exit    error         // how it ended; written before done is closed
	stopped sync.Once
	status  error // the result of Stop
}

// Start starts an Envoy and returns when it serves. If it does not come to serve, the error contains the end of its
// log, and no process is left. When ctx ends, Start stops waiting. It does not end a process that serves:
// [Process.Stop] does.
func Start(ctx context.Context, o Options) (*Process, error) {
	if !o.VersionChecked {
		if _, err := CheckVersion(ctx, o.Path); err != nil {
			return nil, err
		}
	}
	if o.LogLevel == "" {
		o.LogLevel = "warning"
	}
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = readyTimeout
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = stopTimeout
	}
	p := &Process{options: o, done: make(chan struct{})}
	if err := p.launch(); err != nil {
		p.clean()
		return nil, err
	}
	if err := p.waitReady(ctx); err != nil {
		_ = p.Stop() // the first error has the cause
		tail := p.Log(tailLines)
		if tail != "" {
			err = fmt.Errorf("%w; the end of its log:\n%s", err, tail)
		}
		return nil, err
	}
	return p, nil
}

func (p *Process) launch() error {
	var err error
	runfolder.RemoveDead(os.TempDir(), folders)
	if p.folder, err = runfolder.New(os.TempDir(), folders); err != nil {
		return fmt.Errorf("cannot make a folder for Envoy's files: %w", err)
	}
	bootstrap := p.folder.File("bootstrap.json")
	if err := os.WriteFile(bootstrap, p.options.Bootstrap, 0o600); err != nil {
		return fmt.Errorf("Envoy's configuration cannot be written: %w", err)
	}
	args := []string{
		"--config-path", bootstrap, "--admin-address-path", p.adminPath(), "--log-level", p.options.LogLevel,
		// Hot restart shares memory between Envoys with the same base id. Without it, any number of them can run at once.
		"--disable-hot-restart",
	}
	if p.options.Concurrency > 0 {
		args = append(args, "--concurrency", strconv.Itoa(p.options.Concurrency))
	}
	cmd := exec.Command(p.options.Path, args...)
	cmd.Env = append(os.Environ(), p.options.Environment...)
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	cmd.WaitDelay = time.Second // for the rest of its output, if another process holds the pipe open
	cmd.SysProcAttr = processAttributes()
	started := make(chan error)
	go func() {
		// Linux ends the child when the thread that started it ends. So the thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.exit = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("%s cannot be started: %w", p.options.Path, err)
	}
	p.pid = cmd.Process.Pid
	return nil
}

func (p *Process) adminPath() string { return p.folder.File("admin") }

// waitReady waits until the address of the admin interface is known, and until /ready answers 200.
func (p *Process) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.options.ReadyTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if p.admin == "" {
			if data, err := os.ReadFile(p.adminPath()); err == nil {
				p.admin = adminWritten(string(data))
			}
		}
		if p.admin != "" && p.ready(ctx) {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("Envoy ended before it served (%s)", p.exitText())
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("Envoy did not serve within %s", p.options.ReadyTimeout)
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// adminWritten reads what Envoy writes to --admin-address-path.
func adminWritten(text string) AdminInterface {
	text = strings.TrimSpace(text)
	if filepath.IsAbs(text) {
		text = UnixPrefix + text
	}
	return AdminInterface(text)
}

func (p *Process) exitText() string {
	if p.exit == nil {
		return "exit status 0"
	}
	return p.exit.Error()
}

// Done returns a channel that is closed when the program has ended, by itself or by [Process.Stop].
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the program ended. It returns nil until [Process.Done] is closed.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return fmt.Errorf("Envoy ended (%s)", p.exitText())
	default:
		return nil
	}
}

// PID returns the program's process id.
func (p *Process) PID() int { return p.pid }

// Stop ends the program and removes its files. It sends SIGTERM, and SIGKILL when StopTimeout is over. It may be called
// several times and returns the same error each time.
func (p *Process) Stop() error {
	p.stopped.Do(func() {
		p.status = p.terminate()
		p.clean()
	})
	return p.status
}

func (p *Process) terminate() error {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.done:
			return nil
		default:
		}
		// The signal goes to the child's process group, and so to the processes that the child has started. PyPI's Envoy has
		// a launcher.
		if err := syscall.Kill(-p.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("Envoy (process %d) cannot be stopped: %w", p.pid, err)
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(p.options.StopTimeout):
		}
	}
	return fmt.Errorf("Envoy (process %d) does not end", p.pid)
}

func (p *Process) clean() {
	if p.folder != nil {
		p.folder.Remove()
	}
}

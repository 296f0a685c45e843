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
)

// Options say which Envoy to start and with what.
type Options struct {
	// Path is the program, as Find gives it.
	Path string
	// Bootstrap is the configuration, as Bootstrap gives it. Ports may be 0.
	Bootstrap []byte
	// Concurrency is the number of worker threads; 0 leaves it to Envoy.
	Concurrency int
	// LogLevel is one of Envoy's: trace, debug, info, warning, error, critical, off. Empty: warning.
	LogLevel string
	// ReadyTimeout is how long it may take to serve; 0 is 30 s.
	ReadyTimeout time.Duration
	// StopTimeout is how long it may take to end when told to; 0 is 5 s.
	StopTimeout time.Duration
}

const (
	readyTimeout = 30 * time.Second
	stopTimeout  = 5 * time.Second
	pollInterval = 10 * time.Millisecond
	tailLines    = 20
)

// Process is an Envoy that this process has started.
type Process struct {
	options Options
	folder  string // holds the bootstrap and the admin address; ours alone
	pid     int
	admin   string
	log     logBuffer

	done    chan struct{} // closed when the program has ended
	exit    error         // how; written before done is closed
	stopped sync.Once
	status  error // what Stop answers
}

// Start starts an Envoy and returns when it serves. When it does not come to that, the error says why, as far as its
// own log does, and nothing is left running. ctx ends the wait, not the process: that is Stop's.
func Start(ctx context.Context, o Options) (*Process, error) {
	if _, err := CheckVersion(ctx, o.Path); err != nil {
		return nil, err
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
		_ = p.Stop() // the first error is the telling one
		tail := p.Log(tailLines)
		if tail != "" {
			err = fmt.Errorf("%w; its last words:\n%s", err, tail)
		}
		return nil, err
	}
	return p, nil
}

func (p *Process) launch() error {
	var err error
	if p.folder, err = os.MkdirTemp("", "harmony-envoy-"); err != nil {
		return fmt.Errorf("no folder for Envoy's files: %w", err)
	}
	bootstrap := filepath.Join(p.folder, "bootstrap.json")
	if err := os.WriteFile(bootstrap, p.options.Bootstrap, 0o600); err != nil {
		return fmt.Errorf("Envoy's configuration cannot be written: %w", err)
	}
	args := []string{
		"--config-path", bootstrap, "--admin-address-path", p.adminPath(), "--log-level", p.options.LogLevel,
		// Hot restart shares memory between Envoys of one base id; without it any number of them may run side by side.
		"--disable-hot-restart",
	}
	if p.options.Concurrency > 0 {
		args = append(args, "--concurrency", strconv.Itoa(p.options.Concurrency))
	}
	cmd := exec.Command(p.options.Path, args...)
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	cmd.WaitDelay = time.Second // for its last words, should something else hold the pipe open
	cmd.SysProcAttr = processAttributes()
	started := make(chan error)
	go func() {
		// Linux ends the child when the *thread* that made it ends, so that thread must stay until the child has.
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

func (p *Process) adminPath() string { return filepath.Join(p.folder, "admin") }

// waitReady waits for the admin interface's address, then for its word that the server is live.
func (p *Process) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.options.ReadyTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if p.admin == "" {
			if data, err := os.ReadFile(p.adminPath()); err == nil {
				p.admin = strings.TrimSpace(string(data))
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

func (p *Process) exitText() string {
	if p.exit == nil {
		return "exit status 0"
	}
	return p.exit.Error()
}

// Done is closed when the program has ended, by itself or by Stop.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the program ended; it wants Done to be closed.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return fmt.Errorf("Envoy ended (%s)", p.exitText())
	default:
		return nil
	}
}

// PID is the program's process id.
func (p *Process) PID() int { return p.pid }

// Stop ends the program, first kindly, and removes its files. It may be called more than once.
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
		// The group is the child's own: with the program goes what it may have started (PyPI's is behind a launcher).
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
	if p.folder != "" {
		_ = os.RemoveAll(p.folder) // a leftover in the temporary folder is no error of the caller's
	}
}

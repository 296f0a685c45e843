package rustfrontend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

// Options select the front end to run and its settings.
type Options struct {
	// Path is the program, vllm/vllm-rs of the wheel.
	Path string
	// Models are the served names.
	Models []string
	// ContextLength is the engine's context length in tokens. 0 is the default of package sim.
	ContextLength int
	// Model returns the server that answers. It is called for each request, so that a test can change the server.
	Model func() *sim.Server
	// ReadyTimeout is how long it may take to serve.
	ReadyTimeout time.Duration
	// RendersOnly starts vLLM's renderer, which has no engine: /v1/chat/completions/render answers the ids of a prompt.
	RendersOnly bool
}

// FrontEnd is a running front end with its engine.
type FrontEnd struct {
	// URL is where it serves HTTP, without a trailing slash.
	URL    string
	engine *engine
	folder string
	cmd    *exec.Cmd
	ended  chan struct{}
	log    lab.Output
}

// Start runs the front end on a free port of 127.0.0.1, connects it to an engine, and returns when it is healthy.
func Start(ctx context.Context, o Options) (*FrontEnd, error) {
	if o.ContextLength == 0 {
		o.ContextLength = sim.DefaultMaxModelLen
	}
	folder, err := os.MkdirTemp("", "vllm-rs-")
	if err != nil {
		return nil, err
	}
	f := &FrontEnd{folder: folder, ended: make(chan struct{})}
	if err := f.start(ctx, o); err != nil {
		f.Stop()
		return nil, fmt.Errorf("%w; vllm-rs says:\n%s", err, &f.log)
	}
	return f, nil
}

func (f *FrontEnd) start(ctx context.Context, o Options) error {
	if err := writeModel(f.folder, o200k.Tokenizer(), o.ContextLength); err != nil {
		return err
	}
	if err := writeVocabulary(f.folder, o200k.Tokenizer()); err != nil {
		return err
	}
	if o.RendersOnly {
		return f.startRenderer(ctx, o)
	}
	// The process that starts the front end opens its listeners and passes them on.
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer web.Close()
	f.URL = "http://" + web.Addr().String()
	input, output := filepath.Join(f.folder, "input"), filepath.Join(f.folder, "output")
	files, err := inherited(web, input, output)
	defer func() {
		for _, file := range files {
			_ = file.Close() // the child has its own
		}
	}()
	if err != nil {
		return err
	}
	args, err := json.Marshal(map[string]any{
		"model_tag": f.folder, "served_model_name": o.Models, "enable_prompt_tokens_details": true,
		"tool_call_parser": "auto", "reasoning_parser": "auto",
		"engine_ready_timeout_secs": int(o.ReadyTimeout.Seconds()), "http_timeout_keep_alive": 60,
	})
	if err != nil {
		return err
	}
	// The first of the files is number 3.
	if err := f.run(o.Path, files, "frontend", "--listen-fd", "3", "--input-listener-fd", "4", "--output-listener-fd", "5",
		"--args-json", string(args)); err != nil {
		return err
	}
	if f.engine, err = connect("unix", input, output, o.ContextLength, o.Model); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.ReadyTimeout)
	defer cancel()
	return f.awaitHealth(ctx)
}

// startRenderer starts the renderer. It opens its listener itself, on a port that was free a moment ago.
func (f *FrontEnd) startRenderer(ctx context.Context, o Options) error {
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	f.URL = "http://" + web.Addr().String()
	port := strconv.Itoa(web.Addr().(*net.TCPAddr).Port)
	if err := web.Close(); err != nil {
		return err
	}
	if err := f.run(o.Path, nil, append([]string{"render", f.folder, "--port", port, "--max-model-len",
		strconv.Itoa(o.ContextLength), "--served-model-name"}, o.Models...)...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.ReadyTimeout)
	defer cancel()
	for {
		if err := f.awaitHealth(ctx); err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(healthInterval):
		}
	}
}

// healthInterval is how often a renderer that does not listen yet is asked whether it is healthy.
const healthInterval = 20 * time.Millisecond

// run starts the program with these files.
func (f *FrontEnd) run(path string, files []*os.File, args ...string) error {
	cmd := exec.Command(path, args...)
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = files, &f.log, &f.log
	cmd.Env = append(os.Environ(), "TIKTOKEN_ENCODINGS_BASE="+f.folder)
	if err := cmd.Start(); err != nil {
		return err
	}
	f.cmd = cmd
	go func() {
		_ = cmd.Wait() // its log has the cause
		close(f.ended)
	}()
	return nil
}

// inherited returns the listeners as files for a child. The engine's are Unix sockets.
func inherited(web net.Listener, paths ...string) ([]*os.File, error) {
	var files []*os.File
	file, err := web.(*net.TCPListener).File()
	if err != nil {
		return files, err
	}
	files = append(files, file)
	for _, path := range paths {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			return files, err
		}
		l.SetUnlinkOnClose(false)
		file, err := l.File()
		_ = l.Close() // the file stays open
		if err != nil {
			return files, err
		}
		files = append(files, file)
	}
	return files, nil
}

// awaitHealth requests the health of the front end until it is healthy. The socket listens from the start, so the first
// request waits there until the front end accepts it.
func (f *FrontEnd) awaitHealth(ctx context.Context) error {
	answered := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL+"/health", nil)
		if err != nil {
			answered <- err
			return
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK {
				err = fmt.Errorf("/health is %d", response.StatusCode)
			}
		}
		answered <- err
	}()
	select {
	case err := <-answered:
		return err
	case <-f.ended:
		return fmt.Errorf("the front end has ended")
	}
}

// PID returns the id of the front end's process.
func (f *FrontEnd) PID() int { return f.cmd.Process.Pid }

// stopLimit is how long the front end may take to stop after a signal.
const stopLimit = 5 * time.Second

// Stop ends the front end.
func (f *FrontEnd) Stop() {
	if f.cmd != nil {
		_ = f.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-f.ended:
		case <-time.After(stopLimit):
			_ = f.cmd.Process.Kill()
			<-f.ended
		}
	}
	if f.engine != nil {
		f.engine.close()
	}
	_ = os.RemoveAll(f.folder)
}

// Failed returns the engine's first error since the last call: a message that it does not understand, or an answer that
// it cannot give.
func (f *FrontEnd) Failed() error {
	f.engine.mu.Lock()
	defer f.engine.mu.Unlock()
	failed := f.engine.failed
	f.engine.failed = nil
	return failed
}

// Params returns the sampling parameters of the last request, as the engine received them.
func (f *FrontEnd) Params() map[string]any {
	f.engine.mu.Lock()
	defer f.engine.mu.Unlock()
	return f.engine.params
}

// Aborts returns how many requests the front end has aborted at the engine.
func (f *FrontEnd) Aborts() int {
	f.engine.mu.Lock()
	defer f.engine.mu.Unlock()
	return len(f.engine.aborted)
}

// AwaitAborts waits until there have been so many aborts.
func (f *FrontEnd) AwaitAborts(ctx context.Context, n int) error {
	for {
		f.engine.mu.Lock()
		enough := len(f.engine.aborted) >= n
		if f.engine.changed == nil {
			f.engine.changed = make(chan struct{})
		}
		changed := f.engine.changed
		f.engine.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %d aborts, want %d", ctx.Err(), f.Aborts(), n)
		}
	}
}

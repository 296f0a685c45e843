package engines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// RendererOptions select vLLM's Rust front end and the model that it renders for.
type RendererOptions struct {
	// Path is the program, vllm/vllm-rs of the wheel.
	Path string
	// Model is a folder with a model's configuration and tokenizer, such as the puppet's.
	Model string
	// ReadyTimeout is how long it may take until it serves.
	ReadyTimeout time.Duration
}

// Renderer is a running `vllm-rs render`: vLLM's Rust front end without an engine, which only makes prompts.
type Renderer struct {
	// URL is where it serves HTTP, without a trailing slash.
	URL string

	cmd   *exec.Cmd
	ended chan struct{} // closed when the program has ended
	log   rendererLog
}

// StartRenderer starts a renderer on a free port of 127.0.0.1 and returns when it is healthy. It serves the model as
// [VLLMModel]. If it does not come to serve, the error contains its log, and no process is left.
func StartRenderer(ctx context.Context, o RendererOptions) (*Renderer, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	r := &Renderer{URL: "http://127.0.0.1:" + port, ended: make(chan struct{})}
	r.cmd = exec.Command(o.Path, "render", o.Model, "--served-model-name", VLLMModel, "--host", "127.0.0.1",
		"--port", port)
	r.cmd.Stdout, r.cmd.Stderr = &r.log, &r.log
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("vllm-rs cannot be started, which `make tool-vllm` installs: %w", err)
	}
	go func() {
		_ = r.cmd.Wait() // its log has the cause
		close(r.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, o.ReadyTimeout)
	defer cancel()
	if err := r.awaitHealth(ctx); err != nil {
		r.Stop()
		return nil, fmt.Errorf("%w; vllm-rs says:\n%s", err, r.log.String())
	}
	return r, nil
}

// awaitHealth requests the health until there is an answer: the program does not say when it listens.
func (r *Renderer) awaitHealth(ctx context.Context) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := health(ctx, r.URL)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		select {
		case <-again.C:
		case <-r.ended:
			return errors.New("vllm-rs has ended")
		case <-ctx.Done():
			return fmt.Errorf("vllm-rs does not serve: %w", ctx.Err())
		}
	}
}

// Stop ends the program. It may be called again.
func (r *Renderer) Stop() {
	_ = r.cmd.Process.Kill() // it may have ended already
	<-r.ended
}

// rendererLog keeps what the program prints.
type rendererLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (l *rendererLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all of it so far.
func (l *rendererLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

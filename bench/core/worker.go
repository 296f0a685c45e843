package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// request asks a worker to repeat some work. With Warm, it does the work once with another input before the
// clock starts.
type request struct {
	Op     string `json:"op"`
	File   string `json:"file"`
	Warm   string `json:"warm,omitempty"`
	Repeat int    `json:"repeat"`
}

// outcome is the result of a request.
type outcome struct {
	CPU   int64  // processor time of all threads, in nanoseconds
	Count int    // ids, or messages
	Sum   uint32 // checksum of the ids, or of the messages' texts
	Error string
}

// loaded is the cost of a worker's start, in nanoseconds of processor time and in bytes; -1 is unknown.
type loaded struct{ Start, Load, RSS int64 }

// worker is a process that answers requests.
type worker interface {
	run(request) (outcome, error)
	loaded() loaded
	stop()
}

// The words for workers that fail, as the table prints them.
var (
	errDies   = errors.New("dies")
	errPanics = errors.New("panics")
	errSlow   = errors.New("too slow")
)

// deadline is the wall-clock time that a request may take; most take a tenth of a second.
const deadline = 30 * time.Second

// process is a worker that reads and writes lines.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan []byte
	ready loaded
}

func startProcess(env []string, program string, args ...string) (worker, error) {
	p := &process{cmd: exec.Command(program, args...), lines: make(chan []byte)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = io.Discard // the text of a Rust panic; the table shows what it means for the row
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.in = in
	go func() {
		defer close(p.lines)
		scanner := bufio.NewScanner(out)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			p.lines <- append([]byte(nil), scanner.Bytes()...)
		}
	}()
	if err := p.read(&p.ready); err != nil {
		p.stop()
		return nil, fmt.Errorf("%s does not start: %w", program, err)
	}
	return p, nil
}

func (p *process) run(t request) (outcome, error) {
	line, err := json.Marshal(t)
	if err != nil {
		return outcome{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return outcome{}, errDies
	}
	var o outcome
	if err := p.read(&o); err != nil {
		return outcome{}, err
	}
	if o.Error != "" {
		return o, fmt.Errorf("%w: %s", errPanics, o.Error)
	}
	return o, nil
}

func (p *process) read(v any) error {
	select {
	case line, ok := <-p.lines:
		if !ok {
			return errDies
		}
		return json.Unmarshal(line, v)
	case <-time.After(deadline):
		return errSlow
	}
}

func (p *process) loaded() loaded { return p.ready }

func (p *process) stop() {
	_ = p.in.Close()
	_ = p.cmd.Process.Kill() // it has nothing to finish
	for range p.lines {      // its last line, if it was not read
	}
	_ = p.cmd.Wait()
}

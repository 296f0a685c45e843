package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/envoy"
)

//go:embed envoy.json
var bootstrap string

// envoyWorker is our module in a separate Envoy with one worker thread.
type envoyWorker struct {
	process *envoy.Process
	url     string
	client  *http.Client
	memory  filterMemory
}

// filterMemory is the cost of the vocabulary in the filter: Load in nanoseconds of wall-clock time, the others in
// bytes.
type filterMemory struct{ Load, Table, Heap, Linear int64 }

func startEnvoy(program, module string) (worker, error) {
	path, err := filepath.Abs(module)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := envoy.Start(ctx, envoy.Options{
		Path: program, Bootstrap: []byte(strings.Replace(bootstrap, "MODULE", path, 1)), Concurrency: 1,
	})
	if err != nil {
		return nil, err
	}
	e := &envoyWorker{process: p, client: &http.Client{Timeout: deadline, Transport: &http.Transport{}}}
	address, err := p.Listener(ctx, "bench")
	if err != nil {
		e.stop()
		return nil, err
	}
	e.url = "http://" + address
	if err := e.call("/memory", nil, &e.memory); err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

func (e *envoyWorker) run(t request) (outcome, error) {
	if t.Warm != "" {
		if err := e.load(t.Op, t.Warm); err != nil {
			return outcome{}, err
		}
		if err := e.call("/run/1", nil, &outcome{}); err != nil {
			return outcome{}, err
		}
	}
	if err := e.load(t.Op, t.File); err != nil {
		return outcome{}, err
	}
	before, err := threadTime(e.process.PID())
	if err != nil {
		return outcome{}, err
	}
	var o outcome
	if err := e.call("/run/"+strconv.Itoa(t.Repeat), nil, &o); err != nil {
		return outcome{}, err
	}
	after, err := threadTime(e.process.PID())
	o.CPU = after - before
	return o, err
}

func (e *envoyWorker) load(op, file string) error {
	data, err := os.Open(file)
	if err != nil {
		return err
	}
	defer data.Close()
	return e.call("/load?op="+op, data, &outcome{})
}

func (e *envoyWorker) call(path string, body io.Reader, v any) error {
	response, err := e.client.Post(e.url+path, "text/plain", body)
	if err != nil {
		return fmt.Errorf("%w: %w", errDies, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%w: %w", errDies, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s", errPanics, data)
	}
	return json.Unmarshal(data, v)
}

func (e *envoyWorker) loaded() loaded {
	return loaded{Start: -1, Load: e.memory.Load, RSS: e.memory.Linear}
}

func (e *envoyWorker) stop() {
	e.client.CloseIdleConnections()
	_ = e.process.Stop()
}

// threadTime returns the processor time of all threads of a process, in nanoseconds.
func threadTime(pid int) (int64, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("no /proc/%d/task/*/schedstat: the benchmark needs Linux", pid)
	}
	var sum int64
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		first, _, _ := strings.Cut(string(data), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

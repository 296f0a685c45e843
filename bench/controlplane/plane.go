package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
)

const (
	envoys = 2
	// limit is how long anything may take.
	limit    = 2 * time.Minute
	mebibyte = 1 << 20
)

// plane is a running control plane, in its own process, with its Envoys.
type plane struct {
	world   *world
	folder  string
	process *exec.Cmd
	said    lab.Output
	// interval is how often the metrics are read. The times that they report are exact.
	interval time.Duration
	// started is the time until the program served, and joined the time until both Envoys had accepted everything.
	started time.Duration
	joined  time.Duration
	ads     string
	metrics string
	envoys  []*envoy.Process
}

// startPlane starts the program, and Envoys with so many workers.
func startPlane(w *world, interval time.Duration, workers int) (*plane, error) {
	p := &plane{world: w, interval: interval}
	var err error
	if p.folder, err = os.MkdirTemp("", "harmony-bench-"); err != nil {
		return nil, err
	}
	if err = p.launch(); err == nil {
		p.joined, err = p.startEnvoys(workers)
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%w\n%s", err, p.said.String())
	}
	return p, nil
}

func (p *plane) file() string { return filepath.Join(p.folder, "config.yaml") }

// write replaces the configuration's file.
func (p *plane) write() error { return p.replace(p.file(), p.world.yaml()) }

// replace replaces a file at once, as editors and Kubernetes do.
func (p *plane) replace(file, text string) error {
	next := filepath.Join(p.folder, "next")
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}

func (p *plane) launch() error {
	if err := p.write(); err != nil {
		return err
	}
	wasm, err := filepath.Abs(cmp.Or(os.Getenv("HARMONY_WASM"), "dist/harmony-filter.wasm"))
	if err != nil {
		return err
	}
	p.process = exec.Command(cmp.Or(os.Getenv("HARMONY_BIN"), "dist/harmony"), "controlplane", "--config", p.file(),
		"--wasm", wasm, "--log-format", "json",
		"--state", filepath.Join(p.folder, "state"), "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0")
	p.process.Stderr = &p.said
	out, err := p.process.StdoutPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := p.process.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "serving Envoys on "); ok {
			p.started, p.ads = time.Since(began), address
		}
		if url, ok := strings.CutPrefix(lines.Text(), "status: "); ok {
			p.metrics = strings.TrimSuffix(url, "/status") + "/metrics"
			return nil
		}
	}
	return errors.New("the control plane ended before it served")
}

// startEnvoys starts the Envoys. It returns the time until both had accepted everything.
func (p *plane) startEnvoys(workers int) (time.Duration, error) {
	began := time.Now()
	for i := range envoys {
		bootstrap, err := envoy.DiscoveryBootstrap(envoy.Discovery{
			ControlPlane: p.ads, Node: fmt.Sprintf("envoy-%d", i+1), Admin: netip.MustParseAddrPort("127.0.0.1:0"),
		})
		if err != nil {
			return 0, err
		}
		e, err := envoy.Start(context.Background(),
			envoy.Options{Path: os.Getenv("ENVOY"), Bootstrap: bootstrap, Concurrency: workers, ReadyTimeout: limit})
		if err != nil {
			return 0, err
		}
		p.envoys = append(p.envoys, e)
	}
	_, err := p.await(func(m map[string]float64) bool { return m["harmony_controlplane_envoys_current"] == envoys })
	return time.Since(began), err
}

const accepted = "harmony_controlplane_push_to_accept_seconds"

// change changes a file. It returns when, and the times from the push, and from the file's change, until both Envoys
// had accepted it.
func (p *plane) change(write func() error) (began time.Time, push, whole time.Duration, err error) {
	before, err := p.read()
	if err != nil {
		return began, 0, 0, err
	}
	began = time.Now()
	if err := write(); err != nil {
		return began, 0, 0, err
	}
	after, err := p.await(func(m map[string]float64) bool {
		return m[accepted+"_count"] > before[accepted+"_count"] && m["harmony_controlplane_envoys_current"] == envoys
	})
	if err != nil {
		return began, 0, 0, err
	}
	if n := after[accepted+"_count"] - before[accepted+"_count"]; n != 1 {
		return began, 0, 0, fmt.Errorf("one change was pushed %.0f times", n)
	}
	push = seconds(after[accepted+"_sum"] - before[accepted+"_sum"])
	pushed := time.Unix(0, 0).Add(seconds(after["harmony_controlplane_snapshot_pushed_timestamp_seconds"]))
	return began, push, pushed.Add(push).Sub(began), nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// memory returns the memory of the control plane's process, in MiB.
func (p *plane) memory() (heap, resident float64, err error) {
	m, err := p.read()
	return m["go_memstats_heap_inuse_bytes"] / mebibyte, m["process_resident_memory_bytes"] / mebibyte, err
}

// await reads the metrics until ok accepts them.
func (p *plane) await(ok func(map[string]float64) bool) (map[string]float64, error) {
	for deadline := time.Now().Add(limit); ; time.Sleep(p.interval) {
		m, err := p.read()
		if err != nil || ok(m) {
			return m, err
		}
		if time.Now().After(deadline) {
			return m, fmt.Errorf("nothing for %s:\n%s", limit, p.said.String())
		}
	}
}

// read returns the metrics without labels.
func (p *plane) read() (map[string]float64, error) {
	response, err := http.Get(p.metrics)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	m := map[string]float64{}
	for line := range strings.Lines(string(page)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			m[name] = n
		}
	}
	return m, nil
}

func (p *plane) stop() {
	for _, e := range p.envoys {
		_ = e.Stop()
	}
	if p.process != nil && p.process.Process != nil {
		_ = p.process.Process.Signal(syscall.SIGTERM)
		_ = p.process.Wait()
	}
	_ = os.RemoveAll(p.folder)
}

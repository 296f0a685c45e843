package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	model      = "gpt-oss-120b"
	tokens     = 16 // of an answer, of which the first comes at once
	settle     = 12 * time.Second
	spreadPace = 100 * time.Millisecond
	patience   = time.Minute
)

// backend is a simulated server, and how many requests it has.
type backend struct {
	*httptest.Server
	sim *sim.Server
	has atomic.Int64
}

func startBackend(o options, slow bool) *backend {
	rate := float64(tokens)
	if slow {
		rate /= 2
	}
	answer := "<|channel|>final<|message|>" + strings.Repeat(" word", tokens-4) + "<|return|>"
	line := sim.Line{Match: "Say", Tokens: o200k.Tokenizer().AppendEncodeSpecial(nil, answer)}
	b := &backend{sim: sim.New(sim.Options{Models: []string{model}, MaxRunning: o.slots, TokensPerSecond: rate, Keep: -1,
		AnyPrompt: true, Script: sim.NewScript(line)})}
	inner := b.sim.Handler()
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/completions") {
			b.has.Add(1)
			defer b.has.Add(-1)
		}
		inner.ServeHTTP(w, r)
	}))
	return b
}

// measure runs one cell.
func measure(o options, s scene, policy string, weights bool) (r result, err error) {
	var backends []*backend
	text := fmt.Sprintf("listen: 127.0.0.1:0\nmodels:\n- name: %s\n  pool: p\npools:\n- name: p\n  policy: %s\n", model,
		policy)
	if weights {
		text += "  load: {weights: true, interval: 1s}\n"
	}
	text += "  servers:\n"
	capacity := 0.0 // in requests a second
	for i := range o.servers {
		b := startBackend(o, s.slow(i))
		defer b.sim.Close()
		defer b.Close()
		backends = append(backends, b)
		text += "  - " + b.URL + "\n"
		mine := float64(o.slots)
		if s.slow(i) {
			mine /= 2
		}
		if s.shared(i) {
			mine /= 2
		}
		capacity += mine
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	gateways, stop, err := startGateways(o.envoys, text)
	defer stop()
	if err != nil {
		return r, err
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for i, b := range backends {
		if s.shared(i) {
			for range o.slots / 2 {
				running.Go(func() { useAlone(ctx, b.URL) })
			}
		}
	}
	var mu sync.Mutex
	began := time.Now()
	counts := func() bool { return time.Since(began) > settle }
	running.Go(func() { r.spread = watchSpread(ctx, backends, counts, settle+o.duration) })
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	var failed atomic.Int64
	var requests sync.WaitGroup
	for time.Since(began) < settle+o.duration {
		time.Sleep(time.Duration(rand.ExpFloat64() / (o.utilization * capacity) * float64(time.Second)))
		url, counted := gateways[rand.IntN(len(gateways))], counts()
		requests.Go(func() {
			took, err := ask(ctx, client, url)
			if err != nil {
				failed.Add(1)
				return
			}
			if counted {
				mu.Lock()
				r.first = append(r.first, took)
				mu.Unlock()
			}
		})
	}
	requests.Wait()
	cancel()
	running.Wait()
	if n := failed.Load(); n > 0 {
		return r, fmt.Errorf("%d requests failed", n)
	}
	return r, nil
}

// ask sends a request, reads its whole answer, and returns the time to its first token.
func ask(ctx context.Context, client *http.Client, url string) (first time.Duration, err error) {
	body := fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":"Say %d."}]}`, model, rand.Int64())
	began := time.Now()
	response, err := post(ctx, client, url+"/v1/chat/completions", body)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("answered %s", response.Status)
	}
	var one [1]byte
	if _, err := io.ReadFull(response.Body, one[:]); err != nil {
		return 0, err
	}
	first = time.Since(began)
	_, err = io.Copy(io.Discard, response.Body)
	return first, err
}

func post(ctx context.Context, client *http.Client, url, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	return client.Do(request)
}

// useAlone sends a server one request after the other, past the gateway.
func useAlone(ctx context.Context, url string) {
	body := fmt.Sprintf(`{"model":%q,"stream":true,"max_tokens":%d,"prompt":"Say."}`, model, tokens)
	for ctx.Err() == nil {
		response, err := post(ctx, http.DefaultClient, url+"/v1/completions", body)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
}

// watchSpread returns how many times the mean the fullest server has, on average.
func watchSpread(ctx context.Context, all []*backend, counts func() bool, limit time.Duration) float64 {
	sum, n := 0.0, 0
	for end := time.Now().Add(limit); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(spreadPace) {
		most, total := 0.0, 0.0
		for _, b := range all {
			has := float64(b.has.Load())
			most, total = max(most, has), total+has
		}
		if counts() && total > 0 {
			sum, n = sum+most/(total/float64(len(all))), n+1
		}
	}
	return sum / float64(max(n, 1))
}

// startGateways starts a control plane and Envoys, and returns the Envoys' URLs when all have a listener.
func startGateways(n int, config string) (urls []string, stop func(), err error) {
	var envoys []*envoy.Process
	var plane *exec.Cmd
	folder, err := os.MkdirTemp("", "harmony-bench-")
	stop = func() {
		for _, e := range envoys {
			_ = e.Stop()
		}
		if plane != nil && plane.Process != nil {
			_ = plane.Process.Signal(syscall.SIGTERM)
			_ = plane.Wait()
		}
		_ = os.RemoveAll(folder)
	}
	if err != nil {
		return nil, stop, err
	}
	file := filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, stop, err
	}
	wasm, err := filepath.Abs(cmp.Or(os.Getenv("HARMONY_WASM"), "dist/harmony-filter.wasm"))
	if err != nil {
		return nil, stop, err
	}
	var said lab.Output
	plane = exec.Command(cmp.Or(os.Getenv("HARMONY_BIN"), "dist/harmony"), "controlplane", "--config", file, "--wasm",
		wasm, "--state", filepath.Join(folder, "state"), "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0")
	plane.Stderr = &said
	out, err := plane.StdoutPipe()
	if err != nil {
		return nil, stop, err
	}
	if err := plane.Start(); err != nil {
		return nil, stop, err
	}
	ads := ""
	for lines := bufio.NewScanner(out); ads == "" && lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "serving Envoys on "); ok {
			ads = address
		}
	}
	if ads == "" {
		return nil, stop, errors.New("the control plane ended before it served: " + said.String())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := range n {
		bootstrap, err := envoy.DiscoveryBootstrap(envoy.Discovery{
			ControlPlane: ads, Node: fmt.Sprintf("envoy-%d", i+1), Admin: netip.MustParseAddrPort("127.0.0.1:0"),
		})
		if err != nil {
			return nil, stop, err
		}
		e, err := envoy.Start(ctx, envoy.Options{Path: os.Getenv("ENVOY"), Bootstrap: bootstrap, Concurrency: 1,
			ReadyTimeout: patience})
		if err != nil {
			return nil, stop, err
		}
		envoys = append(envoys, e)
		address, err := e.Listener(ctx, "harmony")
		if err != nil {
			return nil, stop, err
		}
		urls = append(urls, "http://"+address)
	}
	return urls, stop, nil
}

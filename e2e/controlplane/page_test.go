//go:build e2e

package controlplane

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sight/history"
	"github.com/harmonyedge/harmonyedge/sim"
)

// viewer is a browser with the control plane's page: it reads the page's events.
type viewer struct {
	*testing.T
	lines *bufio.Scanner
}

func openPage(t *testing.T, address string) *viewer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*lab.Patience)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/api/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	v := &viewer{T: t, lines: bufio.NewScanner(response.Body)}
	v.lines.Buffer(nil, 1<<20)
	return v
}

// until reads events until one is as wanted. Either function may be nil.
func (v *viewer) until(what string, status func(server.Status) bool, sample func(sampled) bool) {
	v.Helper()
	name, last := "", ""
	for v.lines.Scan() {
		text := v.lines.Text()
		if event, ok := strings.CutPrefix(text, "event: "); ok {
			name = event
			continue
		}
		data, ok := strings.CutPrefix(text, "data: ")
		switch {
		case !ok:
		case name == "status" && status != nil:
			var s server.Status
			if err := json.Unmarshal([]byte(data), &s); err != nil {
				v.Fatalf("%v: %s", err, data)
			}
			if last = data; status(s) {
				return
			}
		case name == "sample" && sample != nil:
			if last = data; sample(readSample(v.T, data)) {
				return
			}
		}
	}
	v.Fatalf("not so far that %s (%v): %s", what, v.lines.Err(), last)
}

// sampled is the values of a sample by name and label. A value that is not known is not in it.
type sampled map[string]float64

func (s sampled) has(name string) bool {
	_, ok := s[name]
	return ok
}

func readSample(t *testing.T, data string) sampled {
	t.Helper()
	var event struct {
		Series []struct {
			Name   string
			Labels map[string]string
			Value  *float64
		}
	}
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	s := sampled{}
	for _, one := range event.Series {
		if one.Value == nil {
			continue
		}
		key := one.Name
		for _, value := range one.Labels {
			key += " " + value
		}
		s[key] = *one.Value
	}
	return s
}

// load sends requests to the Envoys of a plane until the test ends, and counts those that succeed.
func load(p *plane, urls ...string) (succeeded *atomic.Int64) {
	ctx, cancel := context.WithCancel(p.Context())
	succeeded = &atomic.Int64{}
	var sending sync.WaitGroup
	for _, url := range urls {
		sending.Go(func() {
			client := lab.HTTP1(p.T)
			for ctx.Err() == nil {
				if a := lab.AskChat(client, url); a.Err == nil && a.Status == http.StatusOK {
					succeeded.Add(1)
				}
				select {
				case <-ctx.Done():
				case <-time.After(5 * lab.Pause):
				}
			}
		})
	}
	p.Cleanup(func() {
		cancel()
		sending.Wait()
	})
	return succeeded
}

// TestControlPlanePage: the page shows what Envoys push, an Envoy that dies, one that refuses its configuration, and one
// that begins again.
func TestControlPlanePage(t *testing.T) {
	_, gpu := lab.RunSim(t, sim.Options{})
	p := startPlane(t, planeSettings{servers: []string{gpu}, envoys: 2})
	page := openPage(t, p.status)
	page.until("two Envoys are there", func(s server.Status) bool { return len(s.Envoys) == 2 }, nil)
	succeeded := load(p, p.urls...)
	page.until("both Envoys' metrics are there", nil, func(s sampled) bool {
		return s["tokens_per_second final"] > 0 && s["tokens_per_second prompt"] > 0 && s["requests_per_second 2xx"] > 0 &&
			s["chunks_per_second"] > 0 && s["first_token_ms 0.5"] > 0 && s["envoys"] == 2 && s["envoys_current"] == 2 &&
			s.has("streams")
	})

	if err := syscall.Kill(p.envoys[1].PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	page.until("one Envoy is gone", func(s server.Status) bool { return len(s.Envoys) == 1 && s.Envoys[0].ID == "edge-1" }, nil)

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p.replace("config.yaml", fmt.Sprintf("listen: %s\nmodels: [{name: %s, pool: gpus}]\npools: [{name: gpus, "+
		"servers_file: servers.yaml}]\n", taken.Addr(), lab.Model))
	page.until("the refusal is told in Envoy's words", func(s server.Status) bool {
		return len(s.Envoys) == 1 && strings.Contains(s.Envoys[0].Types["listeners"].Error, "Address already in use")
	}, nil)
	page.until("the refusal is counted", nil, func(s sampled) bool {
		return s["nacks_per_minute"] > 0 && s["envoys"] == 1 && s["envoys_current"] == 0
	})

	p.setReasoning(0)
	_, address := lab.StartEdge(t, lab.EdgeBootstrap(t, p.xds, "edge-2"))
	succeededAgain := load(p, "http://"+address)
	page.until("the new Envoy's requests are counted", nil, func(s sampled) bool {
		return s["envoys"] == 2 && s["envoys_current"] == 2 && s["requests_per_second 2xx"] > 0
	})

	response, err := http.Get("http://" + p.status + "/api/history")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var past struct {
		Times  []int64
		Series []struct {
			Name   string
			Labels map[string]string
			Values []*float64
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&past); err != nil {
		t.Fatal(err)
	}
	counted := 0.0
	for _, s := range past.Series {
		if len(s.Values) != len(past.Times) {
			t.Errorf("%s has %d values for %d times", s.Name, len(s.Values), len(past.Times))
		}
		for _, v := range s.Values {
			if v != nil && *v < 0 {
				t.Errorf("%s %v has the value %v", s.Name, s.Labels, *v)
			}
			if v != nil && s.Name == history.RequestsPerSecond && s.Labels["status"] == "2xx" {
				counted += 5 * *v
			}
		}
	}
	if sent := float64(succeeded.Load() + succeededAgain.Load()); counted < 1 || counted > sent {
		t.Errorf("%v requests are counted, and %v were answered", counted, sent)
	}
}

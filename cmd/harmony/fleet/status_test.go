package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
)

// goodStatus returns the status of a control plane with two Envoys that have accepted everything.
func goodStatus() server.Status {
	now := time.Now()
	return server.Status{
		Version: "1", Started: now, Configuration: server.Configuration{File: "/etc/h.yaml", Loaded: now},
		Snapshot: server.Snapshot{Versions: map[string]string{"clusters": "0123"}, Pushed: now},
		Envoys: []ads.Envoy{
			{ID: "edge-1", Version: "1.40.0", Address: "10.0.0.1:5", Connected: now, Current: true},
			{ID: "edge-2", Version: "1.40.0", Address: "10.0.0.2:5", Connected: now, Current: true,
				Types: map[string]ads.TypeState{"routes": {Version: "4567", Current: true}}},
		},
		Pools: []server.Pool{
			{Name: "h200", Models: []string{"a", "b"}, Policy: "session", Servers: []server.PoolServer{
				{URL: "http://gpu:1", Address: "10.0.1.1:1", State: "ready", Since: now, Program: "vLLM 0.33.0",
					Context: 131072, Vocabulary: "same"},
				{URL: "http://gpu:1", Address: "10.0.1.2:1", State: "not_ready", Reason: "it serves others", Since: now},
			}},
			{Name: "idle", Policy: "least_request", Problem: "idle.yaml:3: not a URL"},
		},
	}
}

func TestStatus(t *testing.T) {
	const shared = "vLLM 0.33.0, context: 131072 tokens, vocabulary: same"
	for name, tt := range map[string]struct {
		change func(*server.Status)
		code   int
		lines  []string
	}{
		"well": {func(*server.Status) {}, 0, []string{
			"edge-1 1.40.0 10.0.0.1:5 0s current", "edge-2 1.40.0 10.0.0.2:5 0s current",
			"configuration /etc/h.yaml, in force for 0s", "clusters 0123",
			"POOL h200: a, b; session", "SERVER ADDRESS STATE FOR", "gpu:1 10.0.1.1:1 ready 0s",
			"gpu:1 10.0.1.2:1 not ready 0s", "10.0.1.2:1: it serves others", "10.0.1.1:1: " + shared,
			"10.0.1.2:1: unknown, vocabulary: not asked",
			"POOL idle: no model; least_request", "no server", "PROBLEM: idle.yaml:3: not a URL",
		}},
		"a rollout": {func(s *server.Status) {
			s.Envoys[1].Chosen = true
			s.Rollout = &server.Rollout{State: rollout.Watching, Filter: rollout.Filter{Version: "2", SHA256: "00112233445566"},
				Steps: []rollout.Step{{Group: "canary", Share: 1}, {Share: 1}}, Step: 1, Since: time.Now(),
				Reason: "watched for 3s more", Envoys: 1, Accepted: 1,
				Findings: []rollout.Finding{{Measure: "errors", What: "of requests", Verdict: rollout.Well,
					Events: 1, Of: 200, Beside: rollout.Others, BesideOf: 400}}}
		}, 0, []string{"rollout 2, sha256 001122334455: step 1 of 2, 100 % of group canary, for 0s; 1 of 1 Envoys have it",
			"watched for 3s more", "well: errors (of requests): 1 of 200 (0.5 %), and 0 of 400 (0 %) with the old filter",
			"edge-2 has the rollout's filter"}},
		"a rollout that is taken back": {func(s *server.Status) {
			s.Rollout = &server.Rollout{State: rollout.TakenBack, Filter: rollout.Filter{Version: "2"}, Ended: time.Now(),
				Reason: "edge-1 refuses it"}
		}, 0, []string{"rollout 2, sha256 : TAKEN BACK 0s ago", "edge-1 refuses it"}},
		"a mistake in the file": {func(s *server.Status) { s.Configuration.Error = "h.yaml:1: mode: wrong" }, cli.ExitFailed,
			[]string{"REFUSED: h.yaml:1: mode: wrong"}},
		"a refusal": {func(s *server.Status) {
			s.Envoys[1].Current = false
			s.Envoys[1].Types = map[string]ads.TypeState{
				"routes": {Refused: "89", Error: "no\nsuch cluster"}, "clusters": {Current: true}, "listeners": {}}
		}, cli.ExitFailed, []string{
			"edge-2 1.40.0 10.0.0.2:5 0s not current",
			"edge-2: has not accepted listeners; refuses routes: no such cluster"}},
		"an Envoy that is gone": {func(s *server.Status) { s.ExpectedEnvoys = 3 }, cli.ExitFailed,
			[]string{"WARNING: 1 Envoy of 3 missing (envoy.expect)"}},
		"as many as expected": {func(s *server.Status) { s.ExpectedEnvoys = 2 }, 0, nil},
		"a server that some do not reach": {func(s *server.Status) {
			s.Pools[0].Servers[0].Reason = "1 of 2 Envoys do not reach it"
		}, 0, []string{"gpu:1 10.0.1.1:1 ready in part 0s", "10.0.1.1:1: 1 of 2 Envoys do not reach it"}},
		"a pool that is down": {func(s *server.Status) {
			s.Pools[0].Down, s.Pools[0].Spares = time.Now(), []string{"idle"}
			s.Pools[0].Servers[0].State, s.Pools[0].Servers[0].Reason = server.Unreachable,
				"no Envoy reaches it; connection refused"
		}, cli.ExitFailed, []string{
			"gpu:1 10.0.1.1:1 unreachable 0s", "10.0.1.1:1: no Envoy reaches it; connection refused",
			"DOWN for 0s: no server is reachable and ready; requests go to idle",
		}},
		"several faults": {func(s *server.Status) {
			s.Pools[0].Down, s.Envoys[1].Current = time.Now(), false
		}, cli.ExitFailed, []string{"error: no server is reachable and ready in h200",
			"error: 1 of 2 Envoys have not accepted everything"}},
		"a context that a server lacks": {func(s *server.Status) {
			s.Pools[0].Warnings = []string{"context_length of a is 131072, and http://gpu:1 has a context of 4096 tokens"}
			s.Pools[0].Contexts = map[string]int{"b": 4096}
		}, cli.ExitFailed, []string{"WARNING: context_length of a is 131072, and http://gpu:1 has a context of 4096 tokens",
			"b has a context of 4096 tokens, the smallest of its servers'"}},
		"a context by the servers": {func(s *server.Status) { s.Pools[0].Contexts = map[string]int{"b": 4096} }, 0,
			[]string{"b has a context of 4096 tokens, the smallest of its servers'"}},
		"a load": {func(s *server.Status) {
			running, waiting, cache, preemptions, none := 12.0, 3.0, 0.925, 1.5, 0.0
			one := s.Pools[0].Servers[0]
			one.Load = &server.ServerLoad{Running: &running, Waiting: &waiting, Cache: &cache, Preemptions: &preemptions}
			one.Weight, one.WeightReason = 71, "its load is 18, and the middle of the pool 8"
			old, unknown := one, one
			old.Load = &server.ServerLoad{Running: &none, Problem: "no answer in time"}
			old.Weight, old.WeightReason = 100, ""
			unknown.Load, unknown.Weight = &server.ServerLoad{Problem: "answers 404 to GET /metrics"}, 0
			s.Pools[0].Servers = append(s.Pools[0].Servers, one, old, unknown)
		}, 0, []string{
			"SERVER ADDRESS STATE FOR LOAD CACHE WEIGHT", "gpu:1 10.0.1.2:1 not ready 0s",
			"gpu:1 10.0.1.1:1 ready 0s 12 + 3 92 % 71", "gpu:1 10.0.1.1:1 ready 0s 0 100",
			"10.0.1.1:1: 1.5 preemptions a minute; weight 71: its load is 18, and the middle of the pool 8",
			"10.0.1.1:1: load of before: no answer in time", "10.0.1.1:1: load unknown: answers 404 to GET /metrics",
		}},
		"a queue": {func(s *server.Status) {
			s.Pools[0].Queue = &server.Queue{QueueStatus: picker.QueueStatus{Held: true, Classes: []picker.ClassStatus{
				{Name: "agents", Requests: 3, Tokens: 12345, OldestMS: 2549,
					Ended: map[string]uint64{"admitted": 1000, "left": 4, "full": 2, "deadline": 1}},
				{Name: "batch", Ended: map[string]uint64{}}}}}
		}, 0, []string{"QUEUE CLASS WAITING TOKENS OLDEST ADMITTED LEFT REFUSED",
			"h200 agents 3 12345 2.5s 1000 4 deadline 1, full 2", "batch 0 0 - 0 0 -",
			"HELD: no server of h200 is ready; requests wait for one"}},
		"a queue without its picker": {func(s *server.Status) {
			s.Pools[0].Queue = &server.Queue{Picker: "http://e:2", Problem: "the picker does not answer in time"}
		}, cli.ExitFailed, []string{"h200 - unknown",
			"WARNING: pool h200: the picker does not answer in time (http://e:2)"}},
		"nobody": {func(s *server.Status) { s.Envoys, s.Configuration.File = nil, "" }, 0,
			[]string{"none has connected yet", "configuration from flags, in force for 0s"}},
		"nothing yet": {func(s *server.Status) { s.Configuration.Loaded = time.Time{} }, 1,
			[]string{"configuration /etc/h.yaml, in force for -"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := goodStatus()
			tt.change(&s)
			from := httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s) }))
			defer from.Close()
			var out, failed bytes.Buffer
			if code := run(t.Context(), []string{"status", "--address", from.Listener.Addr().String()}, &out,
				&failed); code != tt.code {
				t.Errorf("status %d, %s", code, &failed)
			}
			var lines []string
			for line := range strings.Lines(out.String() + failed.String()) {
				lines = append(lines, strings.Join(strings.Fields(line), " "))
			}
			for _, want := range tt.lines {
				if !strings.Contains("\n"+strings.Join(lines, "\n")+"\n", "\n"+want+"\n") {
					t.Errorf("no line %q in\n%s", want, &out)
				}
			}
		})
	}
}

func TestStatusWithoutAControlPlane(t *testing.T) {
	closed := httptest.NewServer(nil)
	address := closed.Listener.Addr().String()
	closed.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for a, want := range map[string]string{
		address:                        "no control plane answers at",
		other.Listener.Addr().String(): "404 Not Found; is it a control plane's --status, or the page of harmony up?"} {
		var out, failed bytes.Buffer
		if code := run(t.Context(), []string{"status", "--address", a}, &out, &failed); code != cli.ExitFailed ||
			!strings.Contains(failed.String(), want) {
			t.Errorf("status %d, %s", code, &failed)
		}
	}
}

// startPage serves the status of a run of harmony up, and says so in a folder of the run in TMPDIR.
func startPage(t *testing.T) (address string) {
	t.Helper()
	folder, err := cli.NewRunFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(folder.Remove)
	one := goodStatus()
	one.Host, one.Envoys = cli.HostWazero, nil
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		server.WriteStatus(w, one)
	}))
	t.Cleanup(page.Close)
	address = page.Listener.Addr().String()
	if err := (cli.Run{Page: address, Gateway: "http://127.0.0.1:8080"}).Announce(folder); err != nil {
		t.Fatal(err)
	}
	return address
}

// TestStatusOfUp asks for the status of harmony up by its page, and without an address.
func TestStatusOfUp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	none := context.Canceled // an error that nothing else returns here
	if _, err := upStatus(t.Context(), none); err == nil || !strings.Contains(err.Error(), none.Error()) ||
		!strings.Contains(err.Error(), "no harmony up of this user runs here") {
		t.Errorf("none runs: %v", err)
	}
	first := startPage(t)
	text, err := upStatus(t.Context(), none)
	var found server.Status
	if err != nil || json.Unmarshal(text, &found) != nil || found.Host != cli.HostWazero {
		t.Fatalf("one runs: %s, %v", text, err)
	}
	var out, failed bytes.Buffer
	if code := run(t.Context(), []string{"status", "--address", first}, &out, &failed); code != 0 ||
		!strings.HasPrefix(out.String(), "harmony up") || !strings.Contains(out.String(), "without Envoy") ||
		strings.Contains(out.String(), "none has connected yet") {
		t.Errorf("status %d, %s\n%s", code, &failed, &out)
	}
	for _, args := range [][]string{{"status", first}, {"status", "http://" + first + "/"},
		{"status", "--address", "http://" + first},
		{"status", "http://127.0.0.1:8080/"}, {"analyze", "http://" + first + "/"},
		{"bug-report", "http://" + first + "/", "-o", filepath.Join(t.TempDir(), "r.tar.gz")}} {
		var out, failed bytes.Buffer
		code := run(t.Context(), args, &out, &failed)
		if args[0] == "analyze" && code == cli.ExitFailed && strings.Contains(failed.String(), "finding") {
			code = 0
		}
		if code != 0 || strings.Contains(failed.String(), "answers") {
			t.Errorf("%v: %d, %s\n%s", args, code, &failed, &out)
		}
	}
	second := startPage(t)
	if _, err := upStatus(t.Context(), none); err == nil || !strings.Contains(err.Error(), first) ||
		!strings.Contains(err.Error(), second) || cli.ExitStatus(err) != cli.ExitUsage {
		t.Errorf("two run: %v", err)
	}
}

// TestStatusFits checks that the tables and the reasons of a large and long-winded fleet fit 100 columns, with all that
// tells servers apart.
func TestStatusFits(t *testing.T) {
	s := goodStatus()
	s.Envoys[0].ID = "edge-" + strings.Repeat("x", 80) + "-17"
	s.Envoys[0].Current = false
	s.Envoys[0].Types = map[string]ads.TypeState{"routes": {Refused: "1", Error: strings.Repeat("a long reason ", 20)}}
	running, first := 123.0, 12345.0
	for i := range 3 {
		s.Pools[0].Servers = append(s.Pools[0].Servers, server.PoolServer{
			URL:     fmt.Sprintf("http://gpu-%d.inference.svc.cluster.local.example.com:8000", i),
			Address: fmt.Sprintf("[2001:db8:1234:5678:9abc:def0:1234:%d]:8000", i), State: "ready", Since: s.Started,
			Reason: strings.Repeat("a reason ", 30), Weight: 100,
			Load: &server.ServerLoad{Running: &running, Waiting: &running, FirstToken: &first}})
	}
	s.Services = []server.ServiceStatus{{Name: server.LimitsService, URL: "http://" + strings.Repeat("h", 90) + ":1",
		Problem: strings.Repeat("refused ", 20)}}
	for _, color := range []bool{false, true} {
		var out bytes.Buffer
		if err := printStatus(&screen{&out, 100, color}, &s, time.Now()); err == nil {
			t.Error("all is well")
		}
		text := out.String()
		if strings.Contains(text, "\x1b[") != color {
			t.Errorf("colours: %v\n%s", color, text)
		}
		text = regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(text, "")
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		for _, want := range []string{"gpu-0.", "gpu-2.", "-17 ", ":1]:8000", ":2]:8000"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in\n%s", want, text)
			}
		}
	}
}

// TestStatusWatch checks that --watch prints the state again and ends with its context, and that a control plane that
// goes away does not end it.
func TestStatusWatch(t *testing.T) {
	s := goodStatus()
	asked := make(chan int, 100)
	n := 0
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n++; n == 2 {
			w.WriteHeader(http.StatusBadGateway)
		} else {
			_ = json.NewEncoder(w).Encode(s)
		}
		asked <- n
	}))
	defer from.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan string, 1)
	go func() {
		var out, failed bytes.Buffer
		code := run(ctx, []string{"status", "--watch=100ms", "--address", from.Listener.Addr().String()}, &out, &failed)
		ended <- fmt.Sprint(code, out.String(), failed.String())
	}()
	for range 3 {
		<-asked
	}
	for {
		select {
		case <-asked:
			cancel()
			continue
		case text := <-ended:
			if !strings.HasPrefix(text, "0") || strings.Count(text, "POOL h200") < 2 || !strings.Contains(text, "502 Bad Gateway") {
				t.Errorf("it prints %s", text)
			}
		}
		return
	}
}

//go:build e2e

package keys

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// stub is a rate limit service that notes what it is asked.
type stub struct {
	rlsv3.UnimplementedRateLimitServiceServer
	server *grpc.Server
	url    string

	mu     sync.Mutex
	asked  []entries
	refuse *rlsv3.RateLimitResponse
}

// entries is a descriptor: its entries, and its hits under "hits", or -1 without any.
type entries map[string]any

func runStub(t *testing.T) *stub {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stub{server: grpc.NewServer(), url: "http://" + l.Addr().String()}
	rlsv3.RegisterRateLimitServiceServer(s.server, s)
	go func() { _ = s.server.Serve(l) }()
	t.Cleanup(s.server.Stop)
	return s
}

// ShouldRateLimit implements the service.
func (s *stub) ShouldRateLimit(_ context.Context, r *rlsv3.RateLimitRequest) (*rlsv3.RateLimitResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &rlsv3.RateLimitResponse{OverallCode: rlsv3.RateLimitResponse_OK}
	for _, d := range r.Descriptors {
		e := entries{"hits": -1}
		if d.HitsAddend != nil {
			e["hits"] = int(d.HitsAddend.Value)
		}
		for _, one := range d.Entries {
			e[one.Key] = one.Value
		}
		if r.Domain == contract.LimitsDomain {
			s.asked = append(s.asked, e)
		}
		if e[contract.LimitsReservation] != nil && s.refuse != nil {
			answer = s.refuse
		}
	}
	return answer, nil
}

// take waits for n descriptors and returns them.
func (s *stub) take(t *testing.T, n int) []entries {
	t.Helper()
	for end := time.Now().Add(lab.Patience); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		asked := s.asked
		if len(asked) >= n {
			s.asked = nil
			s.mu.Unlock()
			return asked
		}
		s.mu.Unlock()
		if time.Now().After(end) {
			t.Fatalf("the service was asked %v, want %d descriptors", asked, n)
		}
	}
}

func (s *stub) refuses(r *rlsv3.RateLimitResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = r
}

func withLimits(t *testing.T, server string, change func(*config.Config)) *config.Config {
	t.Helper()
	c := lab.OneModel(server)
	c.Clients.KeysFile = writeKeys(t, "tokens_per_minute: 1000")
	c.AccessLog = filepath.Join(t.TempDir(), "access.log")
	change(c)
	return c
}

// TestReservations: what is reserved, what is settled at the end of each kind of request, and what clients get of a
// refusal.
func TestReservations(t *testing.T) {
	s := runStub(t)
	gpu, url := lab.RunSim(t, sim.Options{TokensPerSecond: 200})
	c := withLimits(t, url, func(c *config.Config) { c.Limits.URL = s.url })
	h := lab.RunEnvoyOverADS(t, c)
	client := lab.HTTP1(t)
	ask := func(path, body string) lab.Answer {
		return lab.Do(client, http.MethodPost, h.URL+path, http.Header{"Authorization": {"Bearer " + keyA}},
			strings.NewReader(body))
	}
	a := ask(lab.ChatPath, `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}],"max_tokens":100,"n":2}`)
	var usage struct {
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &usage); err != nil || a.Status != 200 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	got := s.take(t, 2)
	reserve, settle := got[0], got[1]
	if reserve["client"] != "a" || reserve["model"] != lab.Model || reserve["hits"] != usage.Usage.Prompt+200 ||
		settle["client"] != "a" || settle["model"] != lab.Model ||
		settle["hits"] != usage.Usage.Prompt+usage.Usage.Completion || reserve["reservation"] == nil ||
		reserve["reservation"] != settle["settle"] {
		t.Errorf("with the usage %+v: %v", usage, got)
	}
	// Without max_tokens the answer reserves what is expected of it, and settles what it has.
	a = ask(lab.ChatPath, lab.ChatBody(lab.Model, "Hi"))
	if err := json.Unmarshal([]byte(a.Body), &usage); err != nil || a.Status != 200 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	if got := s.take(t, 2); got[0]["hits"] != usage.Usage.Prompt+contract.DefaultExpectedAnswer ||
		got[1]["hits"] != usage.Usage.Prompt+usage.Usage.Completion {
		t.Errorf("without max_tokens, with the usage %+v: %v", usage, got)
	}
	// Requests that reach no server reserve nothing.
	for _, path := range []string{contract.TokenizePath, contract.InputTokensPath} {
		ask(path, `{"model":"gpt-oss-120b","prompt":"Hi","input":"Hi"}`)
	}
	ask(contract.CountTokensPath, lab.ChatBody(lab.Model, "Hi"))
	ask(lab.ChatPath, `{"model":"unknown","messages":[{"role":"user","content":"Hi"}]}`)
	// A client that leaves.
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+lab.ChatPath, strings.NewReader(
		`{"stream":true,"max_tokens":1000,"model":"gpt-oss-120b","messages":[{"role":"user","content":"`+
			strings.Repeat("word ", 300)+`"}]}`))
	r.Header.Set("authorization", "Bearer "+keyA)
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = response.Body.Read(make([]byte, 1))
	cancel()
	response.Body.Close()
	got = s.take(t, 2)
	if reserved, used := got[0]["hits"].(int), got[1]["hits"].(int); used < reserved-1000 || used >= reserved {
		t.Errorf("of a client that left: %v", got)
	}
	// A refusal, in OpenAI's form and without any.
	headers := []*corev3.HeaderValue{{Key: "x-ratelimit-limit-tokens", Value: "1000"}, {Key: "retry-after", Value: "7"}}
	before := len(gpu.Requests())
	for _, body := range []string{"", `{"error":{"message":"Ours.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`} {
		refusal := &rlsv3.RateLimitResponse{OverallCode: rlsv3.RateLimitResponse_OVER_LIMIT, RawBody: []byte(body),
			ResponseHeadersToAdd: headers}
		if body != "" {
			refusal.ResponseHeadersToAdd = append(refusal.ResponseHeadersToAdd,
				&corev3.HeaderValue{Key: "content-type", Value: "application/json"})
		}
		s.refuses(refusal)
		for _, more := range []string{"", `"stream":true,`} {
			a := ask(lab.ChatPath, `{`+more+`"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}]}`)
			lab.WantRefused(t, a, 429, "rate_limit_exceeded")
			if a.Header.Get("retry-after") != "7" || a.Header.Get("x-ratelimit-limit-tokens") != "1000" ||
				!strings.HasPrefix(a.Header.Get("content-type"), "application/json") ||
				strings.Contains(a.Body, "Ours.") != (body != "") {
				t.Errorf("got %v %s", a.Header, a.Body)
			}
			for _, d := range s.take(t, 2) {
				if d["settle"] != nil && d["hits"] != 0 {
					t.Errorf("a refused request settles %v", d)
				}
			}
		}
	}
	if after := len(gpu.Requests()); after != before {
		t.Errorf("the server got %d refused requests", after-before)
	}
	s.refuses(nil)
	// A server that fails.
	gpu.Close()
	lab.WantRefused(t, ask(lab.ChatPath, lab.ChatBody(lab.Model, "Hi")), 503, "server_unavailable")
	if got := s.take(t, 2); got[1]["hits"] != 0 {
		t.Errorf("without a server: %v", got)
	}
	wantBooks(t, c.AccessLog)
}

// wantBooks fails the test unless the log tells of each reservation what is left of it.
func wantBooks(t *testing.T, path string) {
	t.Helper()
	const all = 11
	var data []byte
	for end := time.Now().Add(lab.Patience); strings.Count(string(data), "\n") < all; time.Sleep(50 * time.Millisecond) {
		if data, _ = os.ReadFile(path); time.Now().After(end) {
			t.Fatalf("the log has not %d lines: %s", all, data)
		}
	}
	reserved := 0
	for line := range strings.Lines(string(data)) {
		var r struct {
			Client   string
			Reserved *int `json:"reserved_tokens"`
			Unused   *int `json:"unused_tokens"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Client != "a" || (r.Reserved == nil) != (r.Unused == nil) {
			t.Errorf("%v: %s", err, line)
		} else if r.Reserved != nil {
			reserved++
		}
	}
	if reserved != 8 {
		t.Errorf("the log has %d reservations:\n%s", reserved, data)
	}
}

// TestServiceIsAway: while the rate limit service does not answer, requests are let through, or refused.
func TestServiceIsAway(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	for on, status := range map[string]int{config.LimitsAllow: 200, config.LimitsRefuse: 503} {
		s := runStub(t)
		h := lab.RunEnvoy(t, withLimits(t, url, func(c *config.Config) {
			c.Limits.URL, c.Limits.OnFailure = s.url, on
		}))
		ask := func() lab.Answer { return lab.AskChat(lab.HTTP1(t), h.URL, "authorization", "Bearer "+keyA) }
		if a := ask(); a.Status != 200 {
			t.Fatalf("%s: %d %s", on, a.Status, a.Body)
		}
		s.server.Stop()
		a := ask()
		if a.Status != status {
			t.Errorf("%s: %d %s", on, a.Status, a.Body)
		}
		if status == 503 {
			lab.WantRefused(t, a, 503, "server_unavailable")
			if !strings.Contains(a.Body, "The rate limit service does not answer") {
				t.Errorf("got %s", a.Body)
			}
		}
	}
}

// TestLocal: an Envoy keeps limits by itself, of each client alone.
func TestLocal(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	c := withLimits(t, url, func(c *config.Config) { c.Limits.Mode = config.LimitsLocal })
	start := map[string]func() *hosts.Host{
		"static": func() *hosts.Host { return lab.RunEnvoy(t, c) },
		"ads":    func() *hosts.Host { return lab.RunEnvoyOverADS(t, c) },
	}
	for name, run := range start {
		h := run()
		ask := func(key, max string) lab.Answer {
			return lab.Do(lab.HTTP1(t), http.MethodPost, h.URL+lab.ChatPath, http.Header{"Authorization": {"Bearer " + key}},
				strings.NewReader(`{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}],"max_tokens":`+max+`}`))
		}
		if a := ask(keyA, "500"); a.Status != 200 {
			t.Fatalf("%s: %d %s", name, a.Status, a.Body)
		}
		a := ask(keyA, "500")
		lab.WantRefused(t, a, 429, "rate_limit_exceeded")
		if a.Header.Get("retry-after") == "" || a.Header.Get("x-ratelimit-limit") == "" {
			t.Errorf("%s: %v", name, a.Header)
		}
		if a := ask(keyA, "50"); a.Status != 200 {
			t.Errorf("%s: a small one: %d %s", name, a.Status, a.Body)
		}
		if a := ask(keyB, "500"); a.Status != 200 {
			t.Errorf("%s: another client: %d %s", name, a.Status, a.Body)
		}
	}
}

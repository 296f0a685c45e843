//go:build e2e

package tracing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// The words that must be in no span.
const (
	asked     = "canaryquestion"
	thought   = "canarythought"
	answered  = "canaryanswer"
	queried   = "canaryquery"
	secret    = "canarysecret"
	argument  = "canaryargument"
	toolsWord = "canaryresult"
)

// The traces of a client's, one that it samples and one that it does not.
const (
	sampledTrace   = "4bf92f3577b34da6a3ce929d0e0e4736"
	unsampledTrace = "5bf92f3577b34da6a3ce929d0e0e4736"
	lastTrace      = "6bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan     = "00f067aa0ba902b7"
)

func parent(trace, flags string) http.Header {
	return http.Header{"Traceparent": {"00-" + trace + "-" + clientSpan + "-" + flags},
		"Authorization": {"Bearer " + secret}}
}

// checkWords fails the test if a word of a request or an answer is in what was sent.
func (c *collector) checkWords(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, word := range []string{asked, thought, answered, queried, secret, argument, toolsWord} {
		if strings.Contains(string(c.raw), word) {
			t.Errorf("%s is in a span", word)
		}
	}
}

func chat(stream bool) string {
	return fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":%q}]}`, lab.Model, stream, asked)
}

func script() sim.Options {
	return sim.Options{Keep: 100, PromptTokensDetails: true, Script: sim.NewScript(sim.Line{Match: asked, Tokens: lab.Tokens(
		"<|channel|>analysis<|message|>" + thought + "<|end|><|start|>assistant<|channel|>final<|message|>" + answered +
			"<|return|>")})}
}

// TestGateway has the spans of each kind of request, by both of OTLP's protocols.
func TestGateway(t *testing.T) {
	v, err := envoy.CheckVersion(t.Context(), lab.Tool(t, "ENVOY"))
	if err != nil {
		t.Fatal(err)
	}
	// An Envoy before 1.40 ignores that an attribute is a number.
	texts := slices.Contains([]string{"1.37", "1.38", "1.39"}, v.String()[:4])
	for _, protocol := range []string{"gRPC", "HTTP"} {
		t.Run(protocol, func(t *testing.T) {
			c := startCollector(t)
			server, serverURL := lab.RunSim(t, script())
			o := lab.OneModel(serverURL)
			if o.Tracing.URL = c.grpcURL; protocol == "HTTP" {
				o.Tracing.URL = c.httpURL
			}
			h := lab.RunEnvoyOverADS(t, o)
			client := lab.HTTP1(t)
			ask := func(method, path, body string, header http.Header, status int) {
				t.Helper()
				a := lab.Do(client, method, h.URL+path, header, strings.NewReader(body))
				if a.Err != nil || a.Status != status {
					t.Fatalf("%s %s: %d %v %s", method, path, a.Status, a.Err, a.Body)
				}
			}
			ask("POST", "/v1/chat/completions?q="+queried, chat(true), parent(sampledTrace, "01"), 200)
			ask("POST", "/v1/responses?q="+queried, strings.Replace(strings.Replace(chat(false), "messages", "input", 1),
				`"stream":false,`, `"prompt_cache_key":"a session",`, 1), parent(unsampledTrace, "00"), 200)
			ask("GET", "/v1/models?q="+queried, "", nil, 200)
			ask("GET", "/nothing/here?q="+queried, "", nil, 404)
			ask("POST", "/v1/chat/completions", `{"model":"`+queried+`","messages":[]}`, nil, 404)
			ask("GET", "/health", "", nil, 200)
			ask("POST", "/v1/responses", "", parent(lastTrace, "01"), 400) // it ends after all others
			spans := c.wait(t, func(all []span) bool { return len(ofTrace(all, lastTrace)) == 1 })
			if len(spans) != 8 {
				t.Errorf("%d spans", len(spans))
			}
			want := map[string]map[string]any{
				"POST /v1/chat/completions": {"gen_ai.operation.name": "chat", "gen_ai.request.model": lab.Model,
					"gen_ai.provider.name": "vllm", "gen_ai.response.finish_reasons": "stop", "http.status_code": "200",
					"http.route": "/v1/chat/completions", "harmony.pool": lab.Model, "harmony.recoveries": int64(0)},
				"POST /v1/responses": {"gen_ai.operation.name": "chat", "harmony.api": "responses",
					"gen_ai.conversation.id": "a session"},
				"POST harmony-pool-" + lab.Model: {"gen_ai.request.model": lab.Model, "gen_ai.usage.input_tokens": nil,
					"gen_ai.usage.output_tokens": nil, "http.url": serverURL + "/v1/completions"},
				"GET /v1/models": {"harmony.api": "models", "gen_ai.operation.name": nil},
				"GET other":      {},
			}
			// The second prompt begins as the first one, which the server has kept.
			cached := lab.Completions(server)[1].CachedTokens
			if want["POST /v1/responses"]["gen_ai.usage.cache_read.input_tokens"] = int64(cached); cached == 0 {
				t.Error("the server has found nothing in its cache")
			}
			want["POST /v1/chat/completions"]["gen_ai.usage.cache_read.input_tokens"] = nil
			for _, s := range spans {
				got := attributes(s.Attributes)
				if texts {
					readNumbers(got)
				}
				t.Logf("%s %s%s", s.service, s.Name, attributesOf(s))
				for name, value := range want[s.Name] {
					if got[name] != value && got["http.status_code"] == "200" {
						t.Errorf("%s has %s %v, want %v", s.Name, name, got[name], value)
					}
				}
				if want[s.Name] == nil || s.service != "harmony-gateway" {
					t.Errorf("an unknown span: %s: %s %v", s.service, s.Name, got)
				}
				if got["http.status_code"] != "200" && s.Name != "GET other" &&
					(got["gen_ai.request.model"] != "other" || got["gen_ai.operation.name"] != nil) {
					t.Errorf("the span of a refused request has %v", got)
				}
				first, timed := got["gen_ai.response.time_to_first_chunk"].(float64)
				in, _ := got["gen_ai.usage.input_tokens"].(int64)
				out, _ := got["gen_ai.usage.output_tokens"].(int64)
				thinking, _ := got["gen_ai.usage.reasoning.output_tokens"].(int64)
				if isRequest := s.Kind == tracepb.Span_SPAN_KIND_SERVER && got["gen_ai.operation.name"] != nil; isRequest !=
					(timed && first >= 0 && first < 60 && in > 50 && out > thinking && thinking > 0) {
					t.Errorf("%s has the counts %v", s.Name, got)
				}
			}
			for _, trace := range []string{sampledTrace, unsampledTrace} {
				all := ofTrace(spans, trace)
				if len(all) != 2 || fmt.Sprintf("%x", all[0].ParentSpanId) != clientSpan ||
					string(all[1].ParentSpanId) != string(all[0].SpanId) {
					t.Fatalf("the client's trace is not carried on: %v", all)
				}
				for _, r := range lab.Completions(server) {
					if p := r.Header.Get("Traceparent"); strings.Contains(p, trace) &&
						p != fmt.Sprintf("00-%s-%x-01", trace, all[1].SpanId) {
						t.Errorf("the server got %s", p)
					}
				}
			}
			c.checkWords(t)
		})
	}
}

// readNumbers reads the numbers among attributes that are texts.
func readNumbers(all map[string]any) {
	for name, value := range all {
		text, _ := value.(string)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && name != "http.status_code" {
			all[name] = n
		} else if f, err := strconv.ParseFloat(text, 64); err == nil && name != "http.status_code" {
			all[name] = f
		}
	}
}

// TestCut has answers that do not come to their end. Counts are in one span at most.
func TestCut(t *testing.T) {
	c := startCollector(t)
	const answer = "<|channel|>analysis<|message|>" + thought + thought + thought + "<|end|><|return|>"
	faults := []string{"client", "close:8", "reset:8", "stall:8", "error-event:8", "status:500", "drop"}
	var lines []sim.Line
	for _, fault := range faults {
		one, err := sim.ParseFault(strings.Replace(fault, "client", "stall:8", 1))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, sim.Line{Match: asked + " " + fault, Tokens: lab.Tokens(answer), Fault: &one})
	}
	_, serverURL := lab.RunSim(t, sim.Options{Script: sim.NewScript(lines...)})
	setup := lab.OneModel(serverURL)
	setup.Tracing.URL, setup.StallTimeout = c.grpcURL, config.Duration(lab.StallTimeout)
	h := lab.RunEnvoyOverADS(t, setup)
	for i, fault := range faults {
		trace := fmt.Sprintf("%032x", i+1)
		header := parent(trace, "01")
		header.Set("content-type", "application/json")
		body := strings.Replace(chat(true), asked, asked+" "+fault, 1)
		if fault == "client" {
			leave(t, h.URL+lab.ChatPath, header, body)
		} else {
			lab.Do(lab.HTTP1(t), "POST", h.URL+lab.ChatPath, header, strings.NewReader(body))
		}
		all := ofTrace(c.wait(t, func(all []span) bool {
			return slices.ContainsFunc(ofTrace(all, trace), func(s span) bool { return s.Kind == tracepb.Span_SPAN_KIND_SERVER })
		}), trace)
		counted := 0
		for _, s := range all {
			got := attributes(s.Attributes)
			t.Logf("%s: %s, flags %v%s", fault, s.Name, got["response_flags"], attributesOf(s))
			if got["gen_ai.request.model"] != lab.Model {
				t.Errorf("%s: %s: %v", fault, s.Name, got)
			}
			if got["gen_ai.usage.input_tokens"] != nil {
				counted++
			}
		}
		if len(all) < 2 || counted > 1 {
			t.Errorf("%s: %d spans, %d of them with counts", fault, len(all), counted)
		}
	}
	c.checkWords(t)
}

// leave asks for a stream, and goes away when it has begun.
func leave(t *testing.T, url string, header http.Header, body string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	a, err := lab.HTTP1(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if _, err := a.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
}

// TestNoShare sends nothing, also of a client that samples its own trace.
func TestNoShare(t *testing.T) {
	c := startCollector(t)
	_, serverURL := lab.RunSim(t, script())
	o := lab.OneModel(serverURL)
	o.Tracing = config.Tracing{URL: c.grpcURL}
	h := lab.RunEnvoyOverADS(t, o)
	client := lab.HTTP1(t)
	for i := range 20 {
		header := parent(fmt.Sprintf("%032x", i+1), "01")
		if i%2 == 0 {
			header = nil
		}
		if a := lab.Do(client, "POST", h.URL+lab.ChatPath, header, strings.NewReader(chat(i%3 == 0))); a.Status != 200 {
			t.Fatal(a.Status, a.Err)
		}
	}
	flushed(t, h, 2)
	if sent := lab.Statistic(t, h, "tracing.opentelemetry.spans_sent"); sent != 0 || len(c.spans) != 0 {
		t.Errorf("%d spans are sent", sent)
	}
}

// TestShare sends half of the traces, and a trace as a whole or not at all.
func TestShare(t *testing.T) {
	c := startCollector(t)
	_, serverURL := lab.RunSim(t, script())
	o := lab.OneModel(serverURL)
	o.Tracing = config.Tracing{URL: c.grpcURL, Share: 50}
	h := lab.RunEnvoyOverADS(t, o)
	client := lab.HTTP1(t)
	const traces = 200
	random := rand.New(rand.NewPCG(1, 2))
	var ids []string
	for i := range traces {
		id := fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())
		ids = append(ids, id)
		for range 2 {
			header := parent(id, []string{"00", "01"}[i%2])
			if a := lab.Do(client, "POST", h.URL+lab.ChatPath, header, strings.NewReader(chat(true))); a.Status != 200 {
				t.Fatal(a.Status, a.Err)
			}
		}
	}
	flushed(t, h, 2)
	sent := int(lab.Statistic(t, h, "tracing.opentelemetry.spans_sent"))
	spans := c.wait(t, func(all []span) bool { return len(all) >= sent })
	kept := 0
	for _, id := range ids {
		switch n := len(ofTrace(spans, id)); n {
		case 0:
		case 4:
			kept++
		default:
			t.Errorf("the trace %s has %d spans", id, n)
		}
	}
	if kept < traces/4 || kept > traces*3/4 {
		t.Errorf("%d of %d traces are sent", kept, traces)
	}
}

// flushed waits until the workers have delivered their spans so often from now on.
func flushed(t *testing.T, h *hosts.Host, times uint64) {
	t.Helper()
	const counter = "tracing.opentelemetry.timer_flushed"
	before := lab.Statistic(t, h, counter)
	for deadline := time.Now().Add(lab.Patience); lab.Statistic(t, h, counter) < before+times; {
		if time.Now().After(deadline) {
			t.Fatal("no delivery of spans")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestDeadCollector has collectors that are not there, and one that never answers. Requests do not notice.
func TestDeadCollector(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts connections, and reads nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for name, url := range map[string]string{
		"refused, gRPC": "http://" + lab.FreeAddress(t), "refused, HTTP": "http://" + lab.FreeAddress(t) + "/v1/traces",
		"silent, gRPC": "http://" + silent.Addr().String(), "silent, HTTP": "http://" + silent.Addr().String() + "/v1/traces",
	} {
		t.Run(name, func(t *testing.T) {
			_, serverURL := lab.RunSim(t, script())
			o := lab.OneModel(serverURL)
			o.Tracing.URL = url
			h := lab.RunEnvoyOverADS(t, o)
			client := lab.HTTP1(t)
			longest, before := time.Duration(0), lab.Statistic(t, h, "server.memory_allocated")
			large := http.Header{"User-Agent": {strings.Repeat("a", 25_000)}, "X-Request-Id": {strings.Repeat("b", 5000)},
				"Traceparent": parent(sampledTrace, "01")["Traceparent"], "Tracestate": {"a=" + strings.Repeat("c", 20_000)}}
			for i := range 1500 {
				began := time.Now()
				a := lab.Do(client, "POST", h.URL+lab.ChatPath, large, strings.NewReader(chat(i%2 == 0)))
				if a.Status != 200 {
					t.Fatal(a.Status, a.Err, a.Body)
				}
				longest = max(longest, time.Since(began))
			}
			grown := int64(lab.Statistic(t, h, "server.memory_allocated")) - int64(before)
			t.Logf("the longest of 1,500 requests took %s, and Envoy has %d MiB more", longest, grown>>20)
			if grown > 256<<20 {
				t.Errorf("Envoy has %d bytes more", grown)
			}
			if longest > lab.RequestLimit {
				t.Errorf("a request took %s", longest)
			}
		})
	}
}

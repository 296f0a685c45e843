//go:build e2e

package routing

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// bothAPIs is a simulated server that has Chat Completions and Responses of its own. They answer everything with the
// same bytes.
type bothAPIs struct {
	url string
	gpu *sim.Server
	mu  sync.Mutex
	// own are the requests to its own APIs.
	own []ownRequest
}

type ownRequest struct {
	path, body string
	header     http.Header
}

// ownAnswer is what Chat Completions of the server stream. It has a control token, and a call that does not fit.
const ownAnswer = `data: {"id":"own","object":"chat.completion.chunk","model":"theirs","choices":[{"index":0,"delta":` +
	`{"role":"assistant","content":"Hi<|end|>"}}]}` + "\n\n: keep-alive\n\n" +
	`data: {"id":"own","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f",` +
	`"arguments":"{}"}}]}}]}` + "\n\n" +
	`data: {"id":"own","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" +
	`data: {"id":"own","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":9}}` + "\n\ndata: [DONE]\n\n"

// ownResponse is what Responses of the server answer.
const ownResponse = `{"object":"response", "status":"completed","output":[{"type":"message","content":[` +
	`{"type":"output_text","text":"Hi"}]}],"usage":{"input_tokens":1,"output_tokens":1}}`

func runBothAPIs(t *testing.T) *bothAPIs {
	t.Helper()
	b := &bothAPIs{}
	b.gpu, _ = lab.RunSim(t, sim.Options{})
	rest := b.gpu.Handler()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != lab.ChatPath && r.URL.Path != lab.ResponsesPath {
			rest.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.own = append(b.own, ownRequest{path: r.URL.Path, body: string(body), header: r.Header.Clone()})
		b.mu.Unlock()
		w.Header().Set("x-own", "1")
		switch {
		case r.Header.Get("x-fail") != "":
			w.Header().Set("content-type", "text/plain; charset=utf-8")
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "no")
		case r.URL.Path == lab.ResponsesPath:
			w.Header().Set("content-type", "application/json")
			_, _ = io.WriteString(w, ownResponse)
		default:
			w.Header().Set("content-type", "text/event-stream; charset=utf-8")
			_, _ = io.WriteString(w, ownAnswer)
		}
	}))
	t.Cleanup(s.Close)
	b.url = s.URL
	return b
}

// take returns the requests to the server's own APIs since the last take.
func (b *bothAPIs) take() []ownRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.own
	b.own = nil
	return own
}

// untranslatedModel returns a configuration of [lab.Model] with two aliases and this setting of translate.
func (b *bothAPIs) untranslatedModel(translate string) *config.Config {
	c := lab.OneModel(b.url)
	m := &c.Models[0]
	m.Aliases, m.Translate, m.ServerModel = []string{"gpt-4o", "openai/*"}, translate, lab.Model
	return c
}

// eachHost runs a test in every host.
func eachHost(t *testing.T, configure func() *config.Config, test func(t *testing.T, h *hosts.Host)) {
	for _, h := range routingHosts(t, configure) {
		t.Run(h.Name, func(t *testing.T) { test(t, h) })
	}
}

const toolOfRequest = `"tools":[{"type":"function","function":{"name":"f","parameters":` +
	`{"type":"object","required":["a"]}}}]`

// TestObserve shows that a request that is observed reaches the server's own API byte for byte, that the answer reaches
// the client so, and what is counted.
func TestObserve(t *testing.T) {
	server := runBothAPIs(t)
	eachHost(t, func() *config.Config { return server.untranslatedModel(contract.TranslateObserve) },
		func(t *testing.T, h *hosts.Host) { observe(t, server, h) })
}

func observe(t *testing.T, server *bothAPIs, h *hosts.Host) {
	client := lab.HTTP1(t)
	chat := "{ \"messages\" : [{\"role\":\"user\",\"content\":\"H\\u0069 \U0001F600\"}],\n" + toolOfRequest +
		`, "x":[1e400], "stream":true, "model":"gpt-oss-120b" }`
	header := http.Header{"X-Harmony-Strict": {"1"}, "X-Client": {"stays"}, "Accept": {"*/*"},
		"Authorization": {"Bearer client"}, "X-Harmony-Internal-Pool": {"elsewhere"}}
	for _, tt := range []struct {
		path, body, sent string
		fails            bool
		answer, kind     string
	}{
		{path: lab.ChatPath, body: chat, sent: chat, answer: ownAnswer, kind: "text/event-stream; charset=utf-8"},
		{path: lab.ChatPath, body: strings.Replace(chat, "gpt-oss-120b", `openai\/gpt`, 1), sent: chat, answer: ownAnswer,
			kind: "text/event-stream; charset=utf-8"},
		{path: lab.ChatPath, body: chat, sent: chat, fails: true, answer: "no", kind: "text/plain; charset=utf-8"},
		// Nothing of it is the gateway's to refuse.
		{path: lab.ChatPath, body: `{"model":"gpt-oss-120b","messages":7}`, sent: `{"model":"gpt-oss-120b","messages":7}`,
			answer: ownAnswer, kind: "text/event-stream; charset=utf-8"},
		{path: lab.ResponsesPath, body: `{"model":"gpt-4o","input":"Hi","store":true}`,
			sent: `{"model":"gpt-oss-120b","input":"Hi","store":true}`, answer: ownResponse, kind: "application/json"},
	} {
		header := header.Clone()
		status := http.StatusOK
		if tt.fails {
			header.Set("x-fail", "1")
			status = http.StatusTeapot
		}
		a := lab.Do(client, http.MethodPost, h.URL+tt.path, header, strings.NewReader(tt.body))
		if a.Err != nil || a.Status != status || a.Body != tt.answer || a.Header.Get("content-type") != tt.kind ||
			a.Header.Get("x-own") != "1" {
			t.Errorf("%s: answered %+v", tt.body, a)
		}
		got := server.take()
		if len(got) != 1 {
			t.Fatalf("%s: %d requests", tt.body, len(got))
		}
		sent := got[0].header
		if got[0].path != tt.path || got[0].body != tt.sent {
			t.Errorf("%s: sent %s %s", tt.body, got[0].path, got[0].body)
		}
		if sent.Get("x-client") != "stays" || sent.Get("accept") != "*/*" || sent.Get("accept-encoding") != "identity" {
			t.Errorf("%s: sent %v", tt.body, sent)
		}
		for _, name := range []string{"x-harmony-strict", contract.PoolHeader, "authorization"} {
			if h.Name != "native" && sent.Get(name) != "" {
				t.Errorf("%s: the server got %s: %s", tt.body, name, sent.Get(name))
			}
		}
	}
	if n := len(server.gpu.Requests()); n != 0 {
		t.Errorf("%d requests were translated", n)
	}
	raw := lab.Ask(client, h.URL+lab.RawPath, `{"model":"gpt-4o","prompt":"x"}`)
	lab.WantRefused(t, raw, 403, "raw_prompt_not_allowed")
	lab.WantRefused(t, lab.Ask(client, h.URL+lab.ChatPath, `{"model":"gpt-5","messages":[]}`), 404, "model_not_found")
	if len(server.take()) != 0 {
		t.Error("refused requests reached the server")
	}
	if h.Name == "native" {
		return
	}
	counts := lab.Counters(t, h)
	for name, want := range map[string]int{
		"harmony_untranslated_requests_total": 5, "harmony_observed_total.kind.request": 5,
		"harmony_observed_total.kind.refused": 1, "harmony_observed_total.kind.error": 1,
		"harmony_observed_total.kind.control_tokens": 3, "harmony_observed_total.kind.unfit_arguments": 2,
		"harmony_observed_total.kind.other_prompt": 3, "harmony_observed_prompt_tokens_total.kind.servers": 3,
		"harmony_observed_total.kind.unreadable":                               0,
		"harmony_requests_total.model.gpt-oss-120b.api.chat.status.200":        3,
		"harmony_requests_total.model.gpt-oss-120b.api.responses.status.200":   1,
		"harmony_requests_total.model.gpt-oss-120b.api.completions.status.403": 1,
		"harmony_tokens_total.model.gpt-oss-120b.kind.prompt":                  0,
		"harmony_requests_total.model.other.api.chat.status.404":               1,
		"harmony_observed_total.kind.no_answer":                                0,
		"harmony_observed_total.kind.messages_in_text":                         0,
	} {
		if counts[name] != want {
			t.Errorf("%s is %d, want %d", name, counts[name], want)
		}
	}
}

// TestShare shows that a share of the requests is translated and the others are not, and that clients get an answer
// either way, under the name that they use.
func TestShare(t *testing.T) {
	server := runBothAPIs(t)
	eachHost(t, func() *config.Config { return server.untranslatedModel("50%") }, func(t *testing.T, h *hosts.Host) {
		client, translated := lab.HTTP1(t), len(server.gpu.Requests())
		server.take()
		const all = 60
		names := map[bool]int{}
		for range all {
			a := lab.Ask(client, h.URL+lab.ChatPath, lab.ChatBody("gpt-4o", "Hi"))
			own := a.Body == ownAnswer
			if a.Err != nil || a.Status != 200 || !own && !strings.Contains(a.Body, `"model":"gpt-4o"`) {
				t.Fatalf("%+v", a)
			}
			names[own]++
		}
		translated = len(server.gpu.Requests()) - translated
		// In a trillion runs, one has fewer than 5 of either.
		if untranslated := len(server.take()); untranslated != names[true] || translated != names[false] ||
			untranslated < 5 || translated < 5 {
			t.Errorf("%d are translated, and %d are not; clients got %v", translated, untranslated, names)
		}
	})
}

// TestUntranslatedRoutes shows that no client reaches a server's own API by a header, where all requests are translated
// and where not all are.
func TestUntranslatedRoutes(t *testing.T) {
	lab.OnProxiesOfAll(t, func(t *testing.T, run lab.RunProxies) {
		server := runBothAPIs(t)
		shares := []string{"all", "100%", "0%"}
		var all []*config.Config
		for _, translate := range shares {
			all = append(all, server.untranslatedModel(translate))
		}
		for i, h := range run(t, all) {
			translate := shares[i]
			t.Run(translate, func(t *testing.T) {
				header := http.Header{"X-Harmony-Internal-Pool": {contract.UntranslatedRoute(lab.Model)}}
				for _, client := range []*http.Client{lab.HTTP1(t), lab.HTTP2(t)} {
					for path, body := range map[string]string{
						lab.ChatPath: `{"model":"other","messages":[]}`, lab.ResponsesPath: `{"model":"other","input":"Hi"}`,
						lab.RawPath: `{"model":"gpt-oss-120b","prompt":"x"}`, "/anything": `{}`,
					} {
						for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodGet} {
							a := lab.Do(client, method, h.URL+path, header, strings.NewReader(body))
							wrongMethod := a.Status == http.StatusMethodNotAllowed && method != http.MethodPost
							if a.Err != nil || a.Status < 400 || a.Status > 404 && !wrongMethod {
								t.Errorf("%s %s: %+v", method, path, a)
							}
						}
					}
					if translate != "0%" {
						a := lab.Do(client, http.MethodPost, h.URL+lab.ChatPath, header, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
						if a.Status != 200 || a.Body == ownAnswer {
							t.Errorf("%+v", a)
						}
					}
				}
				if own := server.take(); len(own) != 0 {
					t.Errorf("the server's own API got %s", own[0].body)
				}
			})
		}
	})
}

// TestAliases shows that clients reach a model by every name of it, and see that name.
func TestAliases(t *testing.T) {
	server := runBothAPIs(t)
	eachHost(t, func() *config.Config { return server.untranslatedModel("all") }, func(t *testing.T, h *hosts.Host) {
		client := lab.HTTP1(t)
		for _, name := range []string{lab.Model, "gpt-4o", "openai/anything"} {
			for path, body := range map[string]string{
				lab.ChatPath: lab.ChatBody(name, "Hi"), lab.ResponsesPath: lab.ResponsesBody(name, "Hi"),
			} {
				a := lab.Ask(client, h.URL+path, body)
				if a.Err != nil || a.Status != 200 || !strings.Contains(a.Body, `"model":"`+name+`"`) {
					t.Errorf("%s %s: %+v", path, name, a)
				}
			}
			a := lab.Do(client, http.MethodGet, h.URL+"/v1/models/"+url.PathEscape(name), nil, nil)
			if a.Status != 200 || !strings.Contains(a.Body, `"id":"`+name+`"`) {
				t.Errorf("%s: %+v", name, a)
			}
		}
		for _, name := range []string{"gpt-4", "openai", "OPENAI/x"} {
			lab.WantRefused(t, lab.Ask(client, h.URL+lab.ChatPath, lab.ChatBody(name, "Hi")), 404, "model_not_found")
		}
		list := lab.Do(client, http.MethodGet, h.URL+"/v1/models", nil, nil)
		if strings.Count(list.Body, `"id"`) != 2 || !strings.Contains(list.Body, `"id":"gpt-4o"`) {
			t.Errorf("listed: %s", list.Body)
		}
		if h.Name == "native" {
			return
		}
		if counts := lab.Counters(t, h); counts["harmony_requests_total.model.gpt-oss-120b.api.chat.status.200"] != 3 {
			t.Errorf("counted: %v", counts)
		}
	})
}

// TestUntranslatedConversations shows that servers that take conversations get requests untouched too, at the path of
// their API.
func TestUntranslatedConversations(t *testing.T) {
	for _, translate := range []string{"0%", contract.TranslateObserve} {
		gpu, server := lab.RunSim(t, sim.Options{Kind: contract.Chat, APIPath: "/openai/v1"})
		eachHost(t, func() *config.Config {
			c := lab.OneModel(server)
			m := config.DefaultModel(lab.Model, contract.Chat+"="+server+"/openai/v1")
			m.Translate, m.Aliases = translate, []string{"gpt-4o"}
			m.ExtraBody, m.Chat.TemplateKwargs = `{"top_k":5}`, `{"enable_thinking":false}`
			c.Models = []config.Model{m}
			return c
		}, func(t *testing.T, h *hosts.Host) {
			before := len(gpu.Requests())
			const body = `{"messages":[{"role":"developer","content":"x"},{"role":"user","content":"Hi"}],"model":"`
			a := lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, body+`gpt-4o"}`)
			if a.Err != nil || a.Status != 200 || !strings.Contains(a.Body, `"model":"`+lab.Model+`"`) {
				t.Errorf("%s: %+v", translate, a)
			}
			seen := gpu.Requests()[before:]
			if len(seen) != 1 || seen[0].Path != "/openai/v1/chat/completions" || string(seen[0].Body) != body+lab.Model+`"}` {
				t.Errorf("%s: the server got %d requests, the first %+v", translate, len(seen), seen[0])
			}
			responses := lab.Ask(lab.HTTP1(t), h.URL+lab.ResponsesPath, lab.ResponsesBody(lab.Model, "Hi"))
			lab.WantRefused(t, responses, 404, "unknown_url")
		})
	}
}

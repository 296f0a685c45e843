//go:build e2e

package tap

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// answer is what the model writes. Its first message lacks the end.
const answer = "<|channel|>analysis<|message|>Zürich, then.<|start|>assistant<|channel|>final<|message|>" +
	"In Zürich it rains.<|return|>"

func runServer(t *testing.T) (*sim.Server, string) {
	t.Helper()
	return lab.RunSim(t, sim.Options{AllowHeaders: true,
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(answer)})})
}

// tappedModel is a configuration with a recorder.
func tappedModel(server, recorder, all string) *config.Config {
	c := lab.OneModel(server)
	c.Tap = config.Tap{URL: recorder, All: all}
	return c
}

// ask sends a request with a header that asks for the tap, unless shown is empty.
func ask(client *http.Client, h *hosts.Host, path, body, shown string, headers ...string) lab.Answer {
	header := http.Header{"Content-Type": {"application/json"}}
	if shown != "" {
		header.Set(tap.KeyHeader, shown)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return lab.Do(client, http.MethodPost, h.URL+path, header, strings.NewReader(body))
}

func streamed(body string) string { return `{"stream":true,` + body[1:] }

// TestTappedByKey: what the recorder gets of a request is what the client sent, what the server got and sent, and what
// the client got, to the byte. Nothing comes of requests that do not ask, or ask with another key. No server ever gets
// the header.
func TestTappedByKey(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		server, url := runServer(t)
		r := runRecorder(t)
		h := run(t, tappedModel(url, r.URL, ""))
		for _, client := range []*http.Client{lab.HTTP1(t), lab.HTTP2(t)} {
			for path, body := range map[string]string{
				lab.ChatPath: lab.ChatBody(lab.Model, "Hi"), lab.ResponsesPath: lab.ResponsesBody(lab.Model, "Hi")} {
				for _, body := range []string{body, streamed(body)} {
					for _, wrong := range []string{"", "x", key[1:] + "x", strings.ToUpper(key), key + key} {
						if a := ask(client, h, path, body, wrong); a.Status != http.StatusOK || a.Err != nil {
							t.Errorf("key %q: %+v", wrong, a)
						}
					}
					a := ask(client, h, path+"?secret=1", body, key, "x-request-id", "my-own")
					x := r.next()
					got := server.Requests()
					checkTapped(t, x, path, body, a, &got[len(got)-1])
				}
			}
		}
		// Several headers ask if one of them has the key. The headers do not go on.
		for _, keys := range [][]string{{"x", key}, {key, "x"}, {key, key}, {"", ""}, {"x," + key}} {
			a := lab.Do(lab.HTTP2(t), http.MethodPost, h.URL+lab.ChatPath,
				http.Header{http.CanonicalHeaderKey(tap.KeyHeader): keys}, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
			if a.Status != http.StatusOK || slices.Contains(keys, key) && r.next().answer != a.Body {
				t.Errorf("%q: %+v", keys, a)
			}
		}
		for _, q := range server.Requests() {
			if _, has := q.Header[http.CanonicalHeaderKey(tap.KeyHeader)]; has {
				t.Errorf("the server got the key: %v", q.Header)
			}
		}
		if len(r.open) > 0 || r.most > 1 {
			t.Errorf("%d requests have not ended; %d calls of a VM at once", len(r.open), r.most)
		}
	})
}

func checkTapped(t *testing.T, x *tapped, path, body string, a lab.Answer, got *sim.Request) {
	t.Helper()
	if a.Err != nil || a.Status != http.StatusOK {
		t.Fatalf("%+v", a)
	}
	api := "chat"
	if path == lab.ResponsesPath {
		api = "responses"
	}
	if x.request.Method != http.MethodPost || x.request.Path != path || x.request.RequestID == "" || x.body != body {
		t.Errorf("the request is %+v, %q; want %q", x.request, x.body, body)
	}
	sent := tap.SentHead{Path: "/v1/completions", Pool: lab.Model, API: api, Model: lab.Model, Server: "vllm",
		Speaks: "auto", Translated: true}
	if len(x.sent) != 1 || x.sent[0] != sent || x.sentBody != string(got.Body) {
		t.Errorf("sent are %+v, %q; the server got %q", x.sent, x.sentBody, got.Body)
	}
	if len(x.head) != 1 || x.head[0].Status != 200 || x.head[0].Local || x.head[0].ContentType == "" {
		t.Errorf("the server's heads are %+v", x.head)
	}
	if !strings.HasPrefix(x.chunks, "data: {") || !strings.HasSuffix(x.chunks, "data: [DONE]\n\n") {
		t.Errorf("the server's body is %q", x.chunks)
	}
	if x.answer != a.Body {
		t.Errorf("the answer is\n%q, the client got\n%q", x.answer, a.Body)
	}
	if len(x.answerHead) != 1 || x.answerHead[0].Status != 200 ||
		x.answerHead[0].ContentType != a.Header.Get("content-type") {
		t.Errorf("the answer's heads are %+v", x.answerHead)
	}
	e := x.end
	if e.API != api || e.Model != lab.Model || e.Server != "vllm" || e.Status != 200 || e.Finish != "stop" ||
		e.PromptTokens != len(got.PromptIDs) || e.CompletionTokens < len(got.SampledIDs)-1 || e.FirstTokenMS < 0 ||
		e.ReasoningTokens == 0 || e.FinalTokens == 0 || e.Recoveries["missing_end"] != 1 || e.LostFrames != 0 || e.Cut != "" {
		t.Errorf("the end is %+v", e)
	}
	if o := x.order(); !strings.HasPrefix(o, "RBSbHc") || !strings.HasSuffix(o, "E") {
		t.Errorf("the frames are %s", o)
	}
}

// TestTappedAll: with summary only the beginning and the end of each request are shown, with everything all of it.
func TestTappedAll(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		for all, want := range map[string]string{contract.TapSummary: "RE", contract.TapEverything: "RBSbHc"} {
			server, url := runServer(t)
			r := runRecorder(t)
			h := run(t, tappedModel(url, r.URL, all))
			body := streamed(lab.ChatBody(lab.Model, "Hi kanarienvogel"))
			a := ask(lab.HTTP1(t), h, lab.ChatPath, body, "")
			x := r.next()
			if o := x.order(); all == contract.TapSummary && o != want || !strings.HasPrefix(o, want) {
				t.Errorf("%s: the frames are %s", all, o)
			}
			got := server.Requests()
			if all == contract.TapEverything {
				checkTapped(t, x, lab.ChatPath, body, a, &got[0])
				continue
			}
			if e := x.end; e.Status != 200 || e.PromptTokens == 0 || e.Finish != "stop" || x.request.Path != lab.ChatPath {
				t.Errorf("the end is %+v", e)
			}
			for _, word := range []string{"kanarienvogel", "rich", "rain"} {
				if strings.Contains(string(r.bodies), word) {
					t.Errorf("the calls have the text %s: %q", word, r.bodies)
				}
			}
			// A request that asks is shown wholly all the same.
			a = ask(lab.HTTP1(t), h, lab.ChatPath, body, key)
			got = server.Requests()
			checkTapped(t, r.next(), lab.ChatPath, body, a, &got[1])
		}
	})
}

// TestNeverTapped: without a key that could not be guessed nothing is tapped, whatever the configuration and the client
// say, and without a recorder nothing either. The header is removed all the same.
func TestNeverTapped(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		r := runRecorder(t)
		for name, tt := range map[string]struct{ key, url string }{
			"no key": {"", r.URL}, "a short key": {key[:15], r.URL}, "no recorder": {key, ""}} {
			t.Run(name, func(t *testing.T) {
				t.Setenv(contract.TapKeyVariable, tt.key)
				server, url := runServer(t)
				h := run(t, tappedModel(url, tt.url, contract.TapEverything))
				for _, shown := range []string{"", tt.key, key} {
					if a := ask(lab.HTTP1(t), h, lab.ChatPath, lab.ChatBody(lab.Model, "Hi"), shown); a.Status != http.StatusOK {
						t.Errorf("%+v", a)
					}
				}
				for _, q := range server.Requests() {
					if _, has := q.Header[http.CanonicalHeaderKey(tap.KeyHeader)]; has {
						t.Errorf("the server got the header: %v", q.Header)
					}
				}
			})
		}
		if r.calls > 0 {
			t.Errorf("%d calls", r.calls)
		}
	})
}

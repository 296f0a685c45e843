//go:build e2e

package suite

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

// serverOf is a simulated server of a kind, and the core before it, without a host.
type serverOf struct {
	kind string
	sim.Options
}

// forwarded returns an exchange whose request has gone to the server, and the body that the server gets.
func (s *serverOf) forwarded(t *testing.T, path, body string) (*exchange.Exchange, string) {
	t.Helper()
	m := contract.DefaultModel(lab.Model)
	m.Server = s.kind
	m.System.Date = lab.Date
	x := exchange.New(exchange.Options{Tokenizer: o200k.Tokenizer(),
		Config: contract.Config{BodyLimit: 1 << 20, Models: []contract.Model{m}}}).Begin(http.MethodPost, path)
	action := x.Request([]byte(body), exchange.Host{ID: "abcdefghijklmnopqrstuvwx"})
	if action.Forward == nil {
		t.Fatalf("not forwarded: %s", action.Reply.Body)
	}
	return x, string(action.Forward.Body)
}

// answer returns what the server sends for a client's request.
func (s *serverOf) answer(t *testing.T, path, body string) string {
	t.Helper()
	_, sent := s.forwarded(t, path, body)
	o := s.Options
	o.Kind, o.PromptTokensDetails = s.kind, true
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, contract.KindNamed(s.kind).Path,
		strings.NewReader(sent))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	sim.New(o).Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), contract.KindNamed(s.kind).StreamType()) {
		t.Fatalf("%s answers %d %s to %s", s.kind, w.Code, w.Body, sent)
	}
	return w.Body.String()
}

// outcome returns the status and the bytes that the client gets for its request, where the server sends these pieces.
func (s *serverOf) outcome(t *testing.T, path, body string, pieces []string) string {
	t.Helper()
	x, _ := s.forwarded(t, path, body)
	x.ResponseHeaders(exchange.ResponseHead{Status: http.StatusOK,
		ContentType: contract.KindNamed(s.kind).StreamType()})
	status, got := 0, ""
	for i, p := range pieces {
		a := x.ResponseBody([]byte(p), i == len(pieces)-1)
		if a.Reply != nil {
			return strconv.Itoa(a.Reply.Status) + " " + string(a.Reply.Body)
		}
		if a.Head != nil {
			status = a.Head.Status
		}
		got += string(a.Body)
		if a.Reset {
			return strconv.Itoa(status) + " " + got + "(cut)"
		}
	}
	return strconv.Itoa(status) + " " + got
}

// agreeing returns what must be the same for clients of all kinds. It is the whole outcome, or, where answers come as
// text, the outcome in whatever pieces and without estimates.
func (s *serverOf) agreeing(outcome, body string) string {
	kind := contract.KindNamed(s.kind)
	if !kind.TextAnswers {
		return outcome
	}
	view := strings.Replace(outcome, " ", "\ncontent-type: text/event-stream\n\n", 1)
	if kind.EstimatesTokens() {
		return withoutEstimates(view, []byte(body))
	}
	return cases.Fold(view)
}

// TestKindsAgree: with every kind of the model's servers clients get the bytes that they get before vLLM. Requests that
// a kind cannot serve are left out here; TestKinds shows its refusal.
func TestKindsAgree(t *testing.T) {
	const (
		tools = `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object",` +
			`"properties":{"location":{"type":"string"}}}}}]`
		call = "<|channel|>analysis<|message|>Hm 😀.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather " +
			"<|constrain|>json<|message|>{\"location\":\"Zürich\"}<|call|>"
		final = "<|channel|>analysis<|message|>The user 🪿.<|end|><|start|>assistant<|channel|>final<|message|>Hé " +
			"👩‍👧!<|return|>"
	)
	noLogprobs := func(k *contract.Kind) bool { return !k.Logprobs }
	requests := []struct {
		name, path, fields, script string
		// lost reports whether a kind of server cannot answer so. Nil is false.
		lost func(k *contract.Kind) bool
	}{
		{"chat", contract.ChatPath, `"messages":[{"role":"user","content":"Hi"}]`, final, nil},
		{"chat, two choices", contract.ChatPath, `"n":2,"messages":[{"role":"user","content":"Hi"}]`, final,
			func(k *contract.Kind) bool { return !k.Choices }},
		{"chat, logprobs", contract.ChatPath, `"logprobs":true,"top_logprobs":3,"messages":[{"role":"user","content":"Hi"}]`,
			final, noLogprobs},
		// It ends within a character, of which text has nothing.
		{"chat, length", contract.ChatPath, `"max_tokens":6,"messages":[{"role":"user","content":"Hi"}]`, final,
			func(k *contract.Kind) bool { return k.TextAnswers }},
		{"chat, tool", contract.ChatPath, `"messages":[{"role":"user","content":"Hi"}]` + tools, call, nil},
		{"chat, forced", contract.ChatPath, `"messages":[{"role":"user","content":"Hi"}],"tool_choice":"required"` + tools,
			call, func(k *contract.Kind) bool { return !k.HoldsForms() }},
		{"chat, sampling", contract.ChatPath, `"temperature":0.2,"top_p":0,"seed":7,"presence_penalty":1,"logit_bias":` +
			`{"5":-1},"messages":[{"role":"user","content":"Hi"}]`, final, func(k *contract.Kind) bool { return !k.Biases }},
		{"responses", contract.ResponsesPath, `"input":"Hi"`, final, nil},
		{"responses, logprobs", contract.ResponsesPath,
			`"include":["message.output_text.logprobs"],"top_logprobs":2,"input":"Hi"`, final, noLogprobs},
		{"no end", contract.ChatPath, `"messages":[{"role":"user","content":"Hi"}]`, "<|channel|>final<|message|>a b c", nil},
	}
	servers := []serverOf{{contract.SGLang, sim.Options{IncrementalStreaming: true}}}
	for _, kind := range contract.ServerKinds() {
		if contract.KindNamed(kind).Conversations {
			continue // TestChatServersInPieces
		}
		servers = append(servers, serverOf{kind: kind})
		if contract.KindNamed(kind).EstimatesTokens() {
			servers = append(servers, serverOf{kind, sim.Options{PrintSpecials: true}})
		}
	}
	for _, server := range servers {
		for _, r := range requests {
			if r.lost != nil && r.lost(contract.KindNamed(server.kind)) {
				continue
			}
			for _, stream := range []string{"false", "true"} {
				body := `{"model":"` + lab.Model + `","stream":` + stream + "," + r.fields + "}"
				for _, size := range []int{1, 3, sim.AllTokens} {
					o := server.Options
					o.TokensPerChunk, o.AnyPrompt = size, true
					o.Script = sim.NewScript(sim.Line{Match: "Hi", Tokens: o200k.Tokenizer().AppendEncodeSpecial(nil, r.script)})
					first := serverOf{contract.VLLM, o}
					s := serverOf{server.kind, o}
					want := s.agreeing(first.outcome(t, r.path, body, []string{first.answer(t, r.path, body), ""}), body)
					answer := s.answer(t, r.path, body)
					for _, pieces := range [][]string{{answer, ""}, append(strings.Split(answer, ""), "")} {
						got := s.agreeing(s.outcome(t, r.path, body, pieces), body)
						if got != want || !strings.HasPrefix(got, "200") {
							t.Fatalf("%+v, %s, stream %s, %d tokens in an event, %d pieces:\n%s\nwant\n%s", server, r.name, stream, size,
								len(pieces), got, want)
						}
					}
				}
			}
		}
	}
}

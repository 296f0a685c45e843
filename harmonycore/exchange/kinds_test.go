//go:build !tinygo

// TinyGo cannot compile sim, which is an HTTP server.

package exchange

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

// serverOf is a simulated server with the same answers for every kind.
type serverOf struct {
	kind backend.Kind
	sim.Options
}

// gateway returns a gateway before the server.
func (s *serverOf) gateway() *Gateway {
	return testGateway(func(o *Options) {
		o.Kind = s.kind
		o.Models[0].Server = s.kind.Facts().Name
		o.Models[0].StructuredOutputs = contract.StructuralTags
	})
}

// answer returns what the server sends for a client's request.
func (s *serverOf) answer(t *testing.T, path, body string) string {
	t.Helper()
	action := s.gateway().Begin("POST", path).Request([]byte(body), Host{Now: testNow, ID: testID})
	if action.Forward == nil {
		t.Fatalf("not forwarded: %s", action.Reply.Body)
	}
	o := s.Options
	o.Kind, o.Models, o.PromptTokensDetails = s.kind.Facts().Name, []string{"openai/gpt-oss"}, true
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.kind.Facts().Path,
		strings.NewReader(string(action.Forward.Body)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	sim.New(o).Handler().ServeHTTP(w, r)
	if w.Code != 200 || !isEventStream(w.Header().Get("Content-Type")) {
		t.Fatalf("%s answers %d %s to %s", s.kind.Facts().Name, w.Code, w.Body, action.Forward.Body)
	}
	return w.Body.String()
}

// TestKindsAgree: whatever the kind of the model's servers, clients get the bytes that they get before vLLM.
func TestKindsAgree(t *testing.T) {
	const (
		tools = `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object",` +
			`"properties":{"location":{"type":"string"}}}}}]`
		call = "<|channel|>analysis<|message|>Hm 😀.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather " +
			"<|constrain|>json<|message|>{\"location\":\"Zürich\"}<|call|>"
		final = "<|channel|>analysis<|message|>The user 🪿.<|end|><|start|>assistant<|channel|>final<|message|>Hé " +
			"👩‍👧!<|return|>"
	)
	requests := []struct{ name, path, fields, script string }{
		{"chat", contract.ChatPath, `"messages":[{"role":"user","content":"Hi"}]`, final},
		{"chat, two choices", contract.ChatPath, `"n":2,"messages":[{"role":"user","content":"Hi"}]`, final},
		{"chat, logprobs", contract.ChatPath, `"logprobs":true,"top_logprobs":3,"messages":[{"role":"user","content":"Hi"}]`,
			final},
		{"chat, length", contract.ChatPath, `"max_tokens":6,"messages":[{"role":"user","content":"Hi"}]`, final},
		{"chat, tool", contract.ChatPath, `"messages":[{"role":"user","content":"Hi"}]` + tools, call},
		{"chat, forced", contract.ChatPath, `"messages":[{"role":"user","content":"Hi"}],"tool_choice":"required"` + tools,
			call},
		{"chat, sampling", contract.ChatPath, `"temperature":0.2,"top_p":0,"seed":7,"presence_penalty":1,"logit_bias":` +
			`{"5":-1},"messages":[{"role":"user","content":"Hi"}]`, final},
		{"responses", contract.ResponsesPath, `"input":"Hi"`, final},
		{"responses, logprobs", contract.ResponsesPath,
			`"include":["message.output_text.logprobs"],"top_logprobs":2,"input":"Hi"`, final},
		{"no end", contract.ChatPath, `"messages":[{"role":"user","content":"Hi"}]`, "<|channel|>final<|message|>a b c"},
	}
	vllm := kindNamed(t, contract.VLLM)
	type server struct {
		kind        string
		incremental bool
	}
	servers := []server{{contract.SGLang, true}}
	for _, kind := range contract.ServerKinds() {
		servers = append(servers, server{kind: kind})
	}
	for _, server := range servers {
		for _, r := range requests {
			for _, stream := range []string{"false", "true"} {
				body := `{"model":"` + testModel + `","stream":` + stream + "," + r.fields + "}"
				for _, size := range []int{1, 3, sim.AllTokens} {
					o := sim.Options{TokensPerChunk: size, AnyPrompt: true,
						Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: o200k.Tokenizer().AppendEncodeSpecial(nil, r.script)})}
					first := serverOf{vllm, o}
					want := outcome(t, forwarded(t, first.gateway(), r.path, body), []string{first.answer(t, r.path, body), ""})
					o.IncrementalStreaming = server.incremental
					s := serverOf{kindNamed(t, server.kind), o}
					answer := s.answer(t, r.path, body)
					for _, pieces := range [][]string{{answer, ""}, append(strings.Split(answer, ""), "")} {
						got := outcome(t, forwarded(t, s.gateway(), r.path, body), pieces)
						if got != want || !strings.HasPrefix(got, "200 ") {
							t.Fatalf("%+v, %s, stream %s, %d tokens in an event, %d pieces:\n%s\nwant\n%s", server, r.name, stream, size,
								len(pieces), got, want)
						}
					}
				}
			}
		}
	}
}

func kindNamed(t *testing.T, name string) backend.Kind {
	t.Helper()
	kind, ok := backend.Named(name)
	if !ok {
		t.Fatalf("no kind %s", name)
	}
	return kind
}

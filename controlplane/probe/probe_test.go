package probe

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

// ask probes a server: pages instead of a simulated vLLM's.
func ask(t *testing.T, o sim.Options, pages map[string]http.HandlerFunc) (*Report, error) {
	t.Helper()
	s := sim.New(o)
	t.Cleanup(s.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page := pages[r.URL.Path]; page != nil {
			page(w, r)
			return
		}
		s.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return Server(t.Context(), Options{URL: server.URL, Transport: &http.Transport{DisableKeepAlives: true}})
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestVLLMRender: a vLLM that renders is found to do so, and another one is not.
func TestVLLMRender(t *testing.T) {
	for _, kind := range []string{sim.VLLMRender, sim.VLLM, sim.Chat} {
		r, err := ask(t, sim.Options{Kind: kind, AnyPrompt: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range r.Kinds {
			if k.Name == contract.VLLMRender && k.Works() != (kind == sim.VLLMRender) {
				t.Errorf("%s: %+v", kind, k)
			}
		}
	}
}

// TestVLLM checks what a simulated vLLM is found to be.
func TestVLLM(t *testing.T) {
	r, err := ask(t, sim.Options{Models: []string{"other", "openai/gpt-oss-20b"}, MaxModelLen: 4096}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Program() != "vLLM "+sim.Version || r.Context != 4096 || r.Model != "openai/gpt-oss-20b" || r.Metrics == 0 ||
		r.Load.Running != 0 || r.Load.Waiting != 0 || r.Load.Cache != 0 || r.Texts.Same != 50 || r.Texts.All() != 50 || r.Problem() != "" {
		t.Errorf("got %+v, problem %q", r, r.Problem())
	}
	k := r.Kind()
	if k == nil || k.Name != contract.VLLM || !k.Expected() || k.Counted != k.Prompt || k.TagProblem != "" {
		t.Errorf("got the kind %+v", k)
	}
}

// TestPrograms checks how programs are recognised. These servers do not answer a request of the filter's.
func TestPrograms(t *testing.T) {
	for name, tt := range map[string]struct {
		pages           map[string]http.HandlerFunc
		program, family string
		problem         string
	}{
		"SGLang": {map[string]http.HandlerFunc{
			"/v1/models":   says(200, `{"data":[{"id":"m","owned_by":"sglang","max_model_len":7}]}`),
			"/model_info":  says(200, `{"model_path":"/m","model_type":"gpt_oss"}`),
			"/server_info": says(200, `{"version":"0.5"}`),
		}, "SGLang 0.5", "gpt_oss", "it answers no request for a completion; as sglang: /generate answers 404"},
		"an older SGLang with another model": {map[string]http.HandlerFunc{
			"/v1/models":  says(200, `{"data":[{"id":"m"}]}`),
			"/model_info": says(404, ""), "/get_model_info": says(200, `{"model_path":"/m","model_type":"llama"}`),
			"/server_info": says(404, ""), "/get_server_info": says(200, `{"version":"0.4"}`),
		}, "SGLang 0.4", "llama", `its model is of the type "llama"`},
		"llama.cpp": {map[string]http.HandlerFunc{
			"/v1/models": recorded(t, "models"), "/props": recorded(t, "props"), "/model_info": says(404, ""),
		}, "llama.cpp b11434-pypi", "", "it answers no request for a completion; as llamacpp: /completion answers 404"},
		"Ollama": {map[string]http.HandlerFunc{
			"/v1/models":   says(200, `{"data":[{"id":"gpt-oss:20b","owned_by":"library"}]}`),
			"/api/version": says(200, `{"version":"0.12.3"}`),
		}, "Ollama 0.12.3", "", "it answers no request for a completion"},
		"TensorRT-LLM": {map[string]http.HandlerFunc{
			"/v1/models": says(200, `{"data":[{"id":"m","owned_by":"tensorrt_llm"}]}`),
			"/version":   says(200, `{"version":"1.2.0"}`),
		}, "TensorRT-LLM 1.2.0", "", "it answers no request for a completion"},
		"vLLM without an owner": {map[string]http.HandlerFunc{
			"/v1/models": says(200, `{"data":[{"id":"m"}]}`), "/version": says(200, `{"version":"0.10.2"}`),
		}, "vLLM 0.10.2", "", "it answers no request for a completion"},
		"a gateway": {map[string]http.HandlerFunc{
			"/v1/models": says(200, `{"data":[{"id":"m","owned_by":"harmony-edge"}]}`),
		}, "Harmony Edge", "", "it is a Harmony Edge gateway"},
		"no models": {map[string]http.HandlerFunc{"/v1/models": says(200, `{"data":[]}`)}, "unknown", "",
			"it lists no model"},
		"no API at all": {map[string]http.HandlerFunc{"/v1/models": says(404, "<html>")}, "unknown", "", "it lists no model"},
		"a web page":    {map[string]http.HandlerFunc{"/v1/models": says(200, "<html>")}, "unknown", "", "it lists no model"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/model_info", "/get_model_info", "/props", "/api/version", "/version",
				contract.CompletionsPath, engine.TokenizePath} {
				if tt.pages[path] == nil {
					tt.pages[path] = says(404, "")
				}
			}
			r, err := ask(t, sim.Options{}, tt.pages)
			if err != nil {
				t.Fatal(err)
			}
			if r.Program() != tt.program || r.ModelType != tt.family ||
				!strings.HasPrefix(r.Problem(), tt.problem) {
				t.Errorf("got %+v, problem %q", r, r.Problem())
			}
		})
	}
}

// recorded serves a response of llama.cpp's real server.
func recorded(t *testing.T, name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		f, err := os.Open("../../e2e/llamacpp/testdata/" + name + ".response")
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		response, err := http.ReadResponse(bufio.NewReader(f), nil)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(w, response.Body)
	}
}

// TestBadAnswers checks completions that the gateway cannot use. The texts of servers are shortened, and have no
// control characters.
func TestBadAnswers(t *testing.T) {
	event := func(data string) string { return "data: " + data + "\n\n" }
	const ids = `{"choices":[{"index":0,"text":"","token_ids":[200005],"finish_reason":"length"}]}`
	for name, tt := range map[string]struct {
		status       int
		answer, want string
	}{
		"a web page":   {200, "<html>", "its answer is not a stream of this kind"},
		"an error":     {400, `{"error":{"message":"no \u001b[31m"}}`, "/v1/completions answers 400: no \ufffd[31m"},
		"a long error": {500, `{"error":"` + strings.Repeat("é", 1000) + `"}`, "/v1/completions answers 500: éé"},
		"a late error": {200, event(`{"error":{"message":"out of memory"}}`), "its answer is an error: out of memory"},
		"a body error": {200, `{"error":{"message":"no"}}`, "its answer is an error: no"},
		"only text": {200, event(`{"choices":[{"index":0,"text":"Hi","finish_reason":"length"}]}`) + event("[DONE]"),
			""},
		"a cut stream": {200, event(ids)[:40], "its answer is not a stream of this kind, or breaks off"},
		"wrong types":  {200, event(`{"choices":7}`), "its answer is not a stream of this kind"},
		"too much":     {200, strings.Repeat("x", maxAnswer+1), "it answers more than 4 MiB"},
		"text for ids": {200, event(ids) + event(`{"choices":[],"usage":{"prompt_tokens":3}}`) + event("[DONE]"),
			"it counts 3 tokens"},
		"compressed":      {200, "\x1f\x8b\x08\x00", "its answer is not a stream of this kind"},
		"nothing":         {200, "", "its answer is not a stream of this kind"},
		"another's event": {200, event(`{"content":"a","tokens":[1],"stop":true}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ask(t, sim.Options{}, map[string]http.HandlerFunc{contract.CompletionsPath: says(tt.status, tt.answer)})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(r.Kinds, func(k Kind) bool { return k.Name == contract.VLLM })
			if got := r.Kinds[i].Problem; got == "" || !strings.HasPrefix(got, tt.want) || len(got) > 400 {
				t.Errorf("the problem is %q, want %q", got, tt.want)
			}
			// A server that answers in text may do as a server of text.
			if usable := r.Problem() == ""; usable != (name == "only text") {
				t.Errorf("usable: %v", usable)
			}
		})
	}
}

// TestText checks servers that take and give text.
func TestText(t *testing.T) {
	for _, kind := range []string{sim.Text, sim.Ollama} {
		r, err := ask(t, sim.Options{Kind: kind}, nil)
		if err != nil {
			t.Fatal(err)
		}
		k := r.Kind()
		if k == nil || k.Name != kind || k.StructuralTags || !k.Expected() || len(k.Tokens) != 0 {
			t.Fatalf("%s: got %+v", kind, r.Kinds)
		}
		if !strings.Contains(k.Text, "user wants an answer") {
			t.Errorf("%s: the text is %q", kind, k.Text)
		}
	}
}

// TestOtherModel checks a server of another model. It takes ids and conversations, and is used by conversations.
func TestOtherModel(t *testing.T) {
	chats := sim.New(sim.Options{Kind: sim.Chat})
	t.Cleanup(chats.Close)
	chat := map[string]http.HandlerFunc{contract.ChatPath: chats.Handler().ServeHTTP}
	for name, tt := range map[string]struct {
		options sim.Options
		pages   map[string]http.HandlerFunc
		want    string
	}{
		"gpt-oss":            {sim.Options{}, nil, contract.VLLM},
		"another vocabulary": {sim.Options{OtherVocabulary: true}, nil, contract.Chat},
		"another type": {sim.Options{Kind: sim.SGLang}, map[string]http.HandlerFunc{
			"/model_info": says(200, `{"model_path":"/m","model_type":"qwen3"}`)}, contract.Chat},
		"other text": {sim.Options{Kind: sim.Text}, map[string]http.HandlerFunc{contract.CompletionsPath: says(200,
			`data: {"choices":[{"index":0,"text":"Hello!","finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")}, contract.Chat},
	} {
		t.Run(name, func(t *testing.T) {
			pages := maps.Clone(chat)
			maps.Copy(pages, tt.pages)
			r, err := ask(t, tt.options, pages)
			if err != nil {
				t.Fatal(err)
			}
			if k := r.Kind(); k == nil || k.Name != tt.want || r.Problem() != "" ||
				(r.Chat != nil) != (tt.want == contract.Chat) {
				t.Errorf("got %+v, problem %q", r.Kinds, r.Problem())
			}
		})
	}
}

// TestLegacyVLLM checks that an old vLLM is found to be one.
func TestLegacyVLLM(t *testing.T) {
	r, err := ask(t, sim.Options{Kind: sim.VLLMLegacy}, nil)
	if err != nil {
		t.Fatal(err)
	}
	k := r.Kind()
	if k == nil || k.Name != contract.VLLMLegacy || r.Version != sim.LegacyVersion || k.Counted != k.Prompt ||
		!k.Expected() || r.Problem() != "" {
		t.Errorf("got %+v, problem %q", r, r.Problem())
	}
	if k := r.Kinds[0]; k.Name != contract.VLLM || !strings.Contains(k.Problem, "token ids") {
		t.Errorf("as %s: %q", k.Name, k.Problem)
	}
}

// refusesTags is a server that answers with an error to a tag, and with a token to everything else.
func refusesTags(failure, answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "structural_tag") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":`+failure+`}`)
			return
		}
		_, _ = io.WriteString(w, answer)
	}
}

// TestTag checks a server that ignores structural tags, and one that refuses them.
func TestTag(t *testing.T) {
	const ids = "data: {\"choices\":[{\"index\":0,\"token_ids\":[200005],\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	for want, page := range map[string]http.HandlerFunc{
		"it ignores structural tags":                               says(200, ids),
		"/v1/completions answers 400: what is structured_outputs?": refusesTags(`"what is structured_outputs?"`, ids),
		"/v1/completions answers 400: Invalid grammar specification: 'triggers'; start vLLM without the structured " +
			"outputs backend guidance": refusesTags(`{"message":"Invalid grammar specification: 'triggers'"}`, ids),
	} {
		r, err := ask(t, sim.Options{}, map[string]http.HandlerFunc{contract.CompletionsPath: page})
		if err != nil {
			t.Fatal(err)
		}
		if k := r.Kind(); k == nil || k.TagProblem != want || r.Problem() != "" {
			t.Errorf("got %+v, want %q", k, want)
		}
	}
}

// TestTexts checks the comparison with a server's own tokenizer.
func TestTexts(t *testing.T) {
	tokens := o200k.Tokenizer()
	for name, tt := range map[string]struct {
		encode             func(text string) []uint32
		same, split, wrong int
	}{
		"the same": {func(text string) []uint32 { return tokens.AppendEncode(nil, text) }, 50, 0, 0},
		"other splits": {func(text string) []uint32 {
			var ids []uint32
			for i := range len(text) { // each byte is a token
				ids = tokens.AppendEncode(ids, text[i:i+1])
			}
			return ids
		}, 0, 50, 0},
		"other words": {func(string) []uint32 { return []uint32{1, 2, 3} }, 0, 0, 50},
		"nothing":     {func(string) []uint32 { return nil }, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ask(t, sim.Options{}, map[string]http.HandlerFunc{engine.TokenizePath: func(w http.ResponseWriter,
				r *http.Request) {
				var q struct{ Prompt string }
				if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Prompt == "" {
					t.Errorf("the request has no text: %v", err)
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"tokens": tt.encode(q.Prompt)})
			}})
			if err != nil {
				t.Fatal(err)
			}
			if c := r.Texts; c.Same != tt.same || c.Split != tt.split || c.Other != tt.wrong ||
				(c.Example == "") != (c.Split+c.Other == 0) {
				t.Errorf("got %+v", c)
			}
			if refused := strings.HasPrefix(r.Problem(),
				"its vocabulary is another: \"Hello, world!\" has the ids [1 2 3] there"); refused !=
				(tt.wrong > 0) {
				t.Errorf("the problem is %q", r.Problem())
			}
		})
	}
}

// TestNoServer checks a server that is not there, and one that requires a key.
func TestNoServer(t *testing.T) {
	if _, err := ask(t, sim.Options{APIKey: "k"}, nil); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("without a key: %v", err)
	}
	server := httptest.NewServer(nil)
	server.Close()
	_, err := Server(t.Context(), Options{URL: server.URL, Transport: &http.Transport{}})
	if err == nil || errors.Is(err, ErrUnauthorized) {
		t.Errorf("without a server: %v", err)
	}
}

// TestLongSGLang checks an answer with all the tokens that may be asked for, of an SGLang whose events repeat those
// before them.
func TestLongSGLang(t *testing.T) {
	const end = "<|end|><|start|>assistant<|channel|>final<|message|>{\"probe\":1}<|return|>"
	long := o200k.Tokenizer().AppendEncodeSpecial(nil, "<|channel|>analysis<|message|>"+
		strings.Repeat(" internationalization", maxTagTokens))
	tail := o200k.Tokenizer().AppendEncodeSpecial(nil, end)
	all := append(long[:maxTagTokens-len(tail)], tail...)
	r, err := ask(t, sim.Options{Kind: sim.SGLang}, map[string]http.HandlerFunc{
		"/generate": func(w http.ResponseWriter, r *http.Request) {
			var request struct {
				Sampling struct {
					Tokens int `json:"max_new_tokens"`
				} `json:"sampling_params"`
			}
			if json.NewDecoder(r.Body).Decode(&request) != nil {
				t.Error("the request is not JSON")
			}
			w.Header().Set("Content-Type", "text/event-stream")
			for n := 1; n <= request.Sampling.Tokens; n++ {
				finish := "null"
				if n == request.Sampling.Tokens {
					finish = `{"type":"stop"}`
				}
				ids, _ := json.Marshal(all[:n])
				text, _ := json.Marshal(o200k.Tokenizer().DecodeString(all[:n]))
				fmt.Fprintf(
					w, "data: {\"text\":%s,\"output_ids\":%s,\"meta_info\":{\"finish_reason\":%s,\"completion_tokens\":%d}}\n\n",
					text, ids, finish, n)
			}
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
		}})
	if err != nil {
		t.Fatal(err)
	}
	if k := r.Kind(); k == nil || k.Name != contract.SGLang || k.TagProblem != "" {
		t.Errorf("got %+v", k)
	}
}

//go:build rustfrontend

package rustfrontend_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/rustfrontend"
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// frontEndReady is how long vLLM's front end may take to serve on a busy machine.
const frontEndReady = time.Minute

// rustPlace is the shipped filter in Envoy before vLLM's Rust front end, whose engine changes from case to case.
type rustPlace struct {
	host   *hosts.Host
	server *rustfrontend.FrontEnd
	engine atomic.Pointer[sim.Server]
}

func runFrontEnd(t *testing.T, contextLength int) *rustPlace {
	t.Helper()
	p := &rustPlace{}
	var err error
	p.server, err = rustfrontend.Start(t.Context(), rustfrontend.Options{
		Path: filepath.Join(lab.Tool(t, "HARMONY_VLLM"), "vllm", "vllm-rs"), Models: []string{lab.Model},
		ContextLength: contextLength,
		Model:         p.engine.Load, ReadyTimeout: frontEndReady,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.server.Stop)
	return p
}

// TestRustFrontEndSuite runs the behaviour suite on Envoy with the filter that ships, before vLLM's real Rust front
// end. Its engine answers as the case's simulated server does. The client must see what the case wants.
func TestRustFrontEndSuite(t *testing.T) {
	p := runFrontEnd(t, 0)
	ran, left := 0, map[string]int{}
	cases.Each(t, func(t *testing.T, c *cases.Case, mode string) *rustPlace {
		config, err := c.Config(p.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		config.Mode = mode
		if mode != contract.ModeFull {
			return &rustPlace{}
		}
		return &rustPlace{host: lab.RunEnvoy(t, config), server: p.server}
	}, func(t *testing.T, on *rustPlace, c *cases.Case, mode string) {
		if mode != contract.ModeFull {
			return
		}
		if why := notOfRustFrontEnd(c); why != "" {
			left[why]++
			return
		}
		ran++
		got := runBehindRust(t, p, on.host, c)
		want := cases.Seen{View: c.Member("want"), Prompt: c.Member("prompt")}
		if refused := refusedByRust(c); refused != "" {
			want = cases.Seen{View: refused, Prompt: "none\n"}
		}
		cases.Compare(t, "envoy before vllm-rs", got, want)
		if err := p.server.Failed(); err != nil {
			t.Fatalf("the engine: %v", err)
		}
	})
	t.Logf("%d cases have run; left out: %v", ran, left)
	if ran < 250 {
		t.Errorf("only %d cases have run", ran)
	}
}

// notOfRustFrontEnd says why a case has nothing to do with the front end; empty for all others.
func notOfRustFrontEnd(c *cases.Case) string {
	switch {
	case c.Settings["server_fault"] != "" || strings.Contains(c.Member("script"), `"fault"`):
		return "faults that the simulated server plays"
	case c.Settings["stall_timeout_ms"] != "":
		return "a server that falls silent"
	case c.Settings["server_context"] != "":
		return "a context of another length, see TestRustFrontEndContext"
	case c.Settings["raw_prompts"] == "allow":
		return "raw prompts, which the filter does not touch"
	}
	return ""
}

// refusedByRust is what the client sees of a case that asks for several choices of a server that was able to give them;
// empty for all others.
func refusedByRust(c *cases.Case) string {
	var asked struct{ N int }
	if json.Unmarshal(c.Body, &asked) != nil || asked.N < 2 || !strings.HasPrefix(c.Member("want"), "200\n") {
		return ""
	}
	return fmt.Sprintf("400\ncontent-type: application/json\n\n"+
		`{"error":{"message":"The model's inference server (vllm) does not generate %d choices in one request: it says `+
		`\"Only n=1 is supported.\" `+
		`Send one request for each choice.","type":"invalid_request_error","param":"n","code":"choices_not_supported"}}`+"\n",
		asked.N)
}

func runBehindRust(t *testing.T, p *rustPlace, host *hosts.Host, c *cases.Case) cases.Seen {
	t.Helper()
	engine, err := c.Server(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	p.engine.Store(engine)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	view, err := c.Send(client, host.URL)
	if err != nil {
		t.Fatal(err)
	}
	out := cases.Seen{View: view, Prompt: "none\n"}
	for _, r := range engine.Requests() {
		if len(r.PromptIDs) > 0 {
			out.IDs, out.Prompt = r.PromptIDs, lab.Vocabulary.DecodeString(r.PromptIDs)+"\n"
		}
	}
	return out
}

// beforeRust is the filter in Envoy, which believes that the model's context is the default, before a front end.
func beforeRust(t *testing.T, p *rustPlace) *hosts.Host {
	t.Helper()
	c := config.Default()
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	lab.AddModel(c, lab.Model, p.server.URL)
	return lab.RunEnvoy(t, c)
}

// TestRustFrontEndGivesUp lets the engine fall silent in mid-answer. When the client leaves, or a stop text has come,
// the front end must have aborted the request at the engine.
func TestRustFrontEndGivesUp(t *testing.T) {
	p := runFrontEnd(t, 0)
	host := beforeRust(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), frontEndReady)
	defer cancel()
	text := `{"text":"<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>final<|message|>One STOP ` +
		`two three four.<|return|>"}`
	for _, tt := range []struct {
		name, path, body string
		hold             int // tokens
		leave            bool
	}{
		{"the client of a Chat stream leaves", lab.ChatPath, `"stream":true,"messages":[{"role":"user","content":"Hi"}]`, 9,
			true},
		{"the client of a whole Chat answer leaves", lab.ChatPath, `"messages":[{"role":"user","content":"Hi"}]`, 9, true},
		{"the client of a Responses stream leaves", lab.ResponsesPath, `"stream":true,"input":"Hi"`, 9, true},
		{"the client of a whole response leaves", lab.ResponsesPath, `"input":"Hi"`, 9, true},
		{"a stop text in a Chat stream", lab.ChatPath,
			`"stream":true,"stop":"STOP","messages":[{"role":"user","content":"Hi"}]`,
			13, false},
		{"a stop text in a whole Chat answer", lab.ChatPath, `"stop":"STOP","messages":[{"role":"user","content":"Hi"}]`, 13,
			false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script, err := sim.ReadScript(strings.NewReader(text), lab.Vocabulary)
			if err != nil {
				t.Fatal(err)
			}
			engine := sim.New(sim.Options{Models: []string{lab.Model}, Script: script, HoldAfter: tt.hold})
			t.Cleanup(engine.Close)
			p.engine.Store(engine)
			before := p.server.Aborts()
			asked, leave := context.WithCancel(ctx)
			defer leave()
			request, err := http.NewRequestWithContext(
				asked, http.MethodPost, host.URL+tt.path, strings.NewReader(`{"model":"`+lab.Model+`",`+tt.body+`}`))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("content-type", "application/json")
			ended := make(chan error, 1)
			go func() {
				response, err := http.DefaultClient.Do(request)
				if err == nil {
					err = readToLastWord(response)
				}
				ended <- err
			}()
			// So much has been generated, and no more will be.
			if _, err := engine.Await(ctx, func(all []sim.Request) bool {
				return len(all) == 1 &&
					all[0].TokensSent >= tt.hold
			}); err != nil {
				t.Fatalf("the engine has not come so far: %v", err)
			}
			if tt.leave {
				leave()
			}
			if err := p.server.AwaitAborts(ctx, before+1); err != nil {
				t.Fatal(err)
			}
			if all, err := engine.Await(ctx, func(all []sim.Request) bool { return all[0].Done }); err != nil ||
				!all[0].Aborted {
				t.Errorf("the engine's request: %+v, %v", all, err)
			}
			if err := <-ended; (err != nil) != tt.leave {
				t.Errorf("the client's answer ends with %v", err)
			}
			if err := p.server.Failed(); err != nil {
				t.Error(err)
			}
		})
	}
}

// readToLastWord reads an answer as clients do, which leave a Chat stream at its last word.
func readToLastWord(response *http.Response) error {
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if lines.Text()+"\n\n" == lab.LastWord {
			return nil
		}
	}
	return lines.Err()
}

// TestRustFrontEndContext has a front end whose context is shorter than the gateway believes.
func TestRustFrontEndContext(t *testing.T) {
	p := runFrontEnd(t, 80)
	host := beforeRust(t, p)
	engine := sim.New(sim.Options{Models: []string{lab.Model}, MaxModelLen: 80})
	t.Cleanup(engine.Close)
	p.engine.Store(engine)
	long := strings.Repeat("word ", 100)
	for _, tt := range []struct{ path, member, param string }{
		{lab.ChatPath, `"messages":[{"role":"user","content":"` + long + `"}]`, "messages"},
		{lab.ResponsesPath, `"input":"` + long + `"`, "input"},
	} {
		for _, stream := range []bool{false, true} {
			a := lab.Ask(lab.HTTP1(t), host.URL+tt.path,
				fmt.Sprintf(`{"model":%q,"stream":%v,%s}`, lab.Model, stream, tt.member))
			lab.WantRefused(t, a, 400, "context_length_exceeded")
			if !strings.Contains(a.Body, `"message":"This model's maximum context length is 80 tokens. However, your `+
				`prompt contains `) ||
				!strings.Contains(a.Body, `"param":"`+tt.param+`"`) {
				t.Errorf("%s", a.Body)
			}
		}
	}
}

// TestRustFrontEndParams wants everything at the engine that a client has asked of the sampling.
func TestRustFrontEndParams(t *testing.T) {
	p := runFrontEnd(t, 0)
	host := beforeRust(t, p)
	engine := sim.New(sim.Options{Models: []string{lab.Model}})
	t.Cleanup(engine.Close)
	p.engine.Store(engine)
	a := lab.Ask(lab.HTTP1(t), host.URL+lab.ChatPath,
		`{"model":"`+lab.Model+`","messages":[{"role":"user","content":"Hi"}],"max_tokens":77,"temperature":0.25,
		"top_p":0.5,"presence_penalty":1.5,"frequency_penalty":-0.5,"seed":7,"logit_bias":{"17":-5},"logprobs":true,"top_logprobs":2,"min_p":0.125,"top_k":40,
		"repetition_penalty":1.25,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object",
		"properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}}}`)
	if a.Status != 200 {
		t.Fatalf("got %+v", a)
	}
	got := p.server.Params()
	for name, want := range map[string]any{
		"max_tokens": 77, "temperature": 0.25, "top_p": 0.5, "presence_penalty": 1.5, "frequency_penalty": -0.5, "seed": 7,
		"logprobs": 2, "min_p": 0.125,
		"top_k": 40, "repetition_penalty": 1.25, "logit_bias": map[string]any{"17": -5.0},
	} {
		if fmt.Sprint(got[name]) != fmt.Sprint(want) {
			t.Errorf("%s is %v at the engine, want %v", name, got[name], want)
		}
	}
	held, _ := got["structured_outputs"].(map[string]any)
	if tag, _ := held["structural_tag"].(string); !strings.Contains(tag, `"required":["a"]`) {
		t.Errorf("structured_outputs is %v at the engine", held)
	}
}

// TestPythonRequestModel gives everything that the gateway makes of the suite's requests to the request models of
// vLLM's Python front end, out of the same wheel: they must accept all of it, and know every member.
func TestPythonRequestModel(t *testing.T) {
	for kind, model := range map[string]string{
		contract.VLLM: "CompletionRequest", contract.VLLMGenerate: "GenerateRequest", contract.Chat: "ChatCompletionRequest",
	} {
		t.Run(kind, func(t *testing.T) { testRequestModel(t, kind, model) })
	}
}

func testRequestModel(t *testing.T, kind, model string) {
	var names []string
	var bodies bytes.Buffer
	server, ok := backend.Named(kind)
	if !ok {
		t.Fatalf("no kind %s", kind)
	}
	for _, c := range cases.All(t) {
		config, err := c.Config("http://127.0.0.1:9") // never reached
		if err != nil {
			t.Fatal(err)
		}
		config.Mode = contract.ModeFull
		action, _ := c.Begin(exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary,
			Kind: server}))
		if kind == contract.Chat && c.API() != "responses" {
			continue // a Chat request goes on as the client wrote it
		}
		if action.Forward != nil && action.Forward.Body != nil {
			names = append(names, c.Name)
			bodies.Write(append(bytes.Clone(action.Forward.Body), '\n'))
		}
	}
	python := "HARMONY_ORACLE_PYTHON"
	if kind == contract.Chat {
		python = "HARMONY_OPENAI_PYTHON" // messages have the types of OpenAI's library
	}
	ask := exec.CommandContext(t.Context(), lab.Tool(t, python), "request_model.py",
		lab.Tool(t, "HARMONY_VLLM"), model)
	ask.Stdin = &bodies
	answers, err := ask.Output()
	if err != nil {
		t.Fatal(commandError(err))
	}
	said := strings.Split(strings.TrimSpace(string(answers)), "\n")
	if len(said) != len(names) || len(names) < 250 && kind != contract.Chat || len(names) < 100 {
		t.Fatalf("%d answers to %d requests", len(said), len(names))
	}
	for i, name := range names {
		if said[i] != "[]" && said[i] != `["verbosity"]` { // which vLLM ignores
			t.Errorf("%s: vLLM does not know, or refuses: %s", name, said[i])
		}
	}
	t.Logf("%d requests are as %s wants them", len(names), model)
}

// commandError adds what a failed command has said.
func commandError(err error) error {
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return fmt.Errorf("%w: %s", err, failed.Stderr)
	}
	return err
}

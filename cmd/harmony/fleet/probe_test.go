package fleet

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// probeSim runs harmony probe with a simulated server.
func probeSim(t *testing.T, o sim.Options, flags ...string) (code int, stdout, stderr, url string) {
	t.Helper()
	s := sim.New(o)
	t.Cleanup(s.Close)
	url, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var out, failed bytes.Buffer
	code = run(t.Context(), append([]string{"probe", url}, flags...), &out, &failed)
	return code, out.String(), failed.String(), url
}

// TestProbe checks what is printed about a server, and that the printed configuration is valid and is the server's.
func TestProbe(t *testing.T) {
	t.Setenv("PROBE_KEY", "k")
	code, out, failed, url := probeSim(t, sim.Options{
		Models: []string{"openai/gpt-oss-120b"}, MaxModelLen: 4096, APIKey: "k"},
		"--key-env", "PROBE_KEY")
	if code != 0 || failed != "" {
		t.Fatalf("status %d, %s", code, failed)
	}
	for _, want := range []string{url + "\n", "vLLM " + sim.Version + "\n", "4096 tokens\n",
		"yes: takes ids and returns ids; " +
			"its first token is <|channel|>\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not there:\n%s", want, out)
		}
	}
	_, file, _ := strings.Cut(out, "A configuration file for it:\n\n")
	c, err := config.Parse("printed", []byte(file))
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	m := c.Filter().Models[0]
	if m.Name != "gpt-oss-120b" || m.ServerModel != "openai/gpt-oss-120b" || m.ContextLength != 4096 ||
		m.Server != contract.VLLM || c.Pools[0].Servers[0] != url ||
		c.Secrets[0].Env != "PROBE_KEY" {
		t.Errorf("the printed configuration is\n%s", file)
	}
}

// TestProbeKinds checks that a server of each kind is found to be of that kind, and that the printed configuration is
// valid.
func TestProbeKinds(t *testing.T) {
	for _, kind := range sim.Kinds() {
		if kind == sim.Chat || kind == sim.VLLMRender {
			continue // before gpt-oss others are better
		}
		t.Run(kind, func(t *testing.T) {
			code, out, failed, _ := probeSim(t, sim.Options{Kind: kind, TextSpecials: true})
			_, file, _ := strings.Cut(out, "A configuration file for it:\n\n")
			file, _, _ = strings.Cut(file, "\nThe same without a file:")
			c, err := config.Parse("printed", []byte(file))
			if err == nil {
				err = c.Validate()
			}
			if code != 0 || err != nil || c.Pools[0].Kind != kind {
				t.Errorf("status %d, %v\n%s%s", code, err, out, failed)
			}
		})
	}
}

// TestProbeCommand checks the printed command.
func TestProbeCommand(t *testing.T) {
	_, out, _, url := probeSim(t, sim.Options{Models: []string{"openai/gpt-oss-120b"}})
	want := "\n  harmony up --backend vllm=" + url + " --model gpt-oss-120b --server-model openai/gpt-oss-120b\n"
	if !strings.HasSuffix(out, want) {
		t.Errorf("it does not end with %q:\n%s", want, out)
	}
	if _, out, _, _ = probeSim(t, sim.Options{Models: []string{"a b"}}); strings.Contains(out, "harmony up") ||
		!strings.Contains(out, "name: a-b\n    pool: gpus\n    server_model: \"a b\"\n") {
		t.Errorf("a name with a space:\n%s", out)
	}
}

// TestProbeText checks what is printed for a server that takes prompts as text: the command and the file accept them.
func TestProbeText(t *testing.T) {
	code, out, failed, url := probeSim(t, sim.Options{Kind: sim.Text})
	if code != 0 || failed != "" {
		t.Fatalf("status %d, %s", code, failed)
	}
	for _, want := range []string{"    kind: text\n    accept_text_prompts: true\n",
		"\n  harmony up --backend text=" + url + " --model gpt-oss-120b --accept-text-prompts\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not there:\n%s", want, out)
		}
	}
	_, file, _ := strings.Cut(out, "A configuration file for it:\n\n")
	file, _, _ = strings.Cut(file, "\nThe same")
	c, err := config.Parse("printed", []byte(file))
	if err == nil {
		err = c.Validate()
	}
	if err != nil || c.Filter().Models[0].Server != contract.Text {
		t.Errorf("%v\n%s", err, file)
	}
}

// TestProbeLlamaCPP checks what is printed about a server that takes ids and returns text. The server closes the
// connection of a stream when it is used again.
func TestProbeLlamaCPP(t *testing.T) {
	code, out, failed, _ := probeSim(t, sim.Options{Kind: sim.LlamaCPP})
	if code != 0 || !strings.Contains(out, "yes: takes ids and returns text, such as ") ||
		!strings.Contains(out, "the same ids for 50 of 50 texts") ||
		strings.Count(out, " answers 404: File Not Found") != len(contract.ServerKinds())-1 {
		t.Errorf("status %d, %s\n%s", code, failed, out)
	}
}

// TestProbeReport checks that the report has the facts and the requests, and neither the address nor the key.
func TestProbeReport(t *testing.T) {
	t.Setenv("PROBE_KEY", "a-secret-key")
	code, out, _, url := probeSim(t, sim.Options{APIKey: "a-secret-key"}, "--key-env", "PROBE_KEY", "--report")
	if code != 0 {
		t.Errorf("status %d", code)
	}
	for _, want := range []string{"| server | vLLM ", `its first token is \<\|channel\|> |`, "| usable | yes |",
		"| POST /v1/completions | 200 |"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not there:\n%s", want, out)
		}
	}
	for _, confidential := range []string{strings.TrimPrefix(url, "http://"), "127.0.0.1", "a-secret-key", "PROBE_KEY"} {
		if strings.Contains(out, confidential) {
			t.Errorf("the report has %q:\n%s", confidential, out)
		}
	}
}

// TestProbeFails checks exit codes, and that errors say what to do.
func TestProbeFails(t *testing.T) {
	code, out, failed, _ := probeSim(t, sim.Options{Fault: sim.Fault{Kind: sim.FaultStatus, Status: 503}})
	if code != cli.ExitFailed || !strings.Contains(
		failed, "it answers no request for a completion; as vllm: /v1/completions answers 503") ||
		!strings.Contains(failed, "; as text: /v1/completions answers ") ||
		strings.Contains(out, "models:") {
		t.Errorf("a broken server: status %d, %s%s", code, out, failed)
	}
	if code, out, failed, _ := probeSim(t, sim.Options{OtherVocabulary: true}); code != cli.ExitFailed ||
		!strings.Contains(failed, `its vocabulary is another: "Hello, world!" has the ids [`) ||
		!strings.Contains(out, "the same ids for 0 of 50 texts; 50 have ids of another vocabulary") ||
		strings.Contains(out, "models:\n") {
		t.Errorf("another vocabulary: status %d, %s%s", code, out, failed)
	}
	if code, _, failed, _ := probeSim(t, sim.Options{APIKey: "k"}); code != cli.ExitFailed ||
		!strings.Contains(failed, "name that with --key-env") {
		t.Errorf("without its key: status %d, %s", code, failed)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"probe"}, "one URL is expected"},
		{[]string{"probe", "vllm=http://h"}, "is not a URL; write http://host:port"},
		{[]string{"probe", "http://h", "--key-env", "NO_SUCH_VARIABLE"},
			"the environment has no NO_SUCH_VARIABLE; export it"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), tt.args, &out, &out); code != cli.ExitUsage || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%q: status %d, %s", tt.args, code, &out)
		}
	}
}

// TestProbeChat checks what is printed about servers that take conversations: where their reasoning is, what they
// refuse, and the settings for it.
func TestProbeChat(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options sim.Options
		path    string
		want    []string
	}{
		{"members", sim.Options{}, "", []string{"  reasoning              in reasoning_content\n",
			"  earlier reasoning      accepted in reasoning_content\n", "  tool calls             yes\n",
			"  JSON schemas           yes\n", "  logprobs               yes\n", "  token ids              yes\n",
			"  token counts           yes\n", "    server_model: qwen/qwen3\npools:\n", "    health: { path: /health }\n",
			"harmony up --backend chat=URL --model qwen3 --server-model qwen/qwen3\n"}},
		{"the other member", sim.Options{ChatForm: sim.ChatReasoning}, "", []string{
			"  reasoning              in reasoning\n"}},
		{"both", sim.Options{ChatForm: sim.ChatBoth}, "", []string{"  reasoning              in reasoning_content\n"}},
		{"tags", sim.Options{ChatForm: sim.ChatThink}, "", []string{"  reasoning              in think tags\n",
			"    chat:\n      reasoning_history: think_tags\npools"}},
		{"opened", sim.Options{ChatForm: sim.ChatOpened}, "", []string{
			"  reasoning              in think tags, of which the template writes the first\n",
			"    chat:\n      reasoning_history: think_tags\n      think_tags: opened\n"}},
		{"Harmony", sim.Options{ChatForm: sim.ChatHarmony}, "", []string{"  reasoning              in Harmony text\n"}},
		{"no developer", sim.Options{NoDeveloper: true}, "", []string{
			"  developer role         no: /v1/chat/completions answers 4"}},
		{"whole answers", sim.Options{ChatWhole: true}, "", []string{"  reasoning              in reasoning_content\n",
			"  tool calls             yes\n"}},
		{"a hosted API", sim.Options{APIPath: "/openai/v1", OpenAIOnly: true}, "/openai/v1/", []string{
			"  token ids          no: /openai/v1/chat/completions answers 400",
			"    chat:\n      reasoning_history: none\npools"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Kind, tt.options.Models = sim.Chat, []string{"qwen/qwen3"}
			s := sim.New(tt.options)
			t.Cleanup(s.Close)
			url, err := s.Start("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var printed, failed bytes.Buffer
			code := run(t.Context(), []string{"probe", url + tt.path}, &printed, &failed)
			out := printed.String()
			if code != 0 || failed.String() != "" {
				t.Fatalf("status %d, %s\n%s", code, &failed, out)
			}
			for _, want := range append(tt.want, "    kind: chat\n    servers:\n      - URL") {
				if want = strings.Replace(want, "URL", url, 1); !strings.Contains(out, want) {
					t.Errorf("%q is not there:\n%s", want, out)
				}
			}
			_, file, _ := strings.Cut(out, "A configuration file for it:\n\n")
			file, _, _ = strings.Cut(file, "\nThe same without a file:")
			c, err := config.Parse("printed", []byte(file))
			if err == nil {
				err = c.Validate()
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if m := c.Filter().Models[0]; m.APIPath != cmp.Or(tt.options.APIPath, "/v1") || m.ServerModel != "qwen/qwen3" {
				t.Errorf("got %+v", m)
			}
		})
	}
}

// TestProbeRender: a vLLM that renders gets a whole configuration of the kind vllm-render, and not of the kind chat.
func TestProbeRender(t *testing.T) {
	mux := http.NewServeMux()
	page := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	}
	page("/v1/models", `{"data":[{"id":"Qwen/Qwen3-30B-A3B","owned_by":"vllm","max_model_len":4096}]}`)
	page("/tokenizer_info", `{"added_tokens_decoder":{"1":"<|im_end|>","2":"<tool_call>"}}`)
	page("/version", `{"version":"0.32.0"}`)
	page(contract.RenderPath, `{"token_ids":[1],"sampling_params":{}}`)
	page(contract.ChatPath, `data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}`+
		"\n\ndata: [DONE]\n\n")
	page(contract.InferenceGeneratePath, `data: {"choices":[{"index":0,"text":"Hi","token_ids":[72,105],`+
		`"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	page("/detokenize", `{"prompt":"Call the function add with a = 2 and b = 3.<tool_call>{\"name\": \"add\", `+
		`\"arguments\": {\"a\": 2, \"b\": 3}}</tool_call>The sum is known.They want a sum.<think>"}`)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"probe", server.URL}, &stdout, &stderr)
	out, failed := stdout.String(), stderr.String()
	_, file, _ := strings.Cut(out, "A configuration file for it:\n\n")
	c, err := config.Parse("printed", []byte(file))
	if err == nil {
		err = c.Validate()
	}
	if code != 0 || err != nil || strings.Contains(out, "The same without a file") {
		t.Fatalf("status %d, %v\n%s%s", code, err, out, failed)
	}
	m := c.Filter().Models[0]
	if m.Server != contract.VLLMRender || m.Speaks != contract.SpeaksHermes || m.Chat.ThinkTags != contract.ThinkOpened ||
		strings.Join(m.ControlSpellings, " ") != "<tool_call> <|im_end|>" || m.ServerModel != "Qwen/Qwen3-30B-A3B" {
		t.Errorf("got %+v\n%s", m, out)
	}
}

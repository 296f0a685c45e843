package filtertest_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// harmony is a host with our own filter, which `make wasm` builds.
func harmony(t *testing.T, options ...filtertest.Option) *filtertest.Host {
	t.Helper()
	wasm := cmp.Or(os.Getenv("HARMONY_WASM"), "../../dist/harmony-filter.wasm")
	return filtertest.New(t, wasm, `{"schema":1,"models":[{"name":"gpt-oss-120b","server_model":"openai/gpt-oss-120b"}]}`,
		options...)
}

func ask(host *filtertest.Host) *filtertest.Exchange {
	return host.Request("POST", "/v1/chat/completions",
		`{"model":"gpt-oss-120b","stream":true,"messages":[{"role":"user","content":"What is the capital of France?"}]}`,
		"content-type", "application/json")
}

// vllm is an answer as vLLM streams it, so many tokens in a chunk.
func vllm(chunks ...[]uint32) string {
	var out strings.Builder
	for i, tokens := range chunks {
		finish := "null"
		if i == len(chunks)-1 {
			finish = `"stop"`
		}
		ids, _ := json.Marshal(tokens) // numbers can always be marshalled
		fmt.Fprintf(&out, `data: {"id":"cmpl-1","object":"text_completion","model":"openai/gpt-oss-120b",`+
			`"choices":[{"index":0,"text":"","logprobs":null,"finish_reason":%s,"token_ids":%s}]}`+"\n\n", finish, ids)
	}
	return out.String() + "data: [DONE]\n\n"
}

// answer is what the model says.
var answer = vllm(
	[]uint32{200005, 35644, 200008}, // <|channel|>analysis<|message|>
	[]uint32{41154, 13},             // Easy.
	// <|end|><|start|>assistant<|channel|>final<|message|>It
	[]uint32{200007, 200006, 173781, 200005, 17196, 200008, 3206},
	[]uint32{382, 12650}, // is Paris
	[]uint32{13, 200002}, // .<|return|>
)

// TestHarmonyRequest: the server gets token ids in place of the conversation.
func TestHarmonyRequest(t *testing.T) {
	x := ask(harmony(t))
	server := x.Server()
	var body struct {
		Model  string   `json:"model"`
		Prompt []uint32 `json:"prompt"`
	}
	if err := json.Unmarshal([]byte(server.Body()), &body); err != nil {
		t.Fatalf("%v: the server has got %s", err, server)
	}
	// <|start|>system … <|start|>assistant
	n := len(body.Prompt)
	if body.Model != "openai/gpt-oss-120b" || n < 4 || body.Prompt[0] != 200006 || body.Prompt[n-2] != 200006 ||
		body.Prompt[n-1] != 173781 {
		t.Errorf("%+v", body)
	}
	if server.Header(":path") != "/v1/completions" || server.Header("x-harmony-internal-pool") != "gpt-oss-120b" {
		t.Errorf("the server has got %s", server)
	}
}

// TestHarmonyCuts: the client gets the same wherever the server's stream is cut.
func TestHarmonyCuts(t *testing.T) {
	host := harmony(t)
	for pieces := range filtertest.Cuts(answer) {
		x := ask(host)
		x.BeginResponse(200, "content-type", "text/event-stream; charset=utf-8")
		x.SendResponse(pieces...)
		x.EndResponse()
		reasoning, content := said(t, x)
		if reasoning != "Easy." || content != "It is Paris." || x.Client().State != filtertest.Complete ||
			!strings.HasSuffix(x.Client().Body(), "data: [DONE]\n\n") {
			t.Fatalf("cut into %q: %s", pieces, x.Client())
		}
		if n := x.Callbacks().ResponseBody; n != len(pieces)+1 {
			t.Fatalf("cut into %q: the filter was called %d times", pieces, n)
		}
	}
}

// TestHarmonyStream: the client gets nothing before the first token, and then each with its chunk.
func TestHarmonyStream(t *testing.T) {
	x := ask(harmony(t))
	x.BeginResponse(200, "content-type", "text/event-stream; charset=utf-8")
	if got := x.Client(); got.State != filtertest.Nothing {
		t.Errorf("before the first token the client has got %s", got)
	}
	chunks := strings.SplitAfter(answer, "\n\n")
	x.SendResponse(chunks[:2]...)
	if got := x.Client(); got.Status != 200 || got.Header("content-type") != "text/event-stream" {
		t.Errorf("with the first tokens the client has got %s", got)
	}
	if reasoning, content := said(t, x); reasoning != "Easy." || content != "" {
		t.Errorf("%q, %q", reasoning, content)
	}
	x.SendResponse(chunks[2])
	if _, content := said(t, x); content != "It" {
		t.Errorf("%q", content)
	}
}

// TestHarmonyKilledServer: before its first token a server's end is an error with a status, later a cut, and never a
// finished answer.
func TestHarmonyKilledServer(t *testing.T) {
	chunks := strings.SplitAfter(answer, "\n\n")
	for n := range 5 {
		x := ask(harmony(t))
		x.BeginResponse(200, "content-type", "text/event-stream; charset=utf-8")
		x.SendResponse(chunks[:n]...)
		x.KillServer(filtertest.ConnectionTermination)
		got := x.Client()
		if n == 0 && (got.Status != 502 || got.State != filtertest.Complete) ||
			n > 0 && (got.State != filtertest.Reset || strings.Contains(got.Body(), "[DONE]")) {
			t.Errorf("killed after %d chunks: %s", n, got)
		}
	}
}

// TestHarmonySilentServer: a server that says nothing for stall_timeout_ms is given up, by the filter's own tick.
func TestHarmonySilentServer(t *testing.T) {
	host := harmony(t)
	x := ask(host)
	x.BeginResponse(200, "content-type", "text/event-stream; charset=utf-8")
	host.Advance(4 * time.Minute)
	if got := x.Client(); got.State != filtertest.Nothing {
		t.Errorf("after four minutes the client has got %s", got)
	}
	host.Advance(2 * time.Minute)
	if got := x.Client(); got.Status != 504 || !strings.Contains(got.Body(), `"error"`) {
		t.Errorf("after six minutes the client has got %s", got)
	}
	if got := x.Server(); got.State != filtertest.Reset {
		t.Errorf("the server's request is %s", got.State)
	}
}

// said puts the deltas of a streamed chat together.
func said(t *testing.T, x *filtertest.Exchange) (reasoning, content string) {
	t.Helper()
	for _, event := range strings.Split(x.Client().Body(), "\n\n") {
		data, ok := strings.CutPrefix(event, "data: {")
		if !ok {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct{ Reasoning, Content string }
			}
		}
		if err := json.Unmarshal([]byte("{"+data), &chunk); err != nil {
			t.Fatalf("%v: %s", err, event)
		}
		for _, c := range chunk.Choices {
			reasoning += c.Delta.Reasoning
			content += c.Delta.Content
		}
	}
	return reasoning, content
}

// TestHarmonyMisconfigured: a configuration that is wrong from the start is taken, told and counted, and lets no request
// through. A host whose environment says so does not start with it.
func TestHarmonyMisconfigured(t *testing.T) {
	const wrong, place = `{"schema":1,"models":[{"name":"gpt-oss-120b","system":{"colour":"red"}}]}`,
		"harmony: filter configuration: models[0].system.colour: unknown key"
	wasm := cmp.Or(os.Getenv("HARMONY_WASM"), "../../dist/harmony-filter.wasm")
	host := filtertest.New(t, wasm, wrong)
	for range 2 {
		x := ask(host)
		if got := x.Client(); got.Status != 503 || !strings.Contains(got.Body(), `"code":"gateway_misconfigured"`) {
			t.Errorf("the client has got %s", got)
		}
		if got := x.Server(); got.State != filtertest.Nothing {
			t.Errorf("the server has got %s", got)
		}
	}
	if log := host.Logs(); len(log) != 1 || !strings.Contains(log[0], place) {
		t.Errorf("the log has %q", log)
	}
	if n := host.Metrics()["harmony_config_errors_total"]; n != 1 {
		t.Errorf("%d are counted", n)
	}
	refuse := filtertest.Environment(map[string]string{"HARMONY_CONFIG_ERROR": "refuse"})
	if _, err := filtertest.Start(t, wasm, wrong, refuse); !errors.Is(err, filtertest.ErrRefused) ||
		!strings.Contains(err.Error(), place) {
		t.Errorf("it starts: %v", err)
	}
}

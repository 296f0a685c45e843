package exchange

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// renderingGateway returns a gateway with one model whose conversations are rendered.
func renderingGateway(change func(*contract.Config)) *Gateway {
	m := contract.DefaultModel("qwen")
	m.Pool, m.Server, m.ServerModel = "qwen", contract.VLLMRender, "Qwen/Qwen3-30B-A3B"
	m.Render = contract.Render{Cluster: "qwen-cluster", Pool: "qwen"}
	m.ContextLength = 100
	c := contract.DefaultConfig()
	c.Models = []contract.Model{m}
	if change != nil {
		change(c)
	}
	return New(Options{Config: *c, Tokenizer: o200k.Tokenizer()})
}

func renderHost() Host { return Host{Now: testNow, ID: testID, Scratch: &Scratch{}} }

// rendered is what a vLLM 0.32 says to a conversation of three ids, with members of no meaning here left out.
const rendered3 = `{"request_id":"chatcmpl-853f73697ce96b13","token_ids":[257,117,100000],"token_offsets":null,` +
	`"features":null,"content_parts":null,"sampling_params":{"presence_penalty":0.0,"temperature":0.5,"stop":["x\"y"],` +
	`"stop_token_ids":[],"max_tokens":16363,"output_kind":1,"skip_clone":true,"bad_words":[],` +
	`"structured_outputs":{"json":null,"structural_tag":"{\"type\": 1}"}},"model":"qwen","reasoning_ended":true,` +
	`"reasoning_parser_kwargs":{"chat_template_kwargs":{"a":1}},"return_token_ids":null,"output_mode":"tokens",` +
	`"stream":true,"cache_salt":"s\"alt","priority":3}`

const rendersChat = `{"model":"qwen","messages":[{"role":"user","content":"Hi"}],"temperature":0.5,"priority":9}`

// generated is an event with text and the ids of its tokens.
func generated(text, finish string, ids ...int) string {
	list, _ := json.Marshal(ids)
	quoted, _ := json.Marshal(text)
	if finish = strconv.Quote(finish); finish == `""` {
		finish = "null"
	}
	return `data: {"request_id":"generate-tokens-1","usage":null,"output_mode":"text","choices":[{"index":0,` +
		`"finish_reason":` + finish + `,"stop_reason":null,"token_ids":` + string(list) + `,"routed_experts":null,` +
		`"sampling_mask":null,"weight_versions":null,"text":` + string(quoted) + `,"logprobs":null}]}` + "\n\n"
}

const generatedEnd = `data: {"request_id":"generate-tokens-1","usage":{"prompt_tokens":3,"total_tokens":10,` +
	`"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":2}},"output_mode":"text","choices":[]}` + "\n\n" +
	"data: [DONE]\n\n"

// beginRender sends a request up to the call.
func beginRender(t *testing.T, g *Gateway, path, body string) (*Exchange, *Render) {
	t.Helper()
	x := g.Begin("POST", path)
	x.RequestHeaders()
	a := x.Request([]byte(body), renderHost())
	if a.Render == nil || a.Forward != nil || a.Reply != nil {
		t.Fatalf("got %+v", a)
	}
	return x, a.Render
}

// TestRender: each API's conversation is rendered in the form of a Chat request, the ids go to the engine with what the
// server has made of the sampling, and the text that comes back is the answer.
func TestRender(t *testing.T) {
	answer := generated("<think>Hm", "", 7, 8) + generated("", "", 9) + generated("é</think>", "", 10, 11) +
		generated("Hi", "stop", 12, 258) + generatedEnd
	for path, body := range map[string]string{
		contract.ChatPath:      rendersChat,
		contract.ResponsesPath: `{"model":"qwen","input":"Hi","temperature":0.5}`,
		contract.MessagesPath:  `{"model":"qwen","max_tokens":90,"messages":[{"role":"user","content":"Hi"}],"temperature":0.5}`,
	} {
		for n := 1; n < len(answer); n += 1 + n/8 {
			x, call := beginRender(t, renderingGateway(nil), path, body)
			var sent struct {
				Model       string
				Messages    []struct{ Role, Content string }
				Temperature float64
			}
			if err := json.Unmarshal(call.Body, &sent); err != nil || sent.Model != "Qwen/Qwen3-30B-A3B" ||
				len(sent.Messages) != 1 || sent.Messages[0].Content != "Hi" || sent.Temperature != 0.5 {
				t.Fatalf("%s: the call has %s, %v", path, call.Body, err)
			}
			if call.Cluster != "qwen-cluster" || call.Path != contract.RenderPath || call.TimeoutMS <= 0 {
				t.Errorf("%s: the call is %+v", path, call)
			}
			if x.Overdue(testNow + 10*testLimit) {
				t.Errorf("%s: the request is overdue while it is rendered", path)
			}
			h := renderHost()
			h.Now += 5
			a := x.Rendered(RenderAnswer{Status: 200, Body: []byte(rendered3)}, h)
			if a.Forward == nil || a.Forward.Path != contract.InferenceGeneratePath || a.Forward.Pool != "qwen" {
				t.Fatalf("%s: got %+v", path, a)
			}
			most := "97"
			if path == contract.MessagesPath {
				most = "90"
			}
			want := `{"model":"Qwen/Qwen3-30B-A3B","token_ids":[257,117,100000],"sampling_params":{"presence_penalty":0.0,` +
				`"temperature":0.5,"stop":["x\"y"],"stop_token_ids":[],"bad_words":[],"structured_outputs":{"json":null,` +
				`"structural_tag":"{\"type\": 1}"},"skip_special_tokens":false,"max_tokens":` + most + `},"reasoning_ended":true,` +
				`"reasoning_parser_kwargs":{"chat_template_kwargs":{"a":1}},` +
				`"output_mode":"text","stream":true,"stream_options":{"include_usage":true}}`
			if got := string(a.Forward.Body); got != want {
				t.Fatalf("%s: the engine gets\n%s, not\n%s", path, got, want)
			}
			if again := x.Rendered(RenderAnswer{Status: 200, Body: []byte(rendered3)}, h); !again.Hold {
				t.Errorf("%s: a second answer does %+v", path, again)
			}
			got := takeAnswer(x, answer, n)
			if !strings.Contains(got, `"Hi"`) || path != contract.MessagesPath && !strings.Contains(got, "Hmé") || strings.Contains(got, "think>") {
				t.Fatalf("%s in pieces of %d: %s", path, n, got)
			}
			r := x.Report()
			if r.Rendered != (RenderReport{Asked: true, Time: 5}) {
				t.Errorf("%s: the call is reported as %+v", path, r.Rendered)
			}
			if r.PromptTokens != 3 || r.CompletionTokens != 7 || r.CachedTokens != 2 || r.Reasoning != 5 || r.Final != 2 ||
				r.Finish != FinishStop {
				t.Fatalf("%s in pieces of %d: the report is %+v", path, n, r)
			}
		}
	}
}

// TestRenderExtras: the engine gets a salt and a priority only of clients that may have them.
func TestRenderExtras(t *testing.T) {
	g := renderingGateway(func(c *contract.Config) { c.Models[0].ServerExtras = []string{"cache_salt", "priority"} })
	body := []byte(strings.Replace(rendersChat, `"priority"`, `"cache_salt":"s\"a","priority"`, 1))
	x := g.Begin("POST", contract.ChatPath)
	x.Request(body, renderHost())
	for i := range body {
		body[i] = 'x' // as a host does that reads into the same memory
	}
	a := x.Rendered(RenderAnswer{Status: 200, Body: []byte(rendered3)}, renderHost())
	if a.Forward == nil || !strings.Contains(string(a.Forward.Body), `,"cache_salt":"s\"a","priority":9,"output_mode"`) {
		t.Errorf("got %+v", a)
	}
}

// takeAnswer sends a server's answer in pieces of n bytes, and returns what the client gets.
func takeAnswer(x *Exchange, answer string, n int) string {
	var out strings.Builder
	take := func(a ResponseAction) {
		if a.Reply != nil {
			out.Write(a.Reply.Body)
		}
		out.Write(a.Body)
	}
	take(x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream; charset=utf-8"}))
	for len(answer) > 0 {
		piece := answer[:min(n, len(answer))]
		answer = answer[len(piece):]
		take(x.ResponseBody([]byte(piece), answer == ""))
	}
	return out.String()
}

// TestRenderStreams: a stream says the exact counts.
func TestRenderStreams(t *testing.T) {
	body := `{"model":"qwen","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hi"}]}`
	x, _ := beginRender(t, renderingGateway(nil), contract.ChatPath, body)
	x.Rendered(RenderAnswer{Status: 200, Body: []byte(rendered3)}, renderHost())
	got := takeAnswer(x, generated("<think>Hm</think>", "", 7, 8, 9)+generated("Hi", "length", 10)+
		strings.Replace(generatedEnd, `:7,`, `:4,`, 1), 10)
	for _, want := range []string{`"reasoning":"Hm"`, `"content":"Hi"`, `"finish_reason":"length"`, `"prompt_tokens":3`,
		`"completion_tokens":4`, `"reasoning_tokens":3`, "data: [DONE]"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

// TestRenderFails: what becomes of a request whose conversation was not rendered.
func TestRenderFails(t *testing.T) {
	ids := func(n int) string {
		return `{"token_ids":[1` + strings.Repeat(",1", n-1) + `],"sampling_params":{}}`
	}
	serversError := func(message string) string {
		b, _ := json.Marshal(message)
		return `{"error":{"message":` + string(b) + `,"type":"BadRequestError","param":null,"code":400}}`
	}
	for _, tt := range []struct {
		name       string
		answer     RenderAnswer
		status     int
		code, text string
	}{
		{"unreachable", RenderAnswer{Status: 503, Body: []byte("upstream connect error")}, 503,
			contract.CodeServerUnavailable, "could be reached"},
		{"late", RenderAnswer{Status: 504, Body: []byte("upstream request timeout")}, 504, contract.CodeServerTimeout,
			"in time"},
		{"no headers", RenderAnswer{}, 502, contract.CodeServerError, "not answered"},
		{"no scale-out", RenderAnswer{Status: 404, Body: []byte(`{"detail":"Not Found"}`)}, 502,
			contract.CodeServerPathNotFound, "--enable-scale-out"},
		{"another model", RenderAnswer{Status: 404, Body: []byte(`{"error":{"message":"The model does not exist.",` +
			`"type":"NotFoundError","param":"model","code":404}}`)}, 502, contract.CodeServerModelNotFound, "server_model"},
		{"refused", RenderAnswer{Status: 400, Body: []byte(serversError("After the optional system message, conversation " +
			"roles must alternate"))}, 400, contract.CodeInvalidRequest, "roles must alternate"},
		{"too long there", RenderAnswer{Status: 400, Body: []byte(serversError("This model's maximum context length is 90 " +
			"tokens. However, your prompt contains at least 91 input tokens"))}, 400, contract.CodeContextLengthExceeded,
			"90"},
		{"too long here", RenderAnswer{Status: 200, Body: []byte(ids(100))}, 400, contract.CodeContextLengthExceeded, "100"},
		{"much too long here", RenderAnswer{Status: 200, Body: []byte(ids(1_000_000))}, 400,
			contract.CodeContextLengthExceeded, "100"},
		{"too large", RenderAnswer{Status: 200, Body: []byte(`{"token_ids":[1`), TooLarge: true}, 502,
			contract.CodeServerError, "larger"},
		{"images", RenderAnswer{Status: 200, Body: []byte(`{"token_ids":[1],"sampling_params":{},"features":{"a":1}}`)}, 400,
			contract.CodeUnsupportedParameter, "images"},
		{"no JSON", RenderAnswer{Status: 200, Body: []byte(`{"token_ids":[1],`)}, 502, contract.CodeServerError, "understood"},
		{"no ids", RenderAnswer{Status: 200, Body: []byte(`{"token_ids":[],"sampling_params":{}}`)}, 502,
			contract.CodeServerError, "understood"},
		{"twice", RenderAnswer{Status: 200, Body: []byte(`{"token_ids":[1],"token_ids":[1],"sampling_params":{}}`)}, 502,
			contract.CodeServerError, "understood"},
		{"no sampling", RenderAnswer{Status: 200, Body: []byte(`{"token_ids":[1]}`)}, 502, contract.CodeServerError,
			"understood"},
		{"other ids", RenderAnswer{Status: 200, Body: []byte(`{"token_ids":[1,-2],"sampling_params":{}}`)}, 502,
			contract.CodeServerError, "understood"},
		{"nested ids", RenderAnswer{Status: 200, Body: []byte(`{"token_ids":[1,[2]],"sampling_params":{}}`)}, 502,
			contract.CodeServerError, "understood"},
	} {
		for path, body := range map[string]string{contract.ChatPath: rendersChat,
			contract.MessagesPath: `{"model":"qwen","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`} {
			x, _ := beginRender(t, renderingGateway(nil), path, body)
			a := x.Rendered(tt.answer, renderHost())
			if a.Reply == nil || a.Forward != nil {
				t.Errorf("%s: got %+v", tt.name, a)
				continue
			}
			got := string(a.Reply.Body)
			if a.Reply.Status != tt.status || !strings.Contains(got, tt.text) && tt.name != "too long there" ||
				path == contract.ChatPath && !strings.Contains(got, `"code":"`+tt.code+`"`) ||
				path == contract.MessagesPath && !strings.HasPrefix(got, `{"type":"error"`) {
				t.Errorf("%s: %d %s", tt.name, a.Reply.Status, got)
			}
			if r := x.Report(); r.Pool != "" || r.Translated || r.Rendered != (RenderReport{true, tt.status >= 500, 0}) {
				t.Errorf("%s: the report is %+v", tt.name, r)
			}
		}
	}
}

// TestRenderReserves: the reservation is what the request needs, and not an estimate. A refused one reserves nothing.
func TestRenderReserves(t *testing.T) {
	g := renderingGateway(func(c *contract.Config) {
		c.Clients.Reserve = true
		c.Models[0].Routing = contract.Routing{Affinity: true, BlockHashes: 4, BlockSize: 1}
	})
	x, _ := beginRender(t, g, contract.ChatPath, strings.Replace(rendersChat, `"temp`, `"max_tokens":7,"temp`, 1))
	if r := x.Report(); r.Reserves {
		t.Errorf("before the ids are known %d tokens are reserved", r.ReservedTokens)
	}
	a := x.Rendered(RenderAnswer{Status: 200, Body: []byte(rendered3)}, renderHost())
	if r := x.Report(); !r.Reserves || r.ReservedTokens != 10 || r.RoutedBy != contract.RoutedByPrefix {
		t.Errorf("the report is %+v", r)
	}
	blocks := ""
	for _, h := range a.Forward.Internal {
		if h.Name == contract.BlocksHeader {
			blocks = h.Value
		}
	}
	if n := strings.Count(blocks, ",") + 1; blocks == "" || n != 3 {
		t.Errorf("the picker gets %q", blocks)
	}
	x, _ = beginRender(t, g, contract.ChatPath, rendersChat)
	x.Rendered(RenderAnswer{Status: 503}, renderHost())
	if r := x.Report(); r.Reserves {
		t.Errorf("for a request without a prompt %d tokens are reserved", r.ReservedTokens)
	}
}

// TestRenderTokenIDs: clients get the ids of the prompt and of the answer.
func TestRenderTokenIDs(t *testing.T) {
	g := renderingGateway(func(c *contract.Config) { c.Models[0].Answers.TokenIDs = true })
	x, call := beginRender(t, g, contract.ChatPath, rendersChat)
	if !strings.Contains(string(call.Body), `"logprobs":true`) {
		t.Errorf("the call has %s", call.Body)
	}
	x.Rendered(RenderAnswer{Status: 200, Body: []byte(rendered3)}, renderHost())
	got := takeAnswer(x, strings.Replace(generated("Hi", "stop", 5, 258), `"logprobs":null`,
		`"logprobs":{"content":[{"token":"Hi","logprob":-0.5,"bytes":[72,105],"top_logprobs":[]},`+
			`{"token":"<|im_end|>","logprob":-1,"bytes":null,"top_logprobs":[]}]}`, 1)+generatedEnd, 1000)
	for _, want := range []string{`"prompt_token_ids":[257,117,100000]`, `"generation_token_ids":[5,258]`,
		`"generation_log_probs":[-0.5,-1]`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

// TestRenderEmptiesTooLong: with context_error: empty_length a conversation that does not fit gets an empty answer, if
// the server that renders says so, and if the count of its ids does.
func TestRenderEmptiesTooLong(t *testing.T) {
	long := strings.Replace(rendered3, "[257,117,100000]", "[1"+strings.Repeat(",1", 99)+"]", 1)
	for name, answer := range map[string]RenderAnswer{
		"refused": {Status: 400, Body: []byte(`{"error":{"message":"This model's maximum context length is 100 tokens. ` +
			`However, your request has 137 input tokens.","type":"BadRequestError","param":"input_tokens","code":400}}`)},
		"counted": {Status: 200, Body: []byte(long)},
	} {
		x, _ := beginRender(t, renderingGateway(func(c *contract.Config) {
			c.Models[0].Answers.ContextError = contract.ContextEmptyLength
		}), contract.ChatPath, rendersChat)
		a := x.Rendered(answer, renderHost())
		if a.Reply == nil || a.Reply.Status != 200 || !strings.Contains(string(a.Reply.Body), `"finish_reason":"length"`) ||
			x.Report().Finish != FinishLength {
			t.Errorf("%s: got %+v", name, a.Reply)
		}
	}
}

// TestRenderRepetitions: an answer whose ids repeat themselves ends where the operator wants it, and its client reads why.
func TestRenderRepetitions(t *testing.T) {
	loop := strings.Repeat(generated(" again and", "", 7, 8, 9), 60)
	call := generated(`<tool_call>{"name": "f", "arguments": {"a": "`, "", 1, 2, 3, 4, 5)
	const tools = `,"tools":[{"type":"function","function":{"name":"f"}}]`
	for name, tt := range map[string]struct {
		reasoning, text, answer string
		repeated                bool
	}{
		"reasoning":           {"end", "off", generated("<think>Hm", "", 1, 2) + loop, true},
		"reasoning, not seen": {"off", "end", generated("<think>Hm", "", 1, 2) + loop, false},
		"text":                {"off", "end", generated("Hm", "", 1) + loop, true},
		"text, not seen":      {"end", "off", generated("Hm", "", 1) + loop, false},
		"a call":              {"off", "end", call + loop, true},
		"off":                 {"off", "off", generated("Hm", "", 1) + loop, false},
	} {
		g := renderingGateway(func(c *contract.Config) {
			c.Models[0].Speaks, c.Models[0].ContextLength = contract.SpeaksHermes, 1000
			c.Models[0].Repetition = contract.Repetition{Reasoning: tt.reasoning, Text: tt.text, MaxPatternSize: 128, MinCount: 4,
				MinTokens: 96}
		})
		for _, stream := range []string{"true", "false"} {
			body := `{"model":"qwen","stream":` + stream + `,"messages":[{"role":"user","content":"Hi"}]` + tools + `}`
			x, _ := beginRender(t, g, contract.ChatPath, body)
			x.Rendered(RenderAnswer{Status: 200, Body: []byte(rendered3)}, renderHost())
			got := takeAnswer(x, tt.answer+generated("", "stop", 258)+generatedEnd, 1000)
			r := x.Report()
			if strings.Contains(got, `"stop_reason":"repetition_detected"`) != tt.repeated || r.Repeated != tt.repeated ||
				(r.EarlyEnd == EarlyRepetition) != tt.repeated || !strings.Contains(got, "again and") ||
				tt.repeated && !strings.Contains(got, `"finish_reason":"length"`) {
				t.Errorf("%s, stream %s: %+v\n%s", name, stream, r, got)
			}
		}
	}
}

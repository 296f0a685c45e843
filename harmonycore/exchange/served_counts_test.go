package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// served is a request for tokens to a model whose servers take conversations: what they get, and what the client gets
// of their answer in pieces of n bytes.
func served(t *testing.T, g *Gateway, path, request string, head ResponseHead, answer string, n int) (*Forward, *Reply) {
	t.Helper()
	x := g.Begin("POST", path)
	x.RequestHeaders()
	action := x.Request([]byte(request), Host{Now: testNow, ID: testID})
	if action.Forward == nil {
		return nil, action.Reply
	}
	got := &Reply{Status: head.Status}
	take := func(a ResponseAction, chunk string) {
		switch {
		case a.Reply != nil:
			got = a.Reply
		case a.Pass:
			got.Body = append(got.Body, chunk...)
		case a.Reset:
			got.Body = append(got.Body, "reset"...)
		default:
			if a.Head != nil {
				got.Status = a.Head.Status
			}
			got.Body = append(got.Body, a.Body...)
		}
	}
	take(x.ResponseHeaders(head), "")
	for answer != "" {
		piece := answer[:min(n, len(answer))]
		answer = answer[len(piece):]
		take(x.ResponseBody([]byte(piece), answer == ""), piece)
	}
	return action.Forward, got
}

const tokenized = `{"count":7,"max_model_len":4096,"tokens":[1,2,3],"token_strs":null}`

func TestServedCounts(t *testing.T) {
	g := conversing(func(m *contract.Model) {
		m.APIPath, m.Chat.TemplateKwargs, m.ExtraBody = "/openai/v1", `{"a":1}`, `{"top_k":3}`
	})
	ok := ResponseHead{Status: 200, ContentType: contentTypeJSON}
	for _, tc := range []struct{ path, request, sentTo, sent, got string }{
		{contract.InputTokensPath, `{"model":"qwen","instructions":"i","input":"u","reasoning":{"effort":"low"},"tools":[` +
			`{"type":"function","name":"f"}],"text":{"format":{"type":"json_object"}},"tool_choice":"required"}`,
			"/openai/tokenize", `{"model":"Qwen/Qwen3-30B-A3B","messages":[{"role":"system","content":"i"},` +
				`{"role":"user","content":"u"}],"tools":[{"type":"function","function":{"name":"f",` +
				`"parameters":{"type":"object","properties":{}}}}],"chat_template_kwargs":{"a":1},"reasoning_effort":"low"}`,
			`{"object":"response.input_tokens","input_tokens":7}`},
		{contract.TokenizePath, `{"model":"qwen","messages":[{"role":"developer","content":"d"}],"return_token_strs":true}`,
			"/openai/tokenize", `{"model":"Qwen/Qwen3-30B-A3B","messages":[{"role":"system","content":"d"}],` +
				`"return_token_strs":true,"chat_template_kwargs":{"a":1}}`, tokenized},
		{contract.TokenizePath, `{"model":"qwen","prompt":"p"}`, "/openai/tokenize",
			`{"model":"Qwen/Qwen3-30B-A3B","prompt":"p"}`, tokenized},
		{contract.DetokenizePath, `{"model":"qwen","tokens":[1,2]}`, "/openai/detokenize",
			`{"model":"Qwen/Qwen3-30B-A3B","tokens":[1,2]}`, tokenized},
	} {
		for _, n := range []int{1, 7, 1000} {
			forward, got := served(t, g, tc.path, tc.request, ok, tokenized, n)
			if forward == nil || forward.Path != tc.sentTo || forward.Pool != "qwen" || !forward.Readable ||
				string(forward.Body) != tc.sent {
				t.Fatalf("%s: sent %+v %s", tc.path, forward, forward.Body)
			}
			if got.Status != 200 || string(got.Body) != tc.got {
				t.Errorf("%s: got %d %s", tc.path, got.Status, got.Body)
			}
		}
	}
}

func TestServedCountsFailed(t *testing.T) {
	g := conversing(nil)
	json := func(status int) ResponseHead { return ResponseHead{Status: status, ContentType: contentTypeJSON} }
	const input = `{"model":"qwen","input":"u"}`
	for _, tc := range []struct {
		path, request string
		head          ResponseHead
		answer        string
		status        int
		got           string
	}{
		{contract.InputTokensPath, `{"model":"qwen"}`, json(200), "", 400, `"param":"input"`},
		{contract.InputTokensPath, input, json(404), `{"detail":"Not Found"}`, 404, `"code":"unknown_url"`},
		{contract.DetokenizePath, `{"model":"qwen","tokens":[]}`, json(405), `{}`, 404, "have no /detokenize that answers"},
		{contract.InputTokensPath, input, json(400), `{"error":{"message":"This model's maximum context length is 8 ` +
			`tokens","type":"BadRequestError","param":null,"code":400}}`, 400, `"param":"input","code":"context_length_exceeded"`},
		{contract.InputTokensPath, input, json(500), `oh`, 500, `"type":"server_error"`},
		{contract.InputTokensPath, input, json(200), `{"tokens":[1]}`, 404, `"code":"unknown_url"`},
		{contract.InputTokensPath, input, json(200), `{"count":1`, 502, `"error"`},
		{contract.InputTokensPath, input, ResponseHead{Status: 200, ContentType: "text/html"}, `<p>`, 502, `"error"`},
		{contract.TokenizePath, `{"model":"qwen","prompt":"p"}`, ResponseHead{Status: 503, Local: true},
			`no healthy upstream`, 503, `"error"`},
	} {
		_, got := served(t, g, tc.path, tc.request, tc.head, tc.answer, 5)
		if got == nil || got.Status != tc.status || !strings.Contains(string(got.Body), tc.got) {
			t.Errorf("%s %s, %d %s: got %+v %s", tc.path, tc.request, tc.head.Status, tc.answer, got, got.Body)
		}
	}
}

// TestServedCountsReduced checks the headers of a host that cannot hold them.
func TestServedCountsReduced(t *testing.T) {
	m := contract.DefaultModel("qwen")
	m.Pool, m.Server, m.ServerModel, m.APIPath = "qwen", contract.Chat, "q", "/v1"
	c := contract.DefaultConfig()
	c.Mode, c.Models = contract.ModeReduced, []contract.Model{m}
	g := New(Options{Config: *c, Tokenizer: o200k.Tokenizer()})
	for path, want := range map[string]string{
		contract.InputTokensPath: "/tokenize", contract.TokenizePath: "/tokenize", contract.DetokenizePath: "/detokenize",
	} {
		if head := g.Begin("POST", path).RequestHeaders(); head.Path != want || head.Pool != "qwen" || !head.Rewritten {
			t.Errorf("%s: %+v", path, head)
		}
	}
}

// TestServedCountsStalled checks servers that do not end their answers.
func TestServedCountsStalled(t *testing.T) {
	g := conversing(nil)
	g.options.StallTimeoutMS = 10
	x := g.Begin("POST", contract.InputTokensPath)
	x.Request([]byte(`{"model":"qwen","input":"u"}`), Host{Now: testNow, ID: testID})
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: contentTypeJSON})
	x.ResponseBody([]byte(`{"count":7,`), false)
	x.Overdue(testNow)
	if a := x.Stalled(testNow + 10); a.Reply == nil || a.Reply.Status != 504 {
		t.Errorf("%+v", a)
	}
	x = g.Begin("POST", contract.InputTokensPath)
	x.Request([]byte(`{"model":"qwen","input":"u"}`), Host{Now: testNow, ID: testID})
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: contentTypeJSON})
	x.ResponseBody([]byte(`{"count":7,`), false)
	if a := x.ResponseTrailers(); a.Reply == nil || a.Reply.Status != 502 {
		t.Errorf("%+v", a)
	}
}

// TestConversationsInReducedMode checks requests whose headers have gone before their body: the headers have the path
// and ask for an answer that can be read, and nothing may change them later.
func TestConversationsInReducedMode(t *testing.T) {
	g := conversing(func(m *contract.Model) { m.APIPath = "/openai/v1" })
	g.reduced = true
	for path, at := range map[string]string{
		contract.ChatPath: "/openai/v1/chat/completions", contract.ResponsesPath: "/openai/v1/chat/completions",
		contract.TokenizePath: "/openai/tokenize", contract.InputTokensPath: "/openai/tokenize",
	} {
		x := g.Begin("POST", path)
		if head := x.RequestHeaders(); head.Path != at || head.Pool != "qwen" || !head.Rewritten || head.Hold {
			t.Errorf("%s: the headers: %+v", path, head)
		}
		body := `{"model":"qwen","input":"Hi","messages":[{"role":"user","content":"Hi"}]}`
		a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
		if f := a.Forward; f == nil || f.Path != "" || f.Pool != "" || f.Readable || len(f.Body) == 0 {
			t.Errorf("%s: got %+v", path, a)
		}
	}
}

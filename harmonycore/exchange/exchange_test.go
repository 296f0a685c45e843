package exchange

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

const (
	testModel = "gpt-oss-120b"
	testNow   = 1767398399_000 // 2026-01-02T23:59:59Z
	testID    = "0123456789abcdef0123456789abcdef"
	testLimit = 1000 // stall time-out, ms
)

func testGateway(change func(*Options)) *Gateway {
	o := Options{
		Tokenizer: o200k.Tokenizer(),
		Config: contract.Config{
			BodyLimit: 1 << 20, StallTimeoutMS: testLimit, ReasoningRatioAlert: 0.9,
			Models: []contract.Model{{
				Name: testModel, Pool: "pool-1", Server: contract.VLLM, ServerModel: "openai/gpt-oss",
				ModelSettings: contract.ModelSettings{
					ContextLength: 4096, System: contract.System{Identity: "You.", Date: contract.DateUTC,
						Effort: contract.EffortMedium},
				},
			}},
		},
	}
	if change != nil {
		change(&o)
	}
	return New(o)
}

func chatBody(stream bool) string {
	return `{"model":"` + testModel + `","stream":` + strconv.FormatBool(stream) +
		`,"messages":[{"role":"user","content":"Hi"}]}`
}

// forwarded begins an exchange whose request has gone to a server.
func forwarded(t testing.TB, g *Gateway, path, body string) *Exchange {
	t.Helper()
	x := g.Begin("POST", path)
	if x == nil {
		t.Fatalf("%s is none of ours", path)
	}
	if a := x.Request([]byte(body), Host{Now: testNow, ID: testID}); a.Forward == nil {
		t.Fatalf("not forwarded: %+v", a)
	}
	return x
}

func TestBegin(t *testing.T) {
	g := testGateway(nil)
	for _, tt := range []struct {
		method, path string
		ours         bool
	}{
		{"POST", "/v1/chat/completions", true}, {"POST", "/v1/responses?x=1", true}, {"POST", "/v1/completions", true},
		{"POST", "/generate", true}, {"POST", "/completion", true}, {"POST", "/inference/v1/generate", true},
		{"GET", "/v1/responses", false}, {"HEAD", "/v1/chat/completions", false}, {"POST", "/v1/embeddings", false},
		{"POST", "/v1/chat/completions/", true}, {"POST", "/v1/chat/completionsx", false}, {"POST", "", false},
	} {
		if ours := g.Begin(tt.method, tt.path) != nil; ours != tt.ours {
			t.Errorf("%s %s: ours = %v", tt.method, tt.path, ours)
		}
	}
}

func TestForward(t *testing.T) {
	x := testGateway(nil).Begin("POST", "/v1/chat/completions")
	a := x.Request([]byte(chatBody(true)), Host{Now: testNow, ID: testID})
	if a.Forward == nil || a.Forward.Path != "/v1/completions" || a.Forward.Pool != "pool-1" {
		t.Fatalf("got %+v", a)
	}
	var sent struct {
		Model     string
		Prompt    []uint32
		MaxTokens int   `json:"max_tokens"`
		Stop      []int `json:"stop_token_ids"`
		Stream    bool
	}
	if err := json.Unmarshal(a.Forward.Body, &sent); err != nil {
		t.Fatal(err)
	}
	prompt := o200k.Tokenizer().DecodeString(sent.Prompt)
	if !strings.Contains(prompt, "Current date: 2026-01-02") ||
		!strings.HasSuffix(prompt, "<|start|>user<|message|>Hi<|end|><|start|>assistant") {
		t.Errorf("prompt %q", prompt)
	}
	if sent.Model != "openai/gpt-oss" || sent.MaxTokens != 4096-len(sent.Prompt) || !sent.Stream || len(sent.Stop) != 2 {
		t.Errorf("got %+v", sent)
	}
}

func TestDateOf(t *testing.T) {
	midnight := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC).UnixMilli()
	for _, tt := range []struct {
		date string
		now  int64
		want harmony.Optional
	}{
		{contract.DateUTC, midnight - 1, harmony.Some("2026-01-02")},
		{contract.DateUTC, midnight, harmony.Some("2026-01-03")},
		{contract.DateUTC, 0, harmony.Some("1970-01-01")}, {"2025-06-30", midnight, harmony.Some("2025-06-30")},
		{contract.DateOmit, midnight, harmony.Optional{}},
	} {
		if got := dateOf(tt.date, tt.now); got != tt.want {
			t.Errorf("%s at %d: %+v", tt.date, tt.now, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	small := func(o *Options) { o.BodyLimit = 10 }
	short := func(o *Options) { o.Models[0].ContextLength = 20 }
	passthrough := func(o *Options) { o.Passthrough = true }
	allowed := func(o *Options) { o.Models[0].RawPrompts = contract.RawPromptsAllow }
	raw := `{"model":"` + testModel + `","prompt":"x"}`
	for _, tt := range []struct {
		name, path, body string
		change           func(*Options)
		status           int // 0: forwarded or left alone
		code             string
	}{
		{"too large", "/v1/responses", `{"model":"m"      }`, small, 413, "request_too_large"},
		{"context", "/v1/chat/completions", chatBody(false), short, 400, "context_length_exceeded"},
		{"no JSON", "/v1/chat/completions", `{`, nil, 400, "invalid_json"},
		{"empty", "/v1/chat/completions", ``, nil, 400, "invalid_json"},
		{"no model", "/v1/responses", `{"input":"x"}`, passthrough, 400, "missing_required_parameter"},
		{"other model", "/v1/responses", `{"model":"x","input":"x"}`, nil, 404, "model_not_found"},
		{"other model passes", "/v1/responses", `{"model":"x","input":"x"}`, passthrough, 0, ""},
		{"raw", "/v1/completions", raw, passthrough, 403, "raw_prompt_not_allowed"},
		{"raw, other path", "/generate", raw, allowed, 403, "raw_prompt_not_allowed"},
		{"raw, allowed", "/v1/completions", raw, allowed, 0, ""},
		{"raw, other model", "/v1/completions", `{"model":"x","prompt":"x"}`, nil, 404, "model_not_found"},
		{"raw, other model passes", "/v1/completions", `{"model":"x","prompt":"x"}`, passthrough, 0, ""},
		{"raw, no model", "/generate", `{"input_ids":[1]}`, nil, 0, ""},
		{"raw, a model nobody can read", "/generate", `{"model":"\ud800","prompt":"x"}`, passthrough, 400, "invalid_utf8"},
		{
			"raw, a deep model", "/generate", `{"prompt":"x","model":` + strings.Repeat("[", 200), passthrough, 400,
			"max_depth_exceeded",
		},
		{"raw, unreadable", "/generate", `{"model":"` + testModel + `","prompt":"\ud800"}`, passthrough, 400, "invalid_utf8"},
	} {
		a := testGateway(tt.change).Begin("POST", tt.path).Request([]byte(tt.body), Host{Now: testNow, ID: testID})
		if tt.status == 0 {
			if a.Reply != nil {
				t.Errorf("%s: %d %s", tt.name, a.Reply.Status, a.Reply.Body)
			}
			continue
		}
		if a.Reply == nil || a.Reply.Status != tt.status || !strings.Contains(string(a.Reply.Body), `"code":"`+tt.code+`"`) {
			t.Errorf("%s: got %+v", tt.name, a.Reply)
		}
	}
}

func TestFull(t *testing.T) {
	x := testGateway(nil).Begin("POST", "/v1/chat/completions")
	a := x.Request([]byte(chatBody(true)), Host{Now: testNow, ID: testID, Admit: func(int) bool { return false }})
	if a.Reply == nil || a.Reply.Status != 503 || a.Reply.RetryAfter != "1" ||
		!strings.Contains(string(a.Reply.Body), `"code":"gateway_overloaded"`) {
		t.Errorf("got %+v", a.Reply)
	}
	x = testGateway(func(o *Options) { o.Passthrough = true }).Begin("POST", "/v1/chat/completions")
	if a := x.Request([]byte(`{"model":"x"}`), Host{Now: testNow, ID: testID,
		Admit: func(int) bool { return false }}); a.Reply != nil {
		t.Errorf("a request that is none of ours: %+v", a.Reply)
	}
}

// answerOf is a server's stream for a Harmony text, one token in an event.
func answerOf(text string) string {
	var b strings.Builder
	ids := o200k.Tokenizer().AppendEncodeSpecial(nil, text)
	for i, id := range ids {
		b.WriteString(`data: {"choices":[{`)
		if i == 0 {
			b.WriteString(`"prompt_token_ids":[1,2,3],`)
		}
		b.WriteString(`"token_ids":[` + strconv.Itoa(int(id)) + "]")
		if i == len(ids)-1 {
			b.WriteString(`,"finish_reason":"stop"`)
		}
		b.WriteString("}]}\n\n")
	}
	return b.String() + `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":` + strconv.Itoa(len(ids)) +
		"}}\n\ndata: [DONE]\n\n"
}

var eventStream = ResponseHead{Status: 200, ContentType: "text/event-stream; charset=utf-8"}

// outcome is what the client gets: status, then bytes; a cut is noted at the end.
func outcome(t testing.TB, x *Exchange, pieces []string) string {
	t.Helper()
	status, body := 0, ""
	if a := x.ResponseHeaders(eventStream, testNow); !a.Hold {
		t.Fatalf("headers are not held: %+v", a)
	}
	for i, p := range pieces {
		chunk := []byte(p)
		a := x.ResponseBody(chunk, i == len(pieces)-1, testNow)
		for at := range chunk {
			chunk[at] = '\n' // the host's memory is used again
		}
		if a.Reply != nil {
			return strconv.Itoa(a.Reply.Status) + " " + string(a.Reply.Body)
		}
		if a.Head != nil {
			status = a.Head.Status
		}
		if status == 0 && len(a.Body) > 0 {
			t.Fatalf("bytes before the headers: %q", a.Body)
		}
		body += string(a.Body)
		if a.Reset {
			return strconv.Itoa(status) + " " + body + "(cut)"
		}
	}
	return strconv.Itoa(status) + " " + body
}

// TestEveryCut: wherever the network cuts a server's stream in two, and in single bytes, the client gets the same.
func TestEveryCut(t *testing.T) {
	good := answerOf("<|channel|>analysis<|message|>Hm " +
		"😀.<|end|><|start|>assistant<|channel|>final<|message|>Hé!<|return|>")
	events := strings.SplitAfter(good, "\n\n")
	for name, stream := range map[string]string{
		"good":          good,
		"no finish":     strings.Join(events[:5], ""),
		"error at once": "data: {\"error\":{\"message\":\"no\",\"code\":503}}\n\ndata: [DONE]\n\n",
		"error in mid-way": strings.Join(events[:5], "") + "data: {\"error\":{\"message\":\"no\"," +
			"\"code\":500}}\n\ndata: [DONE]\n\n",
		"garbage":            strings.Join(events[:5], "") + "data: {{{\n\n",
		"garbage at once":    "data: {{{\n\n" + good,
		"nothing":            "",
		"closed behind stop": strings.Join(events[:len(events)-3], ""),
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/responses"} {
			for _, whole := range []bool{false, true} {
				body := chatBody(!whole)
				if path == "/v1/responses" {
					body = strings.Replace(body, `"messages":[{"role":"user","content":"Hi"}]`, `"input":"Hi"`, 1)
				}
				g := testGateway(nil)
				want := outcome(t, forwarded(t, g, path, body), []string{stream, ""})
				for at := range len(stream) {
					if got := outcome(t, forwarded(t, g, path, body), []string{stream[:at], stream[at:], ""}); got != want {
						t.Fatalf("%s, %s, whole %v, cut at %d:\n%s\nwant\n%s", name, path, whole, at, got, want)
					}
				}
				if got := outcome(t, forwarded(t, g, path, body), append(strings.Split(stream, ""), "")); got != want {
					t.Fatalf("%s, %s, whole %v, in single bytes:\n%s\nwant\n%s", name, path, whole, got, want)
				}
			}
		}
	}
}

// A server that gives up has not answered: a whole answer is a typed error, and so is a stream without a token.
func TestAborted(t *testing.T) {
	const abort = "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"token_ids\":[]," +
		"\"finish_reason\":\"abort\"}]}\n\ndata: [DONE]\n\n"
	token := "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"token_ids\":[200005,17196,200008,13225]}]}\n\n"
	for _, tt := range []struct {
		stream bool
		events string
		status int
	}{{false, abort, 502}, {false, token + abort, 502}, {true, abort, 502}, {true, token + abort, 200}} {
		x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(tt.stream))
		x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"}, testNow)
		a := x.ResponseBody([]byte(tt.events), true, testNow)
		switch {
		case tt.status == 502 && (a.Reply == nil || a.Reply.Status != 502):
			t.Errorf("stream %v: got %+v", tt.stream, a)
		case tt.status == 200 && (a.Head == nil || a.Head.Status != 200 || !strings.Contains(string(a.Body), `"error":`)):
			t.Errorf("stream %v: got %+v", tt.stream, a)
		}
	}
}

func TestHeadersOnly(t *testing.T) {
	for _, tt := range []struct {
		head   ResponseHead
		status int
	}{
		{ResponseHead{Status: 429, RetryAfter: "7", End: true}, 429},
		{ResponseHead{Status: 204, End: true}, 502},
		{ResponseHead{Status: 302, End: true}, 502},
		{ResponseHead{Status: 200, ContentType: "text/event-stream", End: true}, 502},
		{ResponseHead{Status: 503, Local: true, End: true}, 503},
	} {
		x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
		a := x.ResponseHeaders(tt.head, testNow)
		if a.Reply == nil || a.Reply.Status != tt.status || a.Reply.RetryAfter != tt.head.RetryAfter {
			t.Errorf("%+v: got %+v", tt.head, a.Reply)
		}
		if !x.Alone() {
			t.Errorf("%+v: our own reply would be rewritten", tt.head)
		}
	}
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	if a := x.ResponseHeaders(ResponseHead{Status: 503, Local: true, ContentType: "application/json"}, testNow); !a.Pass {
		t.Errorf("a reply that the proxy has shaped is rewritten: %+v", a)
	}
}

func TestTrailers(t *testing.T) {
	stream := answerOf("<|channel|>final<|message|>Hi<|return|>")
	// A finished answer is out before the trailers come.
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(false))
	x.ResponseHeaders(eventStream, testNow)
	if a := x.ResponseBody([]byte(stream), false, testNow); a.Head == nil ||
		!strings.Contains(string(a.Body), `"finish_reason":"stop"`) {
		t.Fatalf("got %+v", a)
	}
	if a := x.ResponseTrailers(); a.Reply != nil || a.Reset {
		t.Errorf("got %+v", a)
	}
	// One that is not is an error while it can be one, and a cut after that.
	x = forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	x.ResponseHeaders(eventStream, testNow)
	if a := x.ResponseTrailers(); a.Reply == nil || a.Reply.Status != 502 {
		t.Errorf("got %+v", a)
	}
	x = forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	x.ResponseHeaders(eventStream, testNow)
	x.ResponseBody([]byte(stream[:len(stream)/2]), false, testNow)
	if a := x.ResponseTrailers(); !a.Reset {
		t.Errorf("got %+v", a)
	}
	// A failed response that ends with trailers is still put into our shape.
	x = forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	x.ResponseHeaders(ResponseHead{Status: 500, ContentType: "application/json"}, testNow)
	x.ResponseBody([]byte(`{"error":{"message":"boom"}}`), false, testNow)
	if a := x.ResponseTrailers(); a.Reply == nil || a.Reply.Status != 500 ||
		!strings.Contains(string(a.Reply.Body), "boom") {
		t.Errorf("got %+v", a)
	}
}

func TestStalls(t *testing.T) {
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	if a := x.Stalled(testNow + testLimit - 1); a.Reply != nil || a.Reset {
		t.Errorf("given up too early: %+v", a)
	}
	x.ResponseHeaders(eventStream, testNow+testLimit)
	if a := x.Stalled(testNow + testLimit + 1); a.Reply != nil || a.Reset {
		t.Errorf("a sign of life does not count: %+v", a)
	}
	if a := x.Stalled(testNow + 2*testLimit); a.Reply == nil || a.Reply.Status != 504 {
		t.Errorf("before the first token: %+v", a)
	}
	x = forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	x.ResponseHeaders(eventStream, testNow)
	stream := answerOf("<|channel|>final<|message|>Hi<|return|>")
	x.ResponseBody([]byte(stream[:len(stream)/2]), false, testNow)
	if a := x.Stalled(testNow + testLimit); !a.Reset {
		t.Errorf("after the first token: %+v", a)
	}
	if a := x.Stalled(testNow + 3*testLimit); a.Reset || a.Reply != nil {
		t.Errorf("given up twice: %+v", a)
	}
	x = forwarded(t, testGateway(func(o *Options) { o.StallTimeoutMS = 0 }), "/v1/chat/completions", chatBody(true))
	if a := x.Stalled(testNow + 1e12); a.Reply != nil || a.Reset {
		t.Errorf("without a limit: %+v", a)
	}
}

// FuzzServerStream: whatever a server sends, however it is cut, the exchange gives the client one outcome.
func FuzzServerStream(f *testing.F) {
	f.Add([]byte(answerOf("<|channel|>final<|message|>Hi<|return|>")), uint8(3), true)
	f.Add([]byte("data: {\"choices\":[{\"token_ids\":[1,2,999999]}]}\n\ndata: {\"error\":{}}\n\n"), uint8(1), false)
	g := testGateway(nil)
	f.Fuzz(func(t *testing.T, stream []byte, size uint8, streamed bool) {
		if len(stream) > 1<<14 {
			return
		}
		want := outcome(t, forwarded(t, g, "/v1/chat/completions", chatBody(streamed)), []string{string(stream), ""})
		var pieces []string
		for rest := string(stream); rest != ""; {
			n := min(int(size)+1, len(rest))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		got := outcome(t, forwarded(t, g, "/v1/chat/completions", chatBody(streamed)), append(pieces, ""))
		// A server that goes on behind a failure is cut off when its next chunk comes, if one comes.
		got, want = strings.TrimSuffix(got, "(cut)"), strings.TrimSuffix(want, "(cut)")
		if got != want {
			t.Fatalf("in pieces of %d:\n%s\nwant\n%s", int(size)+1, got, want)
		}
	})
}

// The proxy-wasm SDK's strings lie in the memory that the host reads into, which a large body overwrites.
func TestHostStringsAreNotKept(t *testing.T) {
	memory := []byte("/v1/completions?" + strings.Repeat("q", 40))
	x := testGateway(nil).Begin("POST", unsafe.String(&memory[0], len(memory)))
	body := `{"model":"unknown","prompt":"x"}`
	copy(memory, body)
	if a := x.Request([]byte(body), Host{Now: testNow, ID: testID}); a.Reply == nil || a.Reply.Status != 404 {
		t.Errorf("got %+v", a)
	}
	memory = []byte("120")
	x = forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	x.ResponseHeaders(ResponseHead{Status: 503, RetryAfter: unsafe.String(&memory[0], len(memory))}, testNow)
	copy(memory, "abc")
	x.ResponseBody([]byte("x"), false, testNow)
	if a := x.ResponseTrailers(); a.Reply == nil || a.Reply.RetryAfter != "120" {
		t.Errorf("got %+v", a.Reply)
	}
}

func TestClipKeepsCharactersWhole(t *testing.T) {
	if got := clip("a" + strings.Repeat("é", 150)); !utf8.ValidString(got) {
		t.Errorf("got %q", got)
	}
}

// No server can answer a request that has not gone to one; a host that says so all the same does not stop the VM.
func TestResponseBeforeTheRequest(t *testing.T) {
	x := testGateway(nil).Begin("POST", "/v1/chat/completions")
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"}, testNow)
	if a := x.ResponseBody([]byte("data: {\"choices\":[]}\n\n"), true, testNow); a.Head == nil || a.Head.Status != 502 {
		t.Errorf("got %+v", a)
	}
}

func TestEndlessServer(t *testing.T) {
	body := strings.Replace(chatBody(false), `{`, `{"max_tokens":1,`, 1)
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", body)
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"}, testNow)
	events := strings.Repeat("data: {\"choices\":[{\"token_ids\":[13225]}]}\n\n", 100)
	if a := x.ResponseBody([]byte(events), false, testNow); a.Reply == nil || a.Reply.Status != 502 {
		t.Errorf("got %+v", a)
	}
}

// The limit on an event's size is not one on what the network delivers at once.
func TestLargeChunk(t *testing.T) {
	good := answerOf("<|channel|>final<|message|>Hi<|return|>")
	events := strings.Repeat("data: {\"choices\":[]}\n\n", 5<<20/22) + good
	want := outcome(t, forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(false)), []string{good, ""})
	if got := outcome(t, forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(false)),
		[]string{events, ""}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTokensAreCountedWhereTheServerDoesNot(t *testing.T) {
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(false))
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"}, testNow)
	a := x.ResponseBody([]byte("data: {\"choices\":[{\"token_ids\":[200005,17196,200008,13225,200002],"+
		"\"finish_reason\":\"stop\"}]}\n\n"+
		"data: [DONE]\n\n"), true, testNow)
	if !strings.Contains(string(a.Body), `"completion_tokens":5`) {
		t.Errorf("got %s", a.Body)
	}
}

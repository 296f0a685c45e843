package exchange

import (
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
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
				Name: testModel, Pool: "pool-1", PoolName: "gpus", Policy: contract.PolicySession,
				Server: contract.VLLM, ServerModel: "openai/gpt-oss",
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
		t.Fatalf("the gateway does not take %s", path)
	}
	if a := x.Request([]byte(body), Host{Now: testNow, ID: testID}); a.Forward == nil {
		t.Fatalf("not forwarded: %+v", a)
	}
	return x
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
	status := 0
	var body strings.Builder
	if a := x.ResponseHeaders(eventStream); !a.Hold {
		t.Fatalf("headers are not held: %+v", a)
	}
	for i, p := range pieces {
		chunk := []byte(p)
		a := x.ResponseBody(chunk, i == len(pieces)-1)
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
		body.Write(a.Body)
		if a.Reset || a.ResetAfter {
			return strconv.Itoa(status) + " " + body.String() + "(cut)"
		}
	}
	return strconv.Itoa(status) + " " + body.String()
}

// TestEveryCut: wherever the network cuts a server's stream in two, and in single bytes, the client gets the same.
func TestEveryCut(t *testing.T) {
	valid := answerOf("<|channel|>analysis<|message|>Hm " +
		"😀.<|end|><|start|>assistant<|channel|>final<|message|>Hé!<|return|>")
	events := strings.SplitAfter(valid, "\n\n")
	for name, stream := range map[string]string{
		"good":          valid,
		"no finish":     strings.Join(events[:5], ""),
		"error at once": "data: {\"error\":{\"message\":\"no\",\"code\":503}}\n\ndata: [DONE]\n\n",
		"error in mid-way": strings.Join(events[:5], "") + "data: {\"error\":{\"message\":\"no\"," +
			"\"code\":500}}\n\ndata: [DONE]\n\n",
		"garbage":           strings.Join(events[:5], "") + "data: {{{\n\n",
		"garbage at once":   "data: {{{\n\n" + valid,
		"nothing":           "",
		"closed after stop": strings.Join(events[:len(events)-3], ""),
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
		// A server that continues after a failure is cut off at its next chunk, if there is one.
		got, want = strings.TrimSuffix(got, "(cut)"), strings.TrimSuffix(want, "(cut)")
		if got != want {
			t.Fatalf("in pieces of %d:\n%s\nwant\n%s", int(size)+1, got, want)
		}
	})
}

// The limit on an event's size is not one on what the network delivers at once.
func TestLargeChunk(t *testing.T) {
	valid := answerOf("<|channel|>final<|message|>Hi<|return|>")
	events := strings.Repeat(": still here, still here\n\n", 5<<20/26) + valid
	want := outcome(t, forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(false)), []string{valid, ""})
	if got := outcome(t, forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(false)),
		[]string{events, ""}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTokensAreCountedWhereTheServerDoesNot(t *testing.T) {
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(false))
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
	a := x.ResponseBody([]byte("data: {\"choices\":[{\"token_ids\":[200005,17196,200008,13225,200002],"+
		"\"finish_reason\":\"stop\"}]}\n\n"+
		"data: [DONE]\n\n"), true)

	if !strings.Contains(string(a.Body), `"completion_tokens":5`) {
		t.Errorf("got %s", a.Body)
	}
}

package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// streamOfTokens returns the events of an answer with n words of reasoning and n words of text, one token an event.
func streamOfTokens(n int) []string {
	text := strings.Repeat(" and so on", n/3)
	ids := o200k.Tokenizer().AppendEncodeSpecial(nil,
		"<|channel|>analysis<|message|>"+text+"<|end|><|start|>assistant<|channel|>final<|message|>"+text+"<|return|>")
	var events []string
	for i, id := range ids {
		event := []byte(`data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,` +
			`"text":"","logprobs":null,"finish_reason":` + "null")
		if i == len(ids)-1 {
			event = append(event[:len(event)-4], `"stop"`...)
		}
		event = rawjson.AppendInt(append(event, `,"stop_reason":null,"prompt_token_ids":null,"token_ids":[`...), int64(id))
		events = append(events, string(append(event, "]}]}\n\n"...)))
	}
	return append(events, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":9}}\n\n",
		"data: [DONE]\n\n")
}

// BenchmarkResponse is a token's way through an exchange: a stream of one token an event, reasoning and an answer of 400
// tokens each, in chunks of one event. Compare runs with benchstat:
//
//	go test -run - -bench Response -count 10 ./harmonycore/exchange
//
// The filter's compiler has another collector and other costs:
//
//	tinygo test -opt=2 -target=.tools/tinygo/test.json -run - -bench Response -benchmem ./harmonycore/exchange
func BenchmarkResponse(b *testing.B) {
	for _, api := range []struct{ name, path, body string }{
		{"chat", "/v1/chat/completions", chatBody(true)},
		{"responses", "/v1/responses", `{"model":"gpt-oss-120b","input":"hi","stream":true}`},
		{"messages", "/v1/messages", messagesStream},
	} {
		b.Run(api.name, func(b *testing.B) { benchmarkResponse(b, api.path, api.body) })
	}
}

// messagesStream asks for a stream of Messages that shows the reasoning.
const messagesStream = `{"model":"gpt-oss-120b","max_tokens":100000,"stream":true,"thinking":{"type":"adaptive"},` +
	`"messages":[{"role":"user","content":"hi"}]}`

func benchmarkResponse(b *testing.B, path, body string) {
	events := streamOfTokens(400)
	g := testGateway(nil)
	chunk := make([]byte, 0, 4096)
	var x *Exchange
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N { // TinyGo has no b.Loop
		at := i % len(events)
		if at == 0 {
			x = forwarded(b, g, path, body)
			x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
		}
		chunk = append(chunk[:0], events[at]...)
		x.ResponseBody(chunk, false)
	}
}

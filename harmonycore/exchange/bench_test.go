package exchange

import (
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// BenchmarkResponse is the response's way through an exchange: a stream of one token an event, reasoning and an answer
// of 400 tokens each, in chunks of one event. Compare runs with benchstat:
//
//	go test -run - -bench Response -count 10 ./harmonycore/exchange
func BenchmarkResponse(b *testing.B) {
	text := strings.Repeat(" and so on", 133)
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
	events = append(events, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":9}}\n\n",
		"data: [DONE]\n\n")
	g := testGateway(nil)
	chunk := make([]byte, 0, 4096)
	b.ReportAllocs()
	began := time.Now() // TinyGo has no b.Elapsed
	for b.Loop() {
		x := forwarded(b, g, "/v1/chat/completions", chatBody(true))
		x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"}, testNow)
		for _, event := range events {
			chunk = append(chunk[:0], event...)
			x.ResponseBody(chunk, false, testNow)
		}
	}
	b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(b.N)/float64(len(ids)), "ns/token")
}

package backend

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkChunks reads a token per chunk, from servers that answer in text. For a comparison:
//
//	go test -run - -bench Chunks -count 10 ./harmonycore/backend | benchstat -col /form -
func BenchmarkChunks(b *testing.B) {
	for _, f := range []struct {
		name   string
		kind   Kind
		before string
		chunk  func(i int) string
	}{
		{"text", text{}, "", func(i int) string {
			return fmt.Sprintf(`{"id":"cmpl-3f1c","object":"text_completion","created":1764131046,"model":"qwen3-8b",`+
				`"choices":[{"index":0,"text":" tok%d","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":null}`,
				i%10)
		}},
		{"content", chat{}, "", func(i int) string { return vllmDelta(fmt.Sprintf(`{"content":" tok%d"}`, i%10), "null") }},
		{"reasoning", chat{}, "", func(i int) string {
			return vllmDelta(fmt.Sprintf(`{"reasoning":" tok%d","reasoning_content":" tok%d"}`, i%10, i%10), "null")
		}},
		{"arguments", chat{}, vllmDelta(`{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f",`+
			`"arguments":""}}]}`, "null"), func(i int) string {
			return vllmDelta(fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":" tok%d"}}]}`, i%10), "null")
		}},
		{"logprobs", chat{}, "", func(i int) string {
			return vllmDelta(fmt.Sprintf(`{"content":" tok%d"}`, i%10), fmt.Sprintf(`{"content":[{"token":"token_id:%d",`+
				`"logprob":-0.0%d,"bytes":[32,116,111,107],"top_logprobs":[]}]}`, i, i))
		}},
		{"parsed", chat{}, "", func(i int) string { // no two chunks are alike
			return vllmDelta(fmt.Sprintf(`{"content":[{"type":"text","text":" tok%d"}]}`, i%10), "null")
		}},
	} {
		b.Run("form="+f.name, func(b *testing.B) {
			var stream strings.Builder
			for i := range 1000 {
				stream.WriteString("data: " + f.chunk(i) + "\n\n")
			}
			r := f.kind.NewReader()
			var e Event
			read := func(chunk string) {
				r.Write([]byte(chunk))
				for r.Next(&e) != Drained {
				}
			}
			if f.before != "" {
				read("data: " + f.before + "\n\n")
			}
			read(stream.String())
			chunk := []byte(stream.String())
			b.ReportAllocs()
			b.ResetTimer()
			begin := time.Now()
			for range b.N {
				r.Write(chunk)
				for r.Next(&e) != Drained {
				}
			}
			b.ReportMetric(float64(time.Since(begin).Nanoseconds())/float64(b.N)/1000, "ns/chunk")
		})
	}
}

// vllmDelta is a chunk of vLLM's with this delta and these logprobs.
func vllmDelta(delta, logprobs string) string {
	return `{"id":"chatcmpl-3f1c","object":"chat.completion.chunk","created":1764131046,"model":"qwen3-8b","choices":[{` +
		`"index":0,"delta":` + delta + `,"logprobs":` + logprobs + `,"finish_reason":null,"token_ids":null}]}`
}

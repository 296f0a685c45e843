package exchange

import (
	"runtime"
	"testing"
)

// TestChunksAllocateNothing: the steady state of a stream makes no garbage. A response repeats its text at its end, so
// it keeps the text, which grows by doubling.
func TestChunksAllocateNothing(t *testing.T) {
	const chunks = 1000
	for _, tt := range []struct {
		name, path, body string
		most             uint64
	}{
		{"chat", "/v1/chat/completions", chatBody(true), 0},
		{"responses", "/v1/responses", `{"model":"gpt-oss-120b","input":"hi","stream":true}`, 3},
	} {
		events := streamOfTokens(5 * chunks)
		x := forwarded(t, testGateway(func(o *Options) { o.Models[0].ContextLength = 1 << 17 }), tt.path, tt.body)
		x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
		chunk, size := make([]byte, 0, 4096), 0
		send := func() {
			for _, event := range events[:chunks] {
				chunk = append(chunk[:0], event...)
				size += len(x.ResponseBody(chunk, false).Body)
			}
			events = events[chunks:]
		}
		send() // the headers, and the buffers' first sizes
		least := ^uint64(0)
		for range 3 { // others may allocate at the same time
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			send()
			runtime.ReadMemStats(&after)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		if least > tt.most || size < 4*chunks*100 {
			t.Errorf("%s: %d chunks cost %d allocations, %d bytes were sent", tt.name, chunks, least, size)
		}
	}
}

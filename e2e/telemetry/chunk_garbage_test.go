//go:build e2e

package telemetry

import (
	"fmt"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// chunkStreams are the streams whose chunks are measured. most is how many bytes of heap 10,000 chunks may take. A
// response repeats its text at its end, and an event of a call has the conversation. The kept text grows by doubling.
var chunkStreams = []struct {
	name, path, body string
	headers          []string
	most             uint64
}{
	{"chat", "/v1/chat/completions", `"messages":[{"role":"user","content":"Hi"}]`, nil, 8 << 10},
	{"channels", "/v1/chat/completions", `"messages":[{"role":"user","content":"Hi"}]`,
		[]string{"x-harmony-events", "channels"}, 512 << 10},
	{"responses", "/v1/responses", `"input":"Hi"`, nil, 512 << 10},
}

// sentChunks sends n chunks of one token each to a stream.
func sentChunks(x *filtertest.Exchange, n int) {
	for i := range n {
		x.SendResponse(fmt.Sprintf(`data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{`+
			`"index":0,"text":"","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,`+
			`"token_ids":[%d]}]}`+"\n\n", 1000+i%9000))
	}
}

// TestChunksMakeNoGarbage: in the shipped filter, the heap in use does not grow with the chunks of a stream.
func TestChunksMakeNoGarbage(t *testing.T) {
	const chunks = 10_000
	for _, tt := range chunkStreams {
		t.Run(tt.name, func(t *testing.T) {
			host := filtertest.New(t, lab.Tool(t, "HARMONY_WASM"),
				`{"schema":1,"models":[{"name":"gpt-oss-120b","server_model":"m"}]}`)
			x := host.Request("POST", tt.path, `{"model":"gpt-oss-120b","stream":true,`+tt.body+`}`,
				append([]string{"content-type", "application/json"}, tt.headers...)...)
			x.BeginResponse(200, "content-type", "text/event-stream")
			x.SendResponse(`data: {"choices":[{"index":0,"token_ids":[200005,17196,200008]}]}` + "\n\n")
			inUse := func(n int) uint64 {
				sentChunks(x, n)
				host.Advance(250 * time.Millisecond) // one tick: it measures the heap, and the moment is not a quiet one
				return host.Metrics()["harmony_vm_heap_bytes"]
			}
			before := inUse(1000) // the buffers grow to their sizes
			if after := inUse(chunks); after < before || after > before+tt.most {
				t.Errorf("the heap in use was %d bytes, and is %d after %d chunks", before, after, chunks)
			}
			if n := host.Metrics()["harmony_response_chunks_total"]; n != chunks+1001 {
				t.Errorf("%d chunks were counted", n)
			}
		})
	}
}

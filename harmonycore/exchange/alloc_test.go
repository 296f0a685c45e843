package exchange

import (
	"runtime"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
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
		{"messages", "/v1/messages", messagesStream, 0},
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

// TestStreamsShareMemory checks that large pieces of all streams lie in the same memory, if the host has some for them.
// Memory for the largest is not kept.
func TestStreamsShareMemory(t *testing.T) {
	gateway, scratch := testGateway(func(o *Options) { o.Models[0].ContextLength = 1 << 17 }), &Scratch{}
	events := streamOfTokens(20_000)
	var streams []*Exchange
	for range 2 {
		x := gateway.Begin("POST", "/v1/chat/completions")
		if a := x.Request([]byte(chatBody(true)), Host{Now: testNow, ID: testID, Scratch: scratch}); a.Forward == nil {
			t.Fatalf("%+v", a)
		}
		x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
		x.ResponseBody([]byte(strings.Join(events[:100], "")), false)
		streams = append(streams, x)
	}
	large := strings.Join(events[100:200], "")
	for _, x := range streams {
		small := x.ResponseBody([]byte(events[100]), false).Body
		memory := scratch.answer[:1]
		if got := x.ResponseBody([]byte(large), false).Body; len(got) < 100*100 || &got[0] != &memory[0] {
			t.Errorf("%d bytes are not in the shared memory of %d", len(got), cap(memory))
		}
		if len(small) == 0 || cap(small) > translate.MaxKeptBuffer {
			t.Errorf("%d bytes are in memory of %d", len(small), cap(small))
		}
	}
	if got := streams[0].ResponseBody([]byte(strings.Join(events[200:], "")), false).Body; len(got) < maxKeptAnswer ||
		cap(scratch.answer) > maxKeptAnswer {
		t.Errorf("of %d bytes %d are kept", len(got), cap(scratch.answer))
	}
}

// TestLargeEventsShareMemory: the first and the last events of a streamed response have its instructions. They lie in
// the memory that streams share, however small the server's pieces are.
func TestLargeEventsShareMemory(t *testing.T) {
	gateway, scratch := testGateway(func(o *Options) { o.Models[0].ContextLength = 1 << 17 }), &Scratch{}
	instructions := strings.Repeat("Be kind. ", 1000)
	body := `{"model":"gpt-oss-120b","input":"hi","stream":true,"instructions":"` + instructions + `"}`
	for answer := range 2 {
		x := gateway.Begin("POST", "/v1/responses")
		if a := x.Request([]byte(body), Host{Now: testNow, ID: testID, Scratch: scratch}); a.Forward == nil {
			t.Fatalf("%+v", a)
		}
		x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
		large := 0
		for _, event := range streamOfTokens(30) {
			shared := scratch.answer
			got := x.ResponseBody([]byte(event), false).Body
			if len(got) < len(instructions) {
				continue
			}
			large++
			if answer > 0 && &got[0] != &shared[:1][0] {
				t.Errorf("%d bytes are not in the shared memory of %d", len(got), cap(shared))
			}
		}
		if large != 2 {
			t.Errorf("%d pieces have the instructions, want 2", large)
		}
	}
}

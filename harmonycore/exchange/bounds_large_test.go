//go:build !tinygo

package exchange

// Not under TinyGo: the garbage would make its heap large for every test that follows.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestLongestAnswers: a response whose text its last events would repeat, and a call that channel events tell in one
// piece, end with an error before they are too large for a VM.
func TestLongestAnswers(t *testing.T) {
	wide, err := json.Marshal(slices.Repeat(o200k.Tokenizer().AppendEncode(nil, strings.Repeat("=", 64)), 1000))
	if err != nil {
		t.Fatal(err)
	}
	event := fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"token_ids\":%s}]}\n\n", wide)
	g := testGateway(func(o *Options) { o.Models[0].ContextLength = 4 << 20 })
	const tool = `"tools":[{"type":"function","function":{"name":"f"}}],`
	for _, tt := range []struct{ name, path, body, begin, header string }{
		{
			"response", "/v1/responses", `{"model":"gpt-oss-120b","input":"Hi","stream":true}`, "<|channel|>final<|message|>",
			"",
		},
		{
			"channel events", "/v1/chat/completions", "{" + tool + chatBody(true)[1:],
			"<|channel|>commentary to=functions.f<|message|>", contract.EventsChannels,
		},
	} {
		x := g.Begin("POST", tt.path)
		if tt.header != "" {
			x.Header(contract.EventsHeader, tt.header)
		}
		if a := x.Request([]byte(tt.body), Host{Now: testNow, ID: testID}); a.Forward == nil {
			t.Fatalf("%s: not forwarded: %+v", tt.name, a)
		}
		x.ResponseHeaders(eventStream)
		x.ResponseBody([]byte(serverChunk(0, tt.begin, "")), false)
		sent, got := 0, ""
		for ; sent < 12<<20 && got == ""; sent += 64_000 {
			a := x.ResponseBody([]byte(event), false)
			if a.Reply != nil {
				got = string(a.Reply.Body) // of a call the client has heard nothing yet
			} else if strings.Contains(string(a.Body), "response.failed") {
				got = string(a.Body)
			}
		}
		if !strings.Contains(got, "larger than the gateway can hold") {
			t.Errorf("%s: %.300s", tt.name, got)
		}
		if sent < 8<<20 || sent >= 12<<20 {
			t.Errorf("%s: the answer ended after %d bytes", tt.name, sent)
		}
	}
}

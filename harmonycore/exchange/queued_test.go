package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// queuedGateway is a gateway whose model's requests may wait for ten seconds.
func queuedGateway(t func(*Options)) *Gateway {
	return testGateway(func(o *Options) {
		o.Models[0].Routing.QueueMS = 10_000
		if t != nil {
			t(o)
		}
	})
}

// TestCost: a queue is told what a request costs, and whose it is.
func TestCost(t *testing.T) {
	raw := func(o *Options) {
		keyed(o)
		o.Models[0].RawPrompts, o.Models[0].Translate = contract.RawPromptsAllow, "0%"
	}
	for _, tt := range []struct {
		path, rest string
		change     func(*Options)
		want       string // of the cost but the prompt's tokens and the body's bytes
	}{
		{contract.ChatPath, `"messages":[{"role":"user","content":"x"}],"max_tokens":7`, keyed, "7 b"},
		{contract.ChatPath, `"messages":[{"role":"user","content":"x"}],"max_tokens":7,"n":2`, keyed, "14 b"},
		{contract.ChatPath, `"messages":[{"role":"user","content":"x"}],"max_tokens":7`, nil, "7 "},
		{contract.ResponsesPath, `"input":"x","max_output_tokens":19`, nil, "19 "},
		{contract.CompletionsPath, `"prompt":"x","max_tokens":7`, raw, "7 b"},
		{contract.ChatPath, `"messages":[{"role":"user","content":"x"}],"max_tokens":7`, raw, "7 b"},
	} {
		x := queuedGateway(tt.change).Begin("POST", tt.path)
		x.Header("authorization", "Bearer key-b")
		body := `{"model":"` + testModel + `",` + tt.rest + `}`
		a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
		if a.Forward == nil {
			t.Errorf("%s %s: %s", tt.path, body, a.Reply.Body)
			continue
		}
		var prompt, answer, bytes int
		got := internalOf(a.Forward.Internal, contract.CostHeader)
		_, _ = fmt.Sscanf(got, "%d %d %d", &prompt, &answer, &bytes)
		client := got[strings.LastIndexByte(got, ' ')+1:]
		if prompt < 3 || prompt > 500 || bytes != len(body) || fmt.Sprint(answer, " ", client) != tt.want {
			t.Errorf("%s %s: it costs %q, want %q", tt.path, body, got, tt.want)
		}
	}
	x := testGateway(keyed).Begin("POST", contract.ChatPath)
	x.Header("authorization", "Bearer key-b")
	a := x.Request([]byte(`{"model":"`+testModel+`","messages":[{"role":"user","content":"x"}]}`), Host{Now: testNow,
		ID: testID})
	if got := internalOf(a.Forward.Internal, contract.CostHeader); got != "" {
		t.Errorf("without a queue a request has the cost %q", got)
	}
}

// TestUnknownAnswer: an answer whose length is not said costs what one is expected to have, also where a reservation is
// of the whole context.
func TestUnknownAnswer(t *testing.T) {
	x := queuedGateway(func(o *Options) {
		keyed(o)
		o.Models[0].Translate, o.Models[0].ContextLength = "0%", 100_000
	}).Begin("POST", contract.ChatPath)
	x.Header("authorization", "Bearer key-b")
	a := x.Request([]byte(`{"model":"`+testModel+`","messages":[{"role":"user","content":"x"}]}`), Host{Now: testNow,
		ID: testID})
	cost := strings.Fields(internalOf(a.Forward.Internal, contract.CostHeader))
	if len(cost) != 4 || cost[1] != fmt.Sprint(contract.DefaultExpectedAnswer) ||
		internalOf(a.Forward.Internal, contract.ReserveHeader) != "100000" {
		t.Errorf("it costs %q, of %v", cost, a.Forward.Internal)
	}
}

// TestQueuedIsNotStalled: a request that may wait for a server is given up later. One whose answer has begun is not.
func TestQueuedIsNotStalled(t *testing.T) {
	for _, begun := range []bool{false, true} {
		x := queuedGateway(func(o *Options) { o.StallTimeoutMS = 1000 }).Begin("POST", contract.ChatPath)
		body := `{"model":"` + testModel + `","messages":[{"role":"user","content":"x"}],"stream":true}`
		if a := x.Request([]byte(body), Host{Now: testNow, ID: testID}); a.Forward == nil {
			t.Fatal("the request is refused")
		}
		limit := int64(11_000)
		if begun {
			x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
			limit = 1000
		}
		x.Stalled(testNow) // what has come until now has come now
		if a := x.Stalled(testNow + limit - 1); a.Reply != nil || a.Reset {
			t.Errorf("begun %t: the request is given up early", begun)
		}
		if a := x.Stalled(testNow + limit); a.Reply == nil || a.Reply.Status != 504 {
			t.Errorf("begun %t: the request is not given up: %+v", begun, a)
		}
	}
}

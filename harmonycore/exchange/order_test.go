package exchange

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// orderGateways are one of each way in which a gateway can work.
var orderGateways = sync.OnceValue(func() []*Gateway {
	reduced := func(o *Options) { o.Mode = contract.ModeReduced }
	return []*Gateway{
		testGateway(nil),
		testGateway(reduced),
		testGateway(func(o *Options) { o.Passthrough = true }),
		testGateway(func(o *Options) {
			o.Mode, o.Passthrough, o.Models[0].RawPrompts = contract.ModeReduced, true, contract.RawPromptsAllow
		}),
		testGateway(func(o *Options) {
			o.ResponsesService = contract.ResponsesService{Pool: "service", Stores: true, HostedTools: true}
		}),
		testGateway(func(o *Options) { o.Models[0].Answers.Strict = true }),
		testGateway(func(o *Options) { o.Models = nil }),
		testGateway(func(o *Options) { o.Models[0].Server = contract.Chat }),
		testGateway(func(o *Options) { o.Models[0].Server, o.Mode = contract.Chat, contract.ModeReduced }),
		testGateway(func(o *Options) {
			o.Models[0].Server, o.Models[0].Answers.MaxChoices = contract.Chat, contract.MaxChoices
		}),
		testGateway(func(o *Options) { o.Models[0].Translate = contract.TranslateObserve }),
		testGateway(func(o *Options) {
			o.Models[0].Server, o.Models[0].Translate = contract.Chat, contract.TranslateObserve
		}),
		Misconfigured(),
	}
})

var (
	orderRequests = []struct{ method, path string }{
		{"POST", "/v1/chat/completions"}, {"POST", "/v1/responses"}, {"POST", "/v1/completions"}, {"GET", "/v1/models"},
		{"GET", "/v1/models/m"},
		{"POST", "/tokenize"}, {"POST", "/v1/responses/input_tokens"}, {"GET", "/v1/responses/resp_1"}, {"POST", "/v1/embeddings"},
		{"POST", "/v1/messages"}, {"POST", "/v1/messages/count_tokens"},
	}
	orderBodies = []string{
		chatBody(true), chatBody(false), `{"model":"` + testModel + `","input":"Hi","stream":true}`,
		`{"model":"` + testModel + `","prompt":"Hi"}`,
		`{"model":"other"}`, `{"prompt":"Hi"}`, ``, `{`,
	}
	orderHeads = []ResponseHead{
		{Status: 200, ContentType: "text/event-stream"}, {Status: 200, ContentType: "application/json"},
		{Status: 503, ContentType: "application/json", RetryAfter: "1"},
		{Status: 503, ContentType: "text/plain", Local: true},
		{Status: 503, ContentType: "application/json", Local: true},
		{Status: 200, ContentType: "text/event-stream", End: true}, {End: true},
	}
	orderChunks = []string{
		answerOf("<|channel|>final<|message|>Hi<|return|>"),
		answerOf("<|channel|>analysis<|message|>Hi"),
		"data: {\"choices\":[{\"token_ids\":[200005,17196,200008,13225]}]}\n\n",
		chunks("stop", content("Hi")), chunks("", content("<think>Hi")), `{"count":1}`,
		"data: {\"error\":{}}\n\n", "data: [DONE]\n\n", `{"data":[]}`, "data: {", "",
	}
)

// callInOrder calls an exchange as the bytes say. Each byte chooses a method and its arguments.
func callInOrder(t *testing.T, gateway, request uint8, calls []byte) {
	t.Helper()
	gateways := orderGateways()
	r := orderRequests[int(request)%len(orderRequests)]
	x := gateways[int(gateway)%len(gateways)].Begin(r.method, r.path)
	if x == nil {
		return
	}
	now := int64(testNow)
	whole := func(r *Reply) {
		t.Helper()
		if r != nil && (r.Status < 200 || r.Status > 599 || !json.Valid(r.Body)) {
			t.Fatalf("% x: status %d, %s", calls, r.Status, r.Body)
		}
	}
	// A reply of our own takes the response's place: what passes from there on is the reply.
	replied := func(a ResponseAction) {
		t.Helper()
		if whole(a.Reply); a.Reply != nil && !x.PassesThrough() {
			t.Fatalf("% x: %d is answered, and the exchange goes on", calls, a.Reply.Status)
		}
	}
	for _, call := range calls[:min(len(calls), 64)] {
		argument := int(call / 10)
		now += int64(argument)
		switch call % 10 {
		case 0:
			whole(x.RequestHeaders().Reply)
		case 1:
			x.Header([]string{contract.StrictHeader, contract.EventsHeader, "", "x"}[argument%4],
				[]string{"1", "channels", ""}[argument%3])
		case 2:
			body := orderBodies[argument%len(orderBodies)]
			a := x.Request([]byte(body), Host{Now: now, ID: testID, Admit: func(int) bool { return argument%16 != 15 }})
			if a.Full && argument%32 == 15 {
				a.Reply = x.Overloaded()
			}
			whole(a.Reply)
		case 3:
			replied(x.ResponseHeaders(orderHeads[argument%len(orderHeads)]))
		case 4, 5:
			replied(x.ResponseBody([]byte(orderChunks[argument%len(orderChunks)]), call%10 == 5))
		case 6:
			replied(x.ResponseTrailers())
		case 7:
			now += testLimit * int64(argument%2)
			replied(x.Stalled(now))
		case 8:
			x.Report()
		case 9:
			if argument == 25 { // rarely, because nothing follows it
				whole(x.CannotForward())
			}
		}
	}
	x.Report()
}

// FuzzCallbackOrder: a host may call an exchange in any order, with anything. In a wasm VM whatever panics ends every
// stream of the worker.
func FuzzCallbackOrder(f *testing.F) {
	f.Add(uint8(0), uint8(0), []byte{4})
	f.Add(uint8(0), uint8(3), []byte{2, 5})
	f.Add(uint8(1), uint8(1), []byte{0, 22, 3, 4, 5, 6, 7, 8})
	f.Fuzz(callInOrder)
}

// TestShortCallbackOrders walks every order of up to three calls, whatever they are called with.
func TestShortCallbackOrders(t *testing.T) {
	calls := []byte{0, 2, 12, 22, 3, 13, 53, 4, 5, 24, 44, 55, 65, 6, 17}
	for gateway := range uint8(len(orderGateways())) {
		for request := range uint8(len(orderRequests)) {
			for _, a := range calls {
				for _, b := range calls {
					for _, c := range calls {
						callInOrder(t, gateway, request, []byte{a, b, c})
					}
				}
			}
		}
	}
}

func TestBodyBeforeAnythingElse(t *testing.T) {
	for name, begin := range map[string]func() *Exchange{
		"before the request": func() *Exchange { return testGateway(nil).Begin("POST", "/v1/chat/completions") },
		"before the headers": func() *Exchange {
			return forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
		},
	} {
		x := begin()
		a := x.ResponseBody([]byte(orderChunks[0]), true)
		if a.Reply == nil || a.Reply.Status != 502 || !x.PassesThrough() {
			t.Errorf("a body %s: %+v", name, a)
		}
		x = begin()
		if a := x.ResponseTrailers(); a.Reply == nil || a.Reply.Status != 502 {
			t.Errorf("trailers %s: %+v", name, a)
		}
	}
	x := testGateway(func(o *Options) { o.Passthrough = true }).Begin("GET", "/v1/models")
	x.Request(nil, Host{Now: testNow, ID: testID})
	if a := x.ResponseBody([]byte(`{"data":[]}`), true); a.Reply == nil || a.Reply.Status != 200 {
		t.Errorf("a list of models without headers: %+v", a)
	}
	x = testGateway(nil).Begin("GET", "/v1/models")
	if a := x.Stalled(testNow); a.Reply != nil {
		t.Errorf("given up before it was asked: %+v", a)
	}
}

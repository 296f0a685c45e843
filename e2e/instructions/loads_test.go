//go:build e2e

package instructions

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// load is something that the filter does, and what of it is counted.
type load struct {
	name, kind string
	// tapped is what a recorder is shown of all requests. Empty: there is none.
	tapped string
	// times is how often it is done. The table has the average.
	times uint64
	run   func(g *gateway)
	// alike reports whether the pool's policy is prefix.
	alike bool
	// repeats reports whether repetitions are looked for. The answers' own are shorter than what is one.
	repeats bool
	// session reports whether there are keys that seal, and a context for the longest prompt of a session.
	session bool
	// remembers reports whether the VM of a session has a memory of prefixes. Other loads have one.
	remembers bool
	// whole reports whether it takes seconds. Then only make instructions counts it.
	whole bool
}

const (
	// smallRequests are counted, after as many that are not.
	smallRequests = 50
	// chunks are counted, after others that are not: the buffers grow to their sizes.
	chunks, chunksBefore = 1000, 200
	// sentence is what answers repeat.
	sentence = " Zürich lies at the north end of its lake, 408 m above the sea, and has about 450,000 inhabitants."
	// longAnswer and shortAnswer are in the questions for such answers.
	longAnswer, shortAnswer = "a long answer", "a short answer"
)

// api is a client's API.
type api struct {
	name, path string
	headers    []string
	body       func(content string) string
}

var (
	chat = api{"Chat", contract.ChatPath, nil, func(content string) string {
		return `"messages":[{"role":"user","content":` + content + `}]`
	}}
	responses = api{"Responses", contract.ResponsesPath, nil, func(content string) string { return `"input":` + content }}
	messages  = api{"Messages", contract.MessagesPath, nil, func(content string) string {
		return `"max_tokens":32000,` + chat.body(content)
	}}
	logprobs = api{"Chat with logprobs", contract.ChatPath, nil, func(content string) string {
		return `"logprobs":true,"top_logprobs":5,` + chat.body(content)
	}}
	events = api{"channel events", contract.ChatPath, []string{contract.EventsHeader, "channels"}, chat.body}
)

// loads returns all loads, in the order of the table.
func loads() []load {
	all := []load{{name: "a VM starts", kind: contract.VLLM, times: 1,
		run: func(g *gateway) { g.sum, *g.counter.Root() = g.start, g.startProfile }}}
	add := func(name, kind, tapped string, times uint64, run func(*gateway)) {
		all = append(all, load{name: name, kind: kind, tapped: tapped, times: times, run: run})
	}
	for _, a := range []api{chat, responses, messages} {
		name := a.name + ", a small request: "
		add(name+"until it is sent", contract.VLLM, "", smallRequests, small(a, true, false))
		add(name+"its whole answer", contract.VLLM, "", smallRequests, small(a, false, false))
		add(name+"its answer, streamed", contract.VLLM, "", smallRequests, small(a, false, true))
	}
	for _, n := range []int{1000, 10_000} {
		add(fmt.Sprintf("Chat, a prompt of %d tokens: until it is sent", n), contract.VLLM, "", 1, prompt(n))
	}
	add("channel events, 1000 chunks, `vllm`", contract.VLLM, "", 1, stream(events))
	for _, kind := range contract.ServerKinds() {
		if contract.KindNamed(kind).Renders {
			continue // its requests wait for a call, which is not the filter's work
		}
		for _, a := range []api{chat, responses} {
			add(a.name+", 1000 chunks, `"+kind+"`", kind, "", 1, stream(a))
		}
	}
	for _, kind := range []string{contract.VLLM, contract.Chat} {
		add(messages.name+", 1000 chunks, `"+kind+"`", kind, "", 1, stream(messages))
	}
	for _, kind := range []string{contract.VLLM, contract.VLLMGenerate} {
		add(logprobs.name+", 1000 chunks, `"+kind+"`", kind, "", 1, stream(logprobs))
	}
	add(chat.name+", a small request: its answer, streamed, `"+contract.Chat+"`", contract.Chat, "", smallRequests,
		small(chat, false, true))
	add("Chat, a small request: a server's error", contract.VLLM, "", smallRequests, refused)
	for _, tapped := range []string{contract.TapNone, contract.TapSummary, contract.TapEverything} {
		name := ", a recorder of `" + tapped + "`"
		add("Chat, a small request: until it is sent"+name, contract.VLLM, tapped, smallRequests, small(chat, true, false))
		add("Chat, a small request: its answer, streamed"+name, contract.VLLM, tapped, smallRequests,
			small(chat, false, true))
		add("Chat, 1000 chunks"+name, contract.VLLM, tapped, 1, stream(chat))
	}
	for _, alike := range []load{
		{name: "Chat, a small request", times: smallRequests, run: small(chat, true, false)},
		{name: "Chat, a prompt of 1000 tokens", times: 1, run: prompt(1000)},
		{name: "Chat, a prompt of 10000 tokens", times: 1, run: prompt(10_000)},
	} {
		alike.name, alike.kind, alike.alike = alike.name+": until it is sent, policy `prefix`", contract.VLLM, true
		all = append(all, alike)
	}
	all = append(all, load{name: "Chat, 1000 chunks, repetitions are looked for", kind: contract.VLLM, times: 1,
		run: stream(chat), repeats: true})
	return append(all, sessions()...)
}

// small counts one of several small requests until it has gone to the server, or its answer of some 30 tokens.
func small(a api, request, streamed bool) func(*gateway) {
	return func(g *gateway) {
		for i := range 2 * smallRequests {
			counting := i >= smallRequests
			x := g.request(a, shortAnswer, streamed, counting && request)
			pieces := g.pieces(x)
			g.countIf(counting && !request, func() {
				x.BeginResponse(http.StatusOK, "content-type", g.kind.StreamType())
				x.EndResponse(pieces...)
				g.record()
			})
			if got := x.Client(); !x.Done() || !strings.Contains(got.Body(), "inhabitants") {
				g.t.Fatalf("the client has got %+v", got)
			}
		}
	}
}

// refused counts a server's error, for one of several small requests.
func refused(g *gateway) {
	for i := range 2 * smallRequests {
		x := g.request(chat, shortAnswer, true, false)
		g.countIf(i >= smallRequests, func() {
			x.BeginResponse(http.StatusBadRequest, "content-type", "application/json")
			x.EndResponse(`{"error":{"message":"temperature must be non-negative, got -1.0.","type":"BadRequestError",` +
				`"param":"temperature","code":400}}`)
		})
		if got := x.Client(); got.Status != http.StatusBadRequest || !strings.Contains(got.Body(), "non-negative") {
			g.t.Fatalf("the client has got %+v", got)
		}
	}
}

// prompt counts the second request with a prompt of n tokens, until it has gone to the server.
func prompt(n int) func(*gateway) {
	return func(g *gateway) {
		for _, counting := range []bool{false, true} {
			g.request(chat, words(n)+shortAnswer, true, counting)
		}
	}
}

// stream counts chunks of a stream.
func stream(a api) func(*gateway) {
	return func(g *gateway) {
		x := g.request(a, longAnswer, true, false)
		pieces := g.pieces(x)
		if len(pieces) < chunksBefore+chunks {
			g.t.Fatalf("%d pieces", len(pieces))
		}
		x.BeginResponse(http.StatusOK, "content-type", g.kind.StreamType())
		x.SendResponse(pieces[:chunksBefore]...)
		before := len(x.Client().Chunks)
		g.record()
		g.countIf(true, func() {
			x.SendResponse(pieces[chunksBefore:][:chunks]...)
			g.record()
		})
		if n := len(x.Client().Chunks) - before; n < chunks/2 {
			g.t.Fatalf("the client has got %d pieces for %d", n, chunks)
		}
	}
}

// words returns a text of n tokens: words of the vocabulary, in an order without a pattern.
func words(n int) string {
	t := o200k.Tokenizer()
	var all []string
	for id := range uint32(100_000) {
		b, ok := t.TokenBytes(id)
		if text := string(b); ok && len(text) > 3 && text[0] == ' ' &&
			strings.Trim(text, " abcdefghijklmnopqrstuvwxyz") == "" {
			all = append(all, text)
		}
	}
	var out strings.Builder
	for i := range n {
		out.WriteString(all[i*7919%len(all)])
	}
	return out.String()
}

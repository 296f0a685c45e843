package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// variant is one way from a client to a server, and what the client asks for.
type variant struct {
	name string
	// kind is the kind of the server.
	kind string
	// api is what the client speaks. [raw] is what our filter sends to the server.
	api   api
	whole bool
	// through is what it passes through: [plain], [constant], [ours], [besides], [rustFrontEnd] or a tap.
	through string
}

// api is one of the client's APIs.
type api int

const (
	raw api = iota
	chat
	responses
	events
)

// The variants pass through these.
const (
	plain        = "none"
	constant     = "constant"
	ours         = "ours"
	besides      = "beside"
	rustFrontEnd = "vllm-rs"
)

// variantsOf returns all variants. The first is the one that all others of vLLM are compared with.
func variantsOf(beside bool) []*variant {
	const vllm = contract.VLLM
	all := []*variant{
		{plain, vllm, raw, false, plain},
		{constant, vllm, raw, false, constant},
		{"chat", vllm, chat, false, ours},
		{"responses", vllm, responses, false, ours},
		{"events", vllm, events, false, ours},
		{"chat whole", vllm, chat, true, ours},
		{"responses whole", vllm, responses, true, ours},
		{rustFrontEnd, vllm, chat, false, rustFrontEnd},
	}
	for _, kind := range contract.ServerKinds() {
		if kind == vllm || contract.KindNamed(kind).Renders { // a request of the latter waits for a call
			continue
		}
		all = append(all, &variant{plain + " " + shown(kind), kind, raw, false, plain},
			&variant{"chat " + shown(kind), kind, chat, false, ours})
		if contract.KindNamed(kind).Conversations {
			// Answers of Chat pass unchanged. Answers of Responses are made anew.
			all = append(all, &variant{"responses " + shown(kind), kind, responses, false, ours})
		}
	}
	if beside {
		all = append(all, &variant{"chat " + besides, vllm, chat, false, besides},
			&variant{"responses " + besides, vllm, responses, false, besides})
	}
	return all
}

// shown returns the name of a kind in the names of variants. There chat is already the name of an API.
func shown(kind string) string {
	if contract.KindNamed(kind).Conversations {
		return kind + "-server"
	}
	return kind
}

// base returns the name of the variant that this one is compared with: no filter, and the same server's bytes.
func (v *variant) base() string {
	if v.kind == contract.VLLM {
		return plain
	}
	return plain + " " + shown(v.kind)
}

// isBase reports whether others are compared with the variant.
func (v *variant) isBase() bool { return v.through == plain }

// ask is what a request asks for.
type ask struct {
	// prompt is how many tokens the user's message has beside the question. words are the answer's.
	prompt, words int
}

// request is what the bench sends through a gateway.
type request struct {
	path   string
	header map[string]string
	body   []byte
}

// modelOf returns the name of the model on servers of a kind.
func modelOf(kind string) string { return "gpt-oss-" + kind }

// request returns a variant's request in the client's API.
func (v *variant) request(a ask) request {
	content := strconv.Quote(filler(a.prompt) + question(a.words))
	stream := strconv.FormatBool(!v.whole)
	head := `{"model":"` + modelOf(v.kind) + `","stream":` + stream
	switch v.api {
	case responses:
		return request{"/v1/responses", nil, []byte(head + `,"input":` + content + `}`)}
	case events:
		return request{"/v1/chat/completions", map[string]string{contract.EventsHeader: "channels"},
			[]byte(head + `,"messages":[{"role":"user","content":` + content + `}]}`)}
	case chat:
		return request{"/v1/chat/completions", nil, []byte(head + `,"messages":[{"role":"user","content":` + content + `}]}`)}
	}
	panic("raw requests are recorded")
}

// words are the vocabulary's words of lower-case letters, each one token after a space.
var words = func() []string {
	var all []string
	t := o200k.Tokenizer()
	for id := range uint32(100_000) {
		b, ok := t.TokenBytes(id)
		text := string(b)
		if ok && len(text) > 3 && text[0] == ' ' && strings.Trim(text[1:], "abcdefghijklmnopqrstuvwxyz") == "" {
			all = append(all, text)
		}
	}
	return all
}()

// filler returns a text of n tokens: words drawn from the vocabulary, always the same ones.
func filler(n int) string {
	random := rand.New(rand.NewPCG(7, 8))
	var text strings.Builder
	for range n {
		text.WriteString(words[random.IntN(len(words))])
	}
	return text.String()
}

// chosen returns the variants of these names, and those that they are compared with.
func chosen(all []*variant, match func(string) bool) ([]*variant, error) {
	needed := map[string]bool{}
	for _, v := range all {
		if match(v.name) {
			needed[v.name], needed[v.base()] = true, true
		}
	}
	if len(needed) == 0 {
		var names []string
		for _, v := range all {
			names = append(names, v.name)
		}
		return nil, fmt.Errorf("no variant has such a name; there are: %s", strings.Join(names, ", "))
	}
	return slices.DeleteFunc(all, func(v *variant) bool { return !needed[v.name] }), nil
}

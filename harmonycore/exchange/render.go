package exchange

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/affinity"
	"github.com/harmonyedge/harmonyedge/harmonycore/chatserver"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/prefixmemory"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// Scratch is the memory for rendering large requests, and for large pieces of answers. If every request allocated its
// own, the collector of a wasm VM would keep a heap many times that size.
type Scratch struct {
	prompt []uint32
	// text is the prompt as text, for servers that take no token ids.
	text []byte
	body []byte
	// renamed is a client's body with the servers' name of the model.
	renamed []byte
	tag     []byte
	// guard is for texts in which control tokens are looked for.
	guard chatserver.GuardMemory
	// hashes are the hashes of the prompt's blocks, and blocks the same as text.
	hashes []affinity.Hash
	blocks []byte
	// tools are those of recent requests.
	tools translate.ToolMemory
	// answer is for the large pieces. It is nil while an answer has it.
	answer []byte
	// rest is a body without what is remembered of it.
	rest []byte
	// kept is a client's body for another model.
	kept []byte
	// cuts, digests, parts, spans, ends and first are for what is to be remembered of a request, and for the first ids
	// of one.
	cuts    []openai.Cut
	digests []prefixmemory.Digest
	parts   []prefixmemory.Part
	spans   []prefixmemory.Span
	ends    []int
	first   []uint32
}

// scratch returns the host's memory, or else new memory.
func (h *Host) scratch() *Scratch {
	if h.Scratch != nil {
		return h.Scratch
	}
	return &Scratch{}
}

// reserve makes room for the tokens of a body of size bytes in a context of so many tokens. Text has about four bytes
// per token, so the slice rarely grows later.
func (s *Scratch) reserve(size, context int) {
	if need := min(size/4, context) + 1024; cap(s.prompt) < need {
		s.prompt = make([]uint32, 0, need+need/4)
	}
}

// rendered is the result of rendering a request, apart from the prompt.
type rendered struct {
	// tag is the structural tag that constrains the answer, or nil.
	tag []byte
	// prefilled is the part of the answer that the prompt already ends with.
	prefilled []uint32
	// truncatedTurns is how many turns were left out so that the rest fits.
	truncatedTurns int
	// toolTokens is how many tokens of the prompt are of tools' messages.
	toolTokens int
}

// render writes the prompt of a request into scratch, up to the point where the model continues. param is the member of
// the request from which the prompt is made. render stops as soon as it is certain that the prompt does not fit the
// model's context.
func (a *modelRequest) render(r *translate.Request, param string, scratch *Scratch) (rendered, *openai.Error) {
	model, renderer := a.model, a.x.gateway.renderer
	tag, called, failure := constrain(model, r, scratch)
	if failure != nil {
		return rendered{}, failure
	}
	if tag != nil {
		r.HoldTo(&r.Constraint)
	}
	out := rendered{tag: tag}
	r.Constraint = translate.Constraint{}
	scratch.reserve(a.size, a.context)
	continues := renderer.AppendHeader(nil, harmony.Assistant)
	if called != nil {
		from := len(continues)
		continues = renderer.AppendCallHeader(continues, called.Recipient, called.Custom)
		out.prefilled = continues[from:]
	}
	g := renderer.Begin(&r.Conversation, harmony.DropBeforeLastFinal)
	defer g.End()
	var fit bool
	var err error
	if a.recall != nil && r.Continues() {
		scratch.prompt, fit, err = a.recall.render(g, r, a, scratch.prompt[:0])
	} else if len(r.Turns) > 1 {
		dropped := 0
		scratch.prompt, dropped, fit, err = truncated(scratch.prompt[:0], g, r, a.context, len(continues))
		if err == nil && fit {
			r.Conversation.Messages = slices.Delete(r.Conversation.Messages, r.Turns[0], r.Turns[dropped])
			out.truncatedTurns = dropped
		}
	} else {
		scratch.prompt, fit, err = g.Append(scratch.prompt[:0], 0, len(r.Conversation.Messages), a.context)
	}
	switch {
	case err != nil:
		return rendered{}, errRender(err.Error())
	case !fit:
		return rendered{}, a.tooLong(param, 0)
	}
	if out.toolTokens = g.ToolTokens; out.truncatedTurns > 0 { // turns that were left out were rendered too
		out.toolTokens = renderer.ToolTokens(scratch.prompt)
	}
	scratch.prompt = append(scratch.prompt, continues...)
	return out, nil
}

package exchange

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// Scratch is the memory that rendering a large request takes. In a wasm VM the collector would keep a heap of many
// times its size if every request took its own.
type Scratch struct {
	prompt []uint32
	body   []byte
	tag    []byte
}

// scratch is the host's memory, or else fresh one.
func (h *Host) scratch() *Scratch {
	if h.Scratch != nil {
		return h.Scratch
	}
	return &Scratch{}
}

// reserve makes room for the tokens of a body of so many bytes, where a context has so many. Text has about four bytes
// to a token: mostly there is nothing left to grow.
func (s *Scratch) reserve(size, context int) {
	if need := min(size/4, context) + 1024; cap(s.prompt) < need {
		s.prompt = make([]uint32, 0, need+need/4)
	}
}

// rendered is what rendering a request leaves beside the prompt.
type rendered struct {
	// tag is the structural tag that the answer is held to, or nil.
	tag []byte
	// prefilled is the part of the answer that the prompt ends with already.
	prefilled []uint32
	// truncatedTurns is how many turns were left out for the rest to fit.
	truncatedTurns int
}

// render leaves the prompt of a request in scratch, up to where the model goes on. param is the member of the request
// that the prompt is made of. A prompt that does not fit the model's context is given up as soon as that is certain.
func (a *modelRequest) render(r *translate.Request, param string, scratch *Scratch) (rendered, *openai.Error) {
	model, renderer := a.model, a.x.gateway.renderer
	tag, called, failure := constrain(model, &r.Constraint, scratch)
	if failure != nil {
		return rendered{}, failure
	}
	out := rendered{tag: tag}
	r.Constraint = translate.Constraint{}
	scratch.reserve(a.size, model.ContextLength)
	continues := renderer.AppendHeader(nil, harmony.Assistant)
	if called != nil {
		from := len(continues)
		continues = renderer.AppendCallHeader(continues, "functions."+called.Name, called.Custom)
		out.prefilled = continues[from:]
	}
	g := renderer.Begin(&r.Conversation, harmony.DropBeforeLastFinal)
	defer g.End()
	var fit bool
	var err error
	if len(r.Turns) > 1 {
		dropped := 0
		scratch.prompt, dropped, fit, err = truncated(scratch.prompt[:0], g, r, model.ContextLength, len(continues))
		if err == nil && fit {
			r.Conversation.Messages = slices.Delete(r.Conversation.Messages, r.Turns[0], r.Turns[dropped])
			out.truncatedTurns = dropped
		}
	} else {
		scratch.prompt, fit, err = g.Append(scratch.prompt[:0], 0, len(r.Conversation.Messages), model.ContextLength)
	}
	switch {
	case err != nil:
		return rendered{}, errRender(err.Error())
	case !fit:
		return rendered{}, errContextLength(param, model.ContextLength)
	}
	scratch.prompt = append(scratch.prompt, continues...)
	return out, nil
}

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

// reserve makes room for the tokens of a body of so many bytes, where a context has so many. Text has about four bytes to
// a token: mostly there is nothing left to grow.
func (s *Scratch) reserve(size, context int) {
	if need := min(size/4, context) + 1024; cap(s.prompt) < need {
		s.prompt = make([]uint32, 0, need+need/4)
	}
}

// reader is how a request of an API becomes a conversation.
type reader func(*openai.Body, *translate.Model, translate.Env) (*translate.Request, *openai.Error)

// read makes a request's conversation, and what else it wants.
func (e *Exchange) read(model *Model, read reader, request *openai.Body, h Host) (*translate.Request, *openai.Error) {
	o := &e.gateway.options
	return read(request, &model.Model, translate.Env{
		Now: h.Now / 1000, Date: model.Date.on(h.Now), ID: h.ID,
		Sealing: translate.Sealing{Keys: o.SealKeys, Lifetime: o.SealLifetime, Tenant: e.tenant},
	})
}

// render leaves the prompt of a request in scratch, up to where the model goes on, and returns the structural tag that the
// answer is held to, if it is to one. size is that of the request's body, in bytes. A prompt that does not fit the model's
// context is given up as soon as that is certain.
func (e *Exchange) render(model *Model, r *translate.Request, size int, scratch *Scratch) ([]byte, *openai.Error) {
	tag, called, failure := constrain(model, &r.Constraint, scratch)
	if failure != nil {
		return nil, failure
	}
	r.Constraint = translate.Constraint{}
	scratch.reserve(size, model.ContextLength)
	goesOn := e.gateway.renderer.AppendHeader(nil, harmony.Assistant)
	if called != nil {
		from := len(goesOn)
		goesOn = e.gateway.renderer.AppendCallHeader(goesOn, "functions."+called.Name, called.Custom)
		e.prefilled = goesOn[from:]
	}
	g := e.gateway.renderer.Begin(&r.Conversation, harmony.DropBeforeLastFinal)
	defer g.End()
	var fit bool
	var err error
	if len(r.Turns) > 1 {
		dropped := 0
		scratch.prompt, dropped, fit, err = truncated(scratch.prompt[:0], g, r, model.ContextLength, len(goesOn))
		if err == nil && fit {
			r.Conversation.Messages = slices.Delete(r.Conversation.Messages, r.Turns[0], r.Turns[dropped])
			e.report.TruncatedTurns = dropped
		}
	} else {
		scratch.prompt, fit, err = g.Append(scratch.prompt[:0], 0, len(r.Conversation.Messages), model.ContextLength)
	}
	switch {
	case err != nil:
		return nil, errRender(err.Error())
	case !fit:
		return nil, errContextLength(e.kind.prompt(), model.ContextLength)
	}
	scratch.prompt = append(scratch.prompt, goesOn...)
	return tag, nil
}

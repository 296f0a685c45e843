package exchange

import (
	"cmp"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// Render is a call that turns the conversation of a request into token ids (docs/vllm-render.md). The host holds the
// request until [Exchange.Rendered] has taken the answer to it.
type Render struct {
	// Cluster is the proxy's name of the servers.
	Cluster, Path string
	// TimeoutMS limits the call, in milliseconds.
	TimeoutMS int
	// MaxAnswer is how much of the answer is read, in bytes.
	MaxAnswer int
	// Body is valid as long as the Body of a [Forward] is.
	Body []byte
}

// RenderAnswer is the answer to such a call, or the proxy's own in its place.
type RenderAnswer struct {
	Status     int
	RetryAfter string
	// Body is the beginning of the body, and may lie in the host's memory. TooLarge reports whether there is more.
	Body     []byte
	TooLarge bool
}

// RenderReport is what has become of such a call.
type RenderReport struct {
	// Asked reports whether a server was asked, and Failed whether it has not rendered the conversation for another reason
	// than the conversation itself.
	Asked, Failed bool
	// Time is how long the call took, in milliseconds, or -1 if no answer to it was waited for.
	Time int64
}

// rendering is the part of a generation whose conversation is being rendered.
type rendering struct {
	// request is nil when the call has been answered.
	request *modelRequest
	// extras are the servers' own parameters that the client may use.
	extras []backend.Member
	// began is when the server was asked.
	began int64
}

// guard returns the request to render a conversation, which is sent, without text of the client's that spells a control
// token: the server would read it as that token. spelled is the member of the client's request that spells one. It is
// empty in a Chat request, which has the places of sent.
func (c conversation) guard(a *modelRequest, sent []byte, spelled string, h Host) ([]byte, *openai.Error) {
	scratch := h.scratch()
	breaks := a.model.ControlTokens == contract.ControlTokensBreak
	out, found := a.model.spellings.AppendGuarded(scratch.text[:0], sent, breaks, &scratch.guard)
	switch {
	case found.Param != "" && c.api == translate.ChatAPI:
		return nil, errControlSpelling(found.Param)
	case found.Param != "":
		return nil, errControlSpelling(cmp.Or(spelled, c.param()))
	case found.Broken > 0:
		scratch.text, scratch.body = scratch.body, out
		sent = out
	}
	c.x.report.BrokenSpellings = found.Broken
	return sent, nil
}

// render asks a server for the token ids of a conversation. sent is that server's request.
func (c conversation) render(a *modelRequest, sent []byte, h Host) RequestAction {
	limit := cmp.Or(c.x.gateway.options.StallTimeoutMS, contract.RenderTimeoutMS)
	a.body = nil // it lies in the host's memory
	c.rendering = rendering{request: a, began: h.Now}
	c.x.report.Rendered = RenderReport{Asked: true, Time: -1}
	for _, m := range c.translated.Sampling.Extras { // they may lie in the body, too
		c.rendering.extras = append(c.rendering.extras, backend.Member{Name: m.Name, JSON: strings.Clone(m.JSON)})
	}
	c.x.generation, c.x.response = c.generation, c.generation
	return RequestAction{Render: &Render{
		Cluster: a.model.Render.Cluster, Path: a.model.ServerPath(contract.RenderPath), TimeoutMS: limit, Body: sent,
		MaxAnswer: contract.MaxRenderedIn(a.context),
	}}
}

// isRendering reports whether the request is held until its conversation has been rendered.
func (e *Exchange) isRendering() bool {
	return e.generation != nil && e.generation.rendering.request != nil
}

// Rendered takes the answer to the call in [RequestAction.Render], and decides on the held request.
func (e *Exchange) Rendered(answer RenderAnswer, h Host) RequestAction {
	g := e.generation
	if !e.isRendering() || e.client.state == outletPassing || g.state != awaiting || e.response != response(g) {
		return RequestAction{Hold: true} // the proxy has answered the held request
	}
	a := g.rendering.request
	g.rendering.request = nil
	e.lastActivity = h.Now
	e.report.Rendered.Time = max(h.Now-g.rendering.began, 0)
	sent, failure := conversation{g}.rendered(a, answer, h)
	if failure != nil {
		if isTooLong(failure) && g.translated.EmptiesTooLong() {
			return e.answer(g.empty(g.translated, h.Now))
		}
		e.report.Rendered.Failed = failure.Status >= 500
		action := e.refuse(failure)
		if answer.RetryAfter != "" && failure.RetryAfter != "" {
			action.Reply.RetryAfter = answer.RetryAfter
		}
		return action
	}
	return e.forward(a.model, sent, e.gateway.options.StallTimeoutMS)
}

// rendered returns the body that asks the model's servers for the answer, as [generation.translate] does.
func (c conversation) rendered(a *modelRequest, answer RenderAnswer, h Host) ([]byte, *openai.Error) {
	if failed := backend.RenderError(answer.Status, answer.Body); failed != nil {
		return nil, c.renderFailed(failed)
	}
	if answer.TooLarge {
		return nil, errRendered("is larger than any that fits the model's context")
	}
	scratch := h.scratch()
	prompt, out, ok := backend.ReadRendered(scratch.prompt[:0], answer.Body, a.context)
	scratch.prompt = prompt
	switch {
	case !ok:
		return nil, errRendered("was not understood")
	case out.Media:
		return nil, openai.Unsupported(c.param(), "Unsupported content: the model's servers ("+
			a.model.Kind.Facts().Name+") get the conversation as token ids, which images and sound do not have. Send text.")
	case out.More || len(prompt) >= a.context:
		return nil, a.tooLong(c.param(), len(prompt)+1)
	}
	r, tokens := c.translated, len(prompt)
	model := a.choosePool(tokens, r.Sampling.MaxTokens)
	a.routeByTokens(scratch)
	room := a.context - tokens
	maxTokens := r.Sampling.MaxTokens
	if maxTokens == 0 || maxTokens > room {
		maxTokens, c.boundByWindow = room, true
	}
	if r.Sampling.MinTokens > maxTokens {
		return nil, errMinTokens(maxTokens)
	}
	expected := maxTokens
	if r.Sampling.MaxTokens == 0 {
		expected = min(expected, a.x.expectedAnswer())
	}
	a.x.reserve(model, tokens, expected*max(r.Choices, 1), h)
	a.tellCost(tokens, expected*max(r.Choices, 1))
	c.model, c.promptTokens, c.maxTokens, c.context = model, tokens, maxTokens, 0
	r.CountedPrompt(tokens)
	if c.traced != nil {
		c.traced.SetPrompt(prompt)
	}
	scratch.body = backend.AppendRendered(scratch.body[:0], model.ServerModel, prompt, maxTokens, &out,
		c.rendering.extras)
	return scratch.body, nil
}

// renderFailed returns the error for a conversation that was not rendered. A server that refuses it tells the client
// why.
func (c conversation) renderFailed(failed *backend.Error) *openai.Error {
	path := c.model.ServerPath(contract.RenderPath)
	switch missing := failed.Status == 404 || failed.Status == 405; {
	case missing && !namesModel(failed, c.model) && failed.NamesPath(path), failed.Status == 403:
		return errRenderPath(path, failed.Status)
	}
	out := c.failure(failed)
	if failed.Status >= 500 {
		out.Message = clip("The conversation was not rendered: " + out.Message)
	}
	return out
}

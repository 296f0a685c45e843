package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// observer takes the answer to a request that went to the model's servers untouched. The client gets every byte as it
// came. A copy is read, and what the gateway would have done otherwise is counted.
type observer struct {
	x     *Exchange
	model *Model
	api   translate.API
	// request is the request as the gateway would have sent it. It is empty if the gateway would have refused it. read
	// reports whether it is not.
	request *translate.Request
	read    bool
	// prompt is the number of tokens of the prompt that the gateway would have sent, or 0 if it does not know.
	prompt int
	copyReader
	// whole reports whether the answer is one JSON object, of which size is how much has come, in bytes.
	whole bool
	size  int
	usage backend.Usage
	// choices are the answer's choices, by index.
	choices []*observedChoice
	seen    Observed
}

// maxObservedAnswer is the largest answer in one piece that is read, in bytes. It is held until it is whole.
const maxObservedAnswer = 1 << 20

// observe does on the side what the gateway would do with a request if it translated it. Doing so overwrites the body.
func (g *generation) observe(a *modelRequest, body []byte, h Host) *observer {
	side := &Exchange{gateway: g.x.gateway, options: g.x.options, decided: true, clock: g.x.clock,
		lastActivity: g.x.lastActivity}
	would := &generation{x: side, api: g.api}
	o := &observer{x: g.x, model: a.model, api: g.api, request: &translate.Request{}}
	aside := *a
	aside.x = side
	action, decided := RequestAction{}, false
	if g.api == translate.ResponsesAPI {
		action, decided = aside.decideStored(true)
	}
	if !decided {
		action = a.model.servers.generate(would, &aside, body, h)
	}
	o.seen[ObservedRequest]++
	switch {
	case action.Reply != nil:
		o.seen[ObservedRefused]++
	case side.report.Routed:
		o.seen[ObservedRouted]++
	case side.generation != nil:
		o.request, o.prompt, o.read = would.translated, would.promptTokens, true
	case side.passed != nil:
		if r, failure := aside.read(translate.ChatAnswer, h); failure == nil { // for its tools
			o.request, o.read = r, true
		}
	}
	return o
}

func (o *observer) headers(h ResponseHead) ResponseAction {
	if h.failed() {
		o.seen[ObservedError]++
		if r := o.x.refusesKey(o.model, &h); r != nil {
			return o.x.client.reply(r)
		}
		return o.x.client.pass()
	}
	stream := isMediaType(h.ContentType, "text/event-stream")
	o.whole = isJSON(h.ContentType)
	if !h.End && (stream || o.whole) {
		o.reader = o.newReader(o.whole)
	}
	if o.reader == nil {
		return o.unreadable()
	}
	o.x.client.state = outletBegun
	return ResponseAction{Pass: true}
}

// newReader returns a reader of the servers' own answers by the API.
func (o *observer) newReader(whole bool) backend.Reader {
	switch {
	case o.api == translate.ResponsesAPI && whole:
		return backend.NewWholeResponsesReader()
	case o.api == translate.ResponsesAPI:
		return backend.NewResponsesReader()
	case o.api == translate.MessagesAPI && whole:
		return backend.NewWholeMessagesReader()
	case o.api == translate.MessagesAPI:
		return backend.NewMessagesReader()
	case whole:
		return backend.NewWholeReader()
	}
	if kind, ok := backend.Named(contract.Chat); ok {
		return kind.NewReader()
	}
	return nil
}

// unreadable ends the observation of an answer. The answer goes on.
func (o *observer) unreadable() ResponseAction {
	o.seen[ObservedUnreadable]++
	o.reader = nil
	return o.x.client.pass()
}

func (o *observer) body(chunk []byte, _ bool) ResponseAction {
	if o.size += len(chunk); o.reader == nil || o.whole && o.size > maxObservedAnswer {
		return o.unreadable()
	}
	o.write(chunk)
	for {
		more, broken := o.next()
		switch {
		case broken, more && !o.take(&o.event):
			return o.unreadable()
		case !more:
			return ResponseAction{Pass: true}
		}
	}
}

// take counts what an event holds. It reports false for an answer with more messages than any model means to write.
func (o *observer) take(e *backend.Event) bool {
	if e.HasUsage {
		o.usage = e.Usage
	}
	if e.Error != nil {
		o.seen[ObservedError] = 1
		return true
	}
	if e.Index < 0 || e.Index >= contract.MaxChoices || sizeOf(e) == 0 && e.Finish == backend.Running {
		return true
	}
	for len(o.choices) <= e.Index {
		o.choices = append(o.choices, nil)
	}
	c := o.choices[e.Index]
	if c == nil {
		c = newObservedChoice(o.request)
		o.choices[e.Index] = c
	}
	c.take(e)
	return c.opened <= maxMessages && c.text.Opened() <= maxMessages
}

func (o *observer) trailers() ResponseAction { return ResponseAction{Pass: true} }

// silent leaves a silent server alone: an answer in one piece may take as long as it takes.
func (o *observer) silent(int64) ResponseAction { return ResponseAction{} }

// complement adds what was seen to a report.
func (o *observer) complement(r *Report) {
	r.Observed = o.seen
	for _, c := range o.choices {
		if c != nil {
			c.complement(&r.Observed, o.read)
		}
	}
	r.ServersTokens = o.usage.Prompt + o.usage.Completion
	if o.prompt > 0 && o.usage.Prompt > 0 {
		r.ObservedPrompt, r.ServersPrompt = o.prompt, o.usage.Prompt
		if o.prompt != o.usage.Prompt {
			r.Observed[ObservedOtherPrompt]++
		}
	}
}

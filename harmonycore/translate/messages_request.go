package translate

import (
	"math"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Messages reads a body of Anthropic's Messages API for a model. It turns the request into one to Responses, from which
// the conversation is made. So the prompt is that of the same conversation by Responses.
func Messages(body *openai.Body, m *contract.Model, env Env) (*Request, *openai.Error) {
	t := messagesRequest{
		in:       openai.NewItemsRequest(body.Model, body.Values, false),
		recalled: env.recallTools(body, MessagesAPI), sealing: &env.Sealing,
	}
	if env.Past != nil {
		t.follow(&env.Past.Follows)
	}
	if err := t.read(body, m, &env); err != nil {
		return nil, err
	}
	if t.in.Dropped.First != nil && m.UnsupportedContent != contract.ContentDrop {
		return nil, t.in.Dropped.First
	}
	r := newItemsRequest(MessagesAPI, t.in, m, env)
	t.answer(r)
	if err := r.converse(t.in, m, t.recalled, t.tools); err != nil {
		return nil, err
	}
	return r, nil
}

// MessagesChat is [Messages] for a model whose servers take conversations, as [ResponsesChat] is.
func MessagesChat(body *openai.Body, m *contract.Model, env Env) (*Request, *openai.Error) {
	size := body.Size()
	t := messagesRequest{in: openai.NewItemsRequest(body.Model, body.Values, true), sealing: &env.Sealing}
	if err := t.read(body, m, &env); err != nil {
		return nil, err
	}
	r := newItemsRequest(MessagesAPI, t.in, m, env)
	r.unphased, r.effortWord = true, t.in.Effort
	t.answer(r)
	if err := r.speak(t.in, m, size); err != nil {
		return nil, err
	}
	return r, nil
}

// messagesRequest turns a request to Messages into one to Responses.
type messagesRequest struct {
	*anthropic.Request
	in       *openai.ResponsesRequest
	recalled *toolRecall
	sealing  *Sealing
	// serves reports whether the request may have tools that a server runs: served are those. chain is the newest one of
	// [Searched].
	serves bool
	served []anthropic.ServerTool
	chain  string
	// tools are the request's own, and byName their places.
	tools  []openai.Tool
	byName map[string]int
	// toolBytes is the length of all tools that the request has, in bytes of JSON. declaredBytes is the length of those
	// that are declared in the messages, each as often as it is.
	toolBytes, declaredBytes int
	// open reports whether text of the newest message may join the last item. spoken is the first item of the
	// assistant's whose text is not known to lead to a call.
	open   bool
	spoken int
	// known is how many of the messages were read before. They only make tools known. refers reports whether one of the
	// others makes some known, or may do so.
	known  int
	refers bool
	// counts is what was counted up to the message that is read, and again what of it was counted in messages that were
	// read before.
	counts, again openai.Counts
}

// follow makes the conversation the end of one that was read before.
func (t *messagesRequest) follow(f *openai.Follows) {
	t.in.Follow(f)
	t.known = f.Elements
}

// answer sets what only the answer depends on. Reasoning is sealed in every answer: without an earlier turn's the model
// would not know what it has thought.
func (t *messagesRequest) answer(r *Request) {
	r.Stop, r.sealed, r.thinking = t.Stop, true, t.Thinking
}

func (t *messagesRequest) read(body *openai.Body, m *contract.Model, env *Env) (err *openai.Error) {
	if err = t.readBody(body, m, env.Counting); err != nil {
		return err
	}
	return t.settings()
}

// readBody reads everything but what only the answer depends on.
func (t *messagesRequest) readBody(body *openai.Body, m *contract.Model, counting bool) (err *openai.Error) {
	if t.Request, err = anthropic.DecodeRequest(body); err != nil {
		return err
	}
	if !counting {
		if err = t.RequireMaxTokens(); err != nil {
			return err
		}
	}
	if !t.serves {
		if err = t.RefuseServers(); err != nil {
			return err
		}
	}
	if err = t.readTools(); err != nil {
		return err
	}
	in := t.in
	in.Stream, in.Instructions = t.Stream, strings.Join(t.System, "\n\n")
	if err = t.readMessages(); err != nil {
		return err
	}
	in.Effort, in.EffortAt = t.effort(m), t.EffortAt
	if t.EffortChanged {
		in.Turned = math.MaxInt
	}
	return nil
}

// readMessages reads the messages into items, and counts what the model does not get of them and of the rest.
func (t *messagesRequest) readMessages() (err *openai.Error) {
	t.counts = t.counted()
	t.in.Entries, err = t.EachBlock(t.add)
	all := t.counted().Minus(&t.again)
	t.in.Ignored, t.in.Dropped.Count = all.Ignored, all.Dropped
	return err
}

// counted returns what was counted so far.
func (t *messagesRequest) counted() openai.Counts {
	c := openai.Counts{Ignored: t.in.Ignored, Dropped: t.in.Dropped.Count}
	c.Ignored[openai.IgnoredUnknown] += t.Ignored.Unknown
	c.Ignored[openai.IgnoredBilling] += t.Ignored.Billing
	c.Ignored[openai.IgnoredMember] += t.Ignored.Members
	return c
}

// count notes what was counted in a message, at its end.
func (t *messagesRequest) count(message int) {
	now := t.counted()
	if now == t.counts {
		return
	}
	more := now.Minus(&t.counts)
	if t.counts = now; message < t.known {
		t.again.Add(&more)
	} else {
		t.in.Counted = append(t.in.Counted, openai.Counted{Element: message, Counts: more})
	}
}

// formatName is the name of the form of an answer, which has none in Messages.
const formatName = "response"

// settings reads what the client has set, apart from the effort.
func (t *messagesRequest) settings() *openai.Error {
	in := t.in
	in.Sampling.MaxTokens, in.Sampling.ThinkingBudget = t.MaxTokens, t.Budget
	for i := range t.Sampling {
		if err := in.Sampling.Take(t.Sampling[i].Name, &t.Sampling[i].Value); err != nil {
			return err
		}
	}
	if t.Schema.Given() {
		if err := in.Format.TakeSchema(formatName, t.SchemaAt, &t.Schema); err != nil {
			return err
		}
	}
	in.OneCall = t.Choice.OneCall
	if in.OneCall {
		in.Echo.ParallelToolCalls = "false" // for servers that take conversations
	}
	switch c := &t.Choice; {
	case c.None:
		in.Choice = openai.NoCalls()
	case c.Required:
		in.Choice = openai.ToolChoice{Required: true, Name: c.Name}
	}
	return in.Settle(anyDeferred(t.tools))
}

// effort returns the word of the effort for a model. A client that wants no thinking gets the least that the model has.
// Words that the model's operator has not given a meaning are the next lower one.
func (t *messagesRequest) effort(m *contract.Model) string {
	e, word := &m.ReasoningEfforts, t.Effort
	switch {
	case t.ThinkingDisabled:
		if !t.in.KeepsMedia() && effortNamed(e.None) != 0 {
			return "none"
		}
		return anthropic.EffortLow
	case word == anthropic.EffortMax && (t.in.KeepsMedia() || effortNamed(e.Max) == 0):
		word = anthropic.EffortXHigh
	}
	if word == anthropic.EffortXHigh && (t.in.KeepsMedia() || effortNamed(e.XHigh) == 0) {
		word = anthropic.EffortHigh
	}
	return word
}

// readTools reads the request's own tools, if they are not remembered.
func (t *messagesRequest) readTools() *openai.Error {
	json := t.ToolsJSON()
	if len(json) == 0 {
		return nil
	}
	t.toolBytes = len(json)
	var known *openai.DeclaredTools
	if t.recalled != nil {
		known = t.recalled.Recall(json)
	}
	if known != nil {
		t.tools = known.Tools
	} else {
		read, err := t.Tools()
		if err != nil {
			return err
		}
		if t.served = read.Served; len(t.served) > 0 && !t.serves {
			return t.served[0].Refusal()
		}
		t.tools = make([]openai.Tool, 0, len(read.All))
		for i := range read.All {
			tool := functionOf(&read.All[i])
			tool.Deferred = tool.Deferred && read.Searched
			t.tools = append(t.tools, tool)
		}
	}
	t.in.Tools = t.tools
	return nil
}

func functionOf(t *anthropic.Tool) openai.Tool {
	return openai.Tool{
		Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict, Deferred: t.Deferred,
	}
}

func anyDeferred(tools []openai.Tool) bool {
	for i := range tools {
		if tools[i].Deferred {
			return true
		}
	}
	return false
}

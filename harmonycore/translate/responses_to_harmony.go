package translate

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Responses reads a Responses body for a model. It makes the same conversation as [Chat]. The instructions come before
// the leading system and developer items. Every later item keeps its place.
func Responses(body *openai.Body, m *contract.Model, env Env) (*Request, *openai.Error) {
	recalled := env.recallTools(body, ResponsesAPI)
	if env.Past != nil {
		body.Follow(&env.Past.Follows)
	}
	in, err := openai.DecodeResponsesRequest(body)
	if err != nil {
		return nil, err
	}
	if in.Dropped.First != nil && m.UnsupportedContent != contract.ContentDrop {
		return nil, in.Dropped.First
	}
	if in.MessagesAt != "" && !m.Answers.HarmonyMessages {
		return nil, openai.NoMessages(in.MessagesAt)
	}
	r := newItemsRequest(ResponsesAPI, in, m, env)
	if err := r.converse(in, m, recalled, nil); err != nil {
		return nil, err
	}
	return r, nil
}

// newItemsRequest returns a request whose conversation is a list of items, without the conversation. Requests of other
// APIs than Responses are turned into such a list.
func newItemsRequest(api API, in *openai.ResponsesRequest, m *contract.Model, env Env) *Request {
	r := &Request{
		API: api, Model: in.Model, Stream: in.Stream, Choices: 1,
		Logprobs: in.Logprobs, TopLogprobs: in.TopLogprobs,
		answers: m.Answers, reasoning: reasoningFields(&m.Answers), env: env,
		oneCall: in.OneCall, sealed: in.SealedReasoning, wantsSampled: in.SampledIDs, echo: in.Echo,
		messages: in.MessagesAt != "",
	}
	r.beginMarks(in.Entries, in.Counted)
	r.beside = openai.Counts{Ignored: in.Ignored, Dropped: in.Dropped.Count}
	for i := range in.Counted {
		r.beside = r.beside.Minus(&in.Counted[i].Counts)
	}
	return r
}

// set reads what the client and the operator have set, apart from the tools and the form of the answer.
func (r *Request) set(in *openai.ResponsesRequest, m *contract.Model) (err *openai.Error) {
	r.keepTokenIDs(m)
	if err := in.Sampling.Salted(m.ServerExtras); err != nil {
		return err
	}
	if err := r.setSampling(&in.Sampling, m); err != nil {
		return err
	}
	r.echo.Complete(&r.Sampling)
	r.effort, err = effortOf(m, in.Effort, in.EffortAt)
	r.MaxReasoning = reasoningLimit(m, in.Sampling.ThinkingBudget)
	return err
}

// converse makes the conversation. own are the request's own tools, if some of them may be out of sight.
func (r *Request) converse(in *openai.ResponsesRequest, m *contract.Model, recalled *toolRecall, own []openai.Tool,
) *openai.Error {
	if err := r.set(in, m); err != nil {
		return err
	}
	r.builtIns = newBuiltInTools(in)
	r.leading = in.Leading
	r.takeLasting(in)
	declared := newDeclarations(in)
	r.takeNames(in, declared)
	var known *schemas
	r.tools, known = declared.inForce()
	known.grammars = r.env.grammars()
	r.Constraint = r.tools.constraint(known, &in.Choice, &in.Format)
	r.UnenforcedGrammars = known.unenforced
	if err := r.Constraint.enforceable(); err != nil {
		return err
	}
	instructions := []string{in.Instructions}
	first := leadingInstructions(in.Input)
	for i := range first {
		instructions = append(instructions, strings.Join(in.Input[i].Content, ""))
	}
	var section *harmony.ToolSection
	if !r.messages && in.OwnTools { // a response with messages has the tools in full
		if own == nil {
			own = in.Tools
		}
		section = recalled.section(own, in.Echo.Tools, &in.Choice)
	}
	b := newBuilder(m, &r.env)
	b.builtIns = r.builtIns
	r.asSampled = b.asSampled
	b.head(m, r.env, r.effort, instructions, declared.inFront(section), &in.Format)
	if in.Truncate {
		b.turns = turns{len(b.messages)}
	}
	return b.items(in.Input, first, r, declared)
}

// items adds the items of the input from the first on, with the tools that are declared among them. Those before it are
// instructions of the head.
func (b *builder) items(input []openai.InputItem, first int, r *Request, declared *declarations) *openai.Error {
	renamed := r.tools.renamed()
	first, err := r.follow(b, first)
	if err != nil {
		return err
	}
	before := elementBefore(input, first)
	if r.env.Past == nil {
		before = max(before, r.leading-1)
	}
	r.mark(before, b)
	b.noteCalls(input, renamed)
	for i := first; i < len(input); i++ {
		b.addDeclarations(declared, i)
		if err := r.checkTokenIDs(input[i].TokenIDs, "input", input[i].Index); err != nil {
			return err
		}
		if err := b.item(input, i, r, renamed); err != nil {
			return err
		}
		if isBorder(&input[i]) && (i+1 == len(input) || input[i+1].Index != input[i].Index) {
			for declared.standsIn(input[i].Index) {
				b.addDeclaration(declared)
			}
			r.markBorder(input[i].Index, b)
		}
	}
	b.addDeclarations(declared, len(input))
	r.countAll()
	r.Conversation.Messages, r.Turns = b.messages, b.turns
	return nil
}

// noteCalls notes the calls of the history, for the results of them.
func (b *builder) noteCalls(input []openai.InputItem, renamed renamedTools) {
	for i := range input {
		item := &input[i]
		if item.Kind == openai.ItemCall {
			b.calls.add(item.CallID, b.called(item, renamed))
		}
		if endsCalls(item) {
			b.calls.interrupt()
		}
	}
}

// elementBefore returns the index of the element of the input before the item at i, of those that the model sees, or
// -1.
func elementBefore(input []openai.InputItem, i int) int {
	if i == 0 {
		return -1
	}
	return input[i-1].Index
}

// isBorder reports whether the conversation may be continued behind an item ([Mark]).
func isBorder(item *openai.InputItem) bool {
	return item.Kind == openai.ItemCallOutput || item.Kind == openai.ItemMessage && item.Role == openai.RoleUser
}

// endsCalls reports whether calls after an item are of another run than those before it.
func endsCalls(item *openai.InputItem) bool {
	switch item.Kind {
	case openai.ItemCall:
		return item.Answered
	case openai.ItemMessage:
		return item.Role != openai.RoleAssistant
	default:
		return item.Kind == openai.ItemCallOutput
	}
}

func (b *builder) item(input []openai.InputItem, i int, r *Request, renamed renamedTools) *openai.Error {
	item := &input[i]
	switch item.Kind {
	case openai.ItemReasoning:
		if err := b.reasoning(item, r); err != nil {
			return err
		}
	case openai.ItemCall:
		tool := b.called(item, renamed)
		b.call(tool, item.Arguments, item.Custom)
		b.endTurn(item, r)
		if item.Answered {
			b.addResult(tool, item.Content)
		}
		return nil
	case openai.ItemCallOutput:
		if item.Standalone() {
			b.addResult(b.called(item, renamed), item.Content)
			return nil
		}
		if !b.result(item.CallID, item.Content) {
			return noCall(r.placeOfCallID(item))
		}
		return nil
	default:
		switch item.Role {
		case openai.RoleUser:
			b.user("", item.Content)
			return nil
		case openai.RoleAssistant:
			channel := harmony.Final
			if isPreamble(input, i) {
				channel = harmony.Commentary
			}
			b.assistant(channel, item.Content)
		default:
			b.addInstructions(strings.Join(item.Content, ""))
			return nil
		}
	}
	b.endTurn(item, r)
	return nil
}

// isPreamble reports whether the assistant's text at i led to a call. Its phase says which it is. Many clients drop the
// phase: then it is a preamble if a call comes next.
func isPreamble(input []openai.InputItem, i int) bool {
	switch input[i].Phase {
	case openai.PhaseCommentary:
		return true
	case openai.PhaseFinalAnswer:
		return false
	}
	for i++; i < len(input) && input[i].Kind == openai.ItemReasoning; i++ {
	}
	return i < len(input) && input[i].Kind == openai.ItemCall
}

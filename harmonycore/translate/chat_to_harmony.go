package translate

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Chat reads a Chat Completions body for a model. The conversation is the model's system message, a developer message
// with the leading instructions and the tools, and then the history.
//
// An assistant's turn that calls functions is rendered as the model writes it: the reasoning, then the text as a
// preamble on the commentary channel, then the calls. Any other turn is the reasoning and then the final text.
//
// The texts of the conversation lie in the body's memory, which Chat overwrites. Everything else in the [Request] is a
// copy.
func Chat(body *openai.Body, m *contract.Model, env Env) (*Request, *openai.Error) {
	recalled := env.recallTools(body, ChatAPI)
	in, err := openai.DecodeChatRequest(body)
	if err != nil {
		return nil, err
	}
	if in.Dropped.First != nil && m.UnsupportedContent != contract.ContentDrop {
		return nil, in.Dropped.First
	}
	if err = in.Sampling.Salted(m.ServerExtras); err != nil {
		return nil, err
	}
	r, err := newChatRequest(in, m, env)
	if err != nil {
		return nil, err
	}
	if r.effort, err = chatEffort(m, in); err != nil {
		return nil, err
	}
	r.Stop = in.Stop
	known := &schemas{declared: in.Tools, grammars: env.grammars()}
	r.Constraint = r.tools.constraint(known, &in.Choice, &in.Format)
	r.UnenforcedGrammars = known.unenforced
	if err := r.Constraint.enforceable(); err != nil {
		return nil, err
	}
	var instructions []string
	first := 0
	for first < len(in.Messages) && isInstructions(in.Messages[first].Role) {
		instructions = append(instructions, strings.Join(in.Messages[first].Content, ""))
		first++
	}
	b := newBuilder(m, &env)
	r.asSampled = b.asSampled
	b.head(m, env, r.effort, instructions, r.tools.declaration(known, recalled.section(in.Tools, "", &in.Choice)), &in.Format)
	if err := b.chatMessages(in.Messages, first, r); err != nil {
		return nil, err
	}
	return r, nil
}

// chatMessages adds the messages from the first on. Those before it are instructions of the head.
func (b *builder) chatMessages(messages []openai.ChatMessage, first int, r *Request) *openai.Error {
	first, err := r.follow(b, first)
	if err != nil {
		return err
	}
	r.mark(first-1, b)
	for i := range messages {
		if messages[i].Role != openai.RoleAssistant {
			b.calls.interrupt()
		}
		for j := range messages[i].ToolCalls {
			b.calls.add(messages[i].ToolCalls[j].ID, calledTool{shown: messages[i].ToolCalls[j].Name})
		}
	}
	for i := first; i < len(messages); i++ {
		if err := r.checkTokenIDs(messages[i].TokenIDs, "messages", i); err != nil {
			return err
		}
		b.writing.from = len(b.messages)
		if err := b.chatMessage(&messages[i], i); err != nil {
			return err
		}
		if ids := messages[i].TokenIDs; ids != nil && r.ids != nil && b.writing.t != nil {
			b.writtenAs(b.writing.traced(ids), true)
		}
		if role := messages[i].Role; role == openai.RoleUser || role == openai.RoleTool {
			r.mark(i, b)
		}
	}
	r.countAll()
	r.Conversation.Messages = b.messages
	return nil
}

// readEnd reads what of a request its conversation tells, if the rest is known.
func (r *Request) readEnd(m *contract.Model, entries int, dropped *openai.Dropped, counted []openai.Counted,
) *openai.Error {
	if dropped.First != nil && m.UnsupportedContent != contract.ContentDrop {
		return dropped.First
	}
	r.beginMarks(entries, counted)
	return nil
}

// newChatRequest returns a Chat request without its conversation.
func newChatRequest(in *openai.ChatRequest, m *contract.Model, env Env) (*Request, *openai.Error) {
	if limit := m.Answers.MaxChoices; limit > 0 && in.Choices > limit {
		return nil, openai.Invalid("n", "Invalid 'n': this model gives at most "+strconv.Itoa(limit)+" choices, but got "+
			strconv.Itoa(in.Choices)+" instead.")
	}
	r := &Request{
		API: ChatAPI, Model: in.Model, Stream: in.Stream, Choices: in.Choices,
		Logprobs: in.Logprobs, TopLogprobs: in.TopLogprobs, HideReasoning: in.HideReasoning,
		answers: m.Answers, reasoning: reasoningFields(&m.Answers), env: env,
		includeUsage: in.IncludeUsage, oneCall: in.OneCall, tierRequested: in.TierRequested,
	}
	r.beginMarks(in.Entries, in.Counted)
	if in.HideReasoning {
		r.reasoning = openai.NoReasoning
	}
	r.keepTokenIDs(m)
	if err := r.setSampling(&in.Sampling, m); err != nil {
		return nil, err
	}
	r.MaxReasoning = reasoningLimit(m, in.Sampling.ThinkingBudget)
	r.tools = newToolset(in.Tools)
	return r, nil
}

// ChatAnswer reads what the answer to a Chat request depends on. It is for servers that take conversations, which get
// the request itself: their stop sequences, efforts and forms of answers are theirs to keep.
func ChatAnswer(body *openai.Body, m *contract.Model, env Env) (*Request, *openai.Error) {
	in, err := openai.DecodeChatRequest(body)
	if err != nil {
		return nil, err
	}
	if kind := contract.KindNamed(m.Server); kind != nil && kind.Renders {
		if err := in.Sampling.Salted(m.ServerExtras); err != nil { // the gateway writes the engine's request
			return nil, err
		}
	}
	r, err := newChatRequest(in, m, env)
	if err != nil {
		return nil, err
	}
	r.unphased = true
	r.countAll()
	return r, nil
}

// setSampling copies the client's sampling parameters, and the servers' own parameters that the model allows.
// Where the client leaves a parameter open, or the operator sets it for all clients, the operator's value counts.
func (r *Request) setSampling(s *openai.Sampling, m *contract.Model) *openai.Error {
	if s.ReturnTokenIDs && !m.Answers.TokenIDs {
		return openai.Unsupported("return_token_ids", "Unsupported value: 'return_token_ids' cannot be true with this "+
			"model. Its operator can have all of its answers bring their token ids, with 'answers.token_ids'.")
	}
	err := s.Complete(m.ServerExtras, r.env.Defaults)
	r.env.Overrides.Override(s)
	r.echo.Override(r.env.Overrides)
	r.Sampling = *s
	r.Sampling.TemplateKwargs = nil // they lie in the body
	return err
}

// chatEffort returns the effort of reasoning_effort or reasoning, else of chat_template_kwargs, which is a
// parameter of servers.
func chatEffort(m *contract.Model, in *openai.ChatRequest) (harmony.Effort, *openai.Error) {
	switch {
	case in.ReasoningOff:
		return noEffort(m)
	case in.Effort == "":
		return effortOf(m, in.Sampling.TemplateEffort, "chat_template_kwargs.reasoning_effort")
	case in.EffortInObject:
		return effortOf(m, in.Effort, "reasoning.effort")
	}
	return effortOf(m, in.Effort, "reasoning_effort")
}

func (b *builder) chatMessage(m *openai.ChatMessage, i int) *openai.Error {
	switch m.Role {
	case openai.RoleUser:
		b.user(m.Name, m.Content)
	case openai.RoleAssistant:
		b.assistant(harmony.Analysis, []string{m.Reasoning})
		if len(m.ToolCalls) == 0 {
			b.assistant(harmony.Final, m.Content)
			return nil
		}
		b.assistant(harmony.Commentary, m.Content)
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			b.call(calledTool{shown: c.Name}, c.Arguments, c.Custom)
		}
	case openai.RoleTool:
		if !b.result(m.ToolCallID, m.Content) {
			return noCall("messages[" + strconv.Itoa(i) + "].tool_call_id")
		}
	default:
		b.addInstructions(strings.Join(m.Content, ""))
	}
	return nil
}

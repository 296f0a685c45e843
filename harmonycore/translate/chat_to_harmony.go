package translate

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Chat reads a Chat Completions body for a model. The conversation is the model's system message, a developer message
// of the leading instructions and the tools, and then the history. An assistant's turn that calls functions comes as
// the model itself writes it: reasoning, then its text as a preamble on the commentary channel, then the calls;
// any other turn is reasoning and then the final text. The conversation's texts lie in the body's memory, which is
// overwritten; everything else of the Request is its own.
func Chat(body *openai.Body, m *Model, env Env) (*Request, *openai.Error) {
	in, err := openai.DecodeChatRequest(body)
	if err != nil {
		return nil, err
	}
	if most := m.Answers.MaxChoices; most > 0 && in.Choices > most {
		return nil, openai.Invalid("n", "Invalid 'n': this model gives at most "+strconv.Itoa(most)+" choices, but got "+strconv.Itoa(in.Choices)+" instead.")
	}
	r := &Request{
		API: ChatAPI, Model: in.Model, Stream: in.Stream, Sampling: in.Sampling, Choices: in.Choices,
		answers: m.Answers, env: env, includeUsage: in.IncludeUsage, effort: effortOf(in.Effort, m),
	}
	r.tools = newToolset(in.Tools)
	r.Constraint = r.tools.constraint(in.Tools, &in.Choice, &in.Format)
	var instructions []string
	first := 0
	for first < len(in.Messages) && instructs(in.Messages[first].Role) {
		instructions = append(instructions, strings.Join(in.Messages[first].Content, ""))
		first++
	}
	var b builder
	b.head(m, env, r.effort, instructions, r.tools.namespaces(in.Tools), &in.Format)
	for i := first; i < len(in.Messages); i++ {
		if err := b.chatMessage(&in.Messages[i], i, r.tools); err != nil {
			return nil, err
		}
	}
	r.Conversation.Messages = b.messages
	return r, nil
}

func (b *builder) chatMessage(m *openai.ChatMessage, i int, tools toolset) *openai.Error {
	switch m.Role {
	case openai.RoleUser:
		b.user(m.Content)
	case openai.RoleAssistant:
		b.assistant(harmony.Analysis, []string{m.Reasoning})
		if len(m.ToolCalls) == 0 {
			b.assistant(harmony.Final, m.Content)
			return nil
		}
		b.assistant(harmony.Commentary, m.Content)
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			b.call(c.ID, tools.shownName("", c.Name), c.Arguments)
		}
	case openai.RoleTool:
		return b.result(m.ToolCallID, m.Content, "messages["+strconv.Itoa(i)+"].tool_call_id")
	default:
		b.instruct(strings.Join(m.Content, ""))
	}
	return nil
}

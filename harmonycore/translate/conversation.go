package translate

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// builder makes a conversation. It knows what both APIs' histories have in common: a head of instructions and tools,
// and calls that are answered by their ids.
type builder struct {
	messages []harmony.Message
	// calls are all of the history, of which made have become messages so far.
	calls pastCalls
	made  int
	// turns is where the conversation can be cut, if it may be.
	turns turns
	// dropCommentary leaves out what the assistant said on its way to a call.
	dropCommentary bool
}

// head adds the system message, and a developer message when there is anything to say in it: instructions, tools, and at
// its end the form of the answer, apart from the rest so that large instructions need not be copied.
func (b *builder) head(m *contract.Model, env Env, effort harmony.Effort, instructions []string, tools []harmony.Namespace, format *openai.TextFormat) {
	b.messages = append(b.messages, harmony.Message{Role: harmony.System, Content: []harmony.Content{{
		System: &harmony.SystemContent{
			ModelIdentity:         present(m.System.Identity),
			KnowledgeCutoff:       present(m.System.KnowledgeCutoff),
			ConversationStartDate: env.Date,
			Effort:                effort,
			Channels: &harmony.ChannelConfig{
				Valid:    []string{harmony.Analysis, harmony.Commentary, harmony.Final},
				Required: true,
			},
		},
	}}})
	said := instructions[:0:0]
	for _, text := range instructions {
		if text != "" {
			said = append(said, text)
		}
	}
	var content []harmony.Content
	if len(said) > 0 || len(tools) > 0 {
		developer := &harmony.DeveloperContent{Tools: tools}
		if len(said) > 0 {
			developer.Instructions = harmony.Some(strings.Join(said, "\n\n"))
		}
		content = append(content, harmony.Content{Developer: developer})
	}
	if format.Name != "" {
		text := formatText(format)
		if len(content) > 0 {
			text = "\n\n" + text
		}
		content = append(content, harmony.Content{Text: text})
	}
	if len(content) > 0 {
		b.messages = append(b.messages, harmony.Message{Role: harmony.Developer, Content: content})
	}
}

// instruct adds instructions that come later than the first turn.
func (b *builder) instruct(text string) {
	if text == "" {
		return
	}
	b.messages = append(b.messages, harmony.Message{Role: harmony.Developer, Content: []harmony.Content{{
		Developer: &harmony.DeveloperContent{Instructions: harmony.Some(text)},
	}}})
}

// user adds what a user said. One with a name is user:NAME in the header, as the format has it.
func (b *builder) user(name string, parts []string) {
	m := harmony.Message{Role: harmony.User, Content: texts(parts)}
	if name != "" {
		m.Name = harmony.Some(name)
	}
	b.turns = b.turns.asked(len(b.messages))
	b.messages = append(b.messages, m)
}

// assistant adds the assistant's text on a channel; an empty one is left out, as if it had not been said.
func (b *builder) assistant(channel string, parts []string) {
	if channel == harmony.Commentary && b.dropCommentary {
		return
	}
	for _, p := range parts {
		if p != "" {
			b.messages = append(b.messages, harmony.Message{
				Role: harmony.Assistant, Channel: harmony.Some(channel), Content: texts(parts),
			})
			return
		}
	}
}

// call adds the next of the calls, with the content type "json" as the model's own chat template and vLLM write it:
// assistant to=functions.NAME<|channel|>commentary json<|message|>. The input of a custom tool is no JSON.
func (b *builder) call(shown, arguments string, custom bool) {
	if b.made < len(b.calls.list) {
		b.calls.list[b.made].message = len(b.messages)
	}
	b.made++
	m := harmony.Message{
		Role:      harmony.Assistant,
		Recipient: harmony.Some(functions + "." + shown),
		Channel:   harmony.Some(harmony.Commentary),
		Content:   harmony.Text(arguments),
	}
	if !custom {
		m.ContentType = harmony.Some("json")
	}
	b.messages = append(b.messages, m)
}

// result adds what a function returned, as one text whatever parts it came in, since a function returns one thing;
// param names the place of id for a client that answers a call it never had.
func (b *builder) result(id string, parts []string, param string) *openai.Error {
	call := b.calls.find(id, b.made)
	if call == nil {
		return openai.Invalid(param, "Invalid '"+param+"': no call before it has this id.")
	}
	b.turns = b.turns.returned(call.message)
	b.returned(call.shown, parts)
	return nil
}

func (b *builder) returned(shown string, parts []string) {
	b.messages = append(b.messages, harmony.Message{
		Role:      harmony.Tool,
		Name:      harmony.Some(functions + "." + shown),
		Recipient: harmony.Some("assistant"),
		Channel:   harmony.Some(harmony.Commentary),
		Content:   harmony.Text(strings.Join(parts, "")),
	})
}

// texts keeps the client's parts apart; no parts are one empty text.
func texts(parts []string) []harmony.Content {
	if len(parts) == 0 {
		return harmony.Text("")
	}
	content := make([]harmony.Content, 0, len(parts))
	for _, p := range parts {
		content = append(content, harmony.Content{Text: p})
	}
	return content
}

func instructs(role string) bool {
	return role == openai.RoleSystem || role == openai.RoleDeveloper
}

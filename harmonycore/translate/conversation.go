package translate

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// builder makes a conversation. It has what the histories of both APIs share: a head of instructions and tools, and
// calls that results find by their ids.
type builder struct {
	messages []harmony.Message
	// calls are all calls of the history. The first made of them have become messages.
	calls pastCalls
	made  int
	// turns are the places where the conversation can be cut, if truncation is allowed.
	turns    turns
	builtIns builtInTools
	// dropCommentary reports whether the assistant's preambles are left out.
	dropCommentary bool
	// asSampled reports whether calls are written as the model itself writes them, and resultsAsSampled the same of
	// results.
	asSampled, resultsAsSampled bool
	writing                     writing
}

func newBuilder(m *contract.Model, env *Env) builder {
	b := builder{
		dropCommentary:   m.DropCommentaryFromHistory,
		asSampled:        m.History.Calls != contract.HistoryTemplate,
		resultsAsSampled: m.History.Results == contract.HistorySampled,
	}
	if b.asSampled {
		b.writing = writing{t: env.Tokenizer, left: 2 * m.ContextLength}
	}
	return b
}

// head adds the system message, and a developer message if there are instructions, tools or a form of the answer. The
// form is a content of its own at the end, so that large instructions need not be copied.
func (b *builder) head(m *contract.Model, env Env, effort harmony.Effort, instructions []string,
	tools declaration, format *openai.TextFormat) {
	b.messages = append(b.messages, harmony.Message{Role: harmony.System, Content: []harmony.Content{{
		System: &harmony.SystemContent{
			ModelIdentity:         optional(m.System.Identity),
			KnowledgeCutoff:       optional(m.System.KnowledgeCutoff),
			ConversationStartDate: env.Date,
			Effort:                effort,
			Tools:                 b.builtIns.shown,
			Channels: &harmony.ChannelConfig{
				Valid:    []string{harmony.Analysis, harmony.Commentary, harmony.Final},
				Required: true,
			},
		},
	}}})
	stated := instructions[:0:0]
	for _, text := range instructions {
		if text != "" {
			stated = append(stated, text)
		}
	}
	var content []harmony.Content
	if len(stated) > 0 || len(tools.namespaces) > 0 || tools.section != nil {
		developer := &harmony.DeveloperContent{Tools: tools.namespaces, Section: tools.section}
		if len(stated) > 0 {
			developer.Instructions = harmony.Some(strings.Join(stated, "\n\n"))
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

// addInstructions adds instructions after the first turn.
func (b *builder) addInstructions(text string) {
	if text == "" {
		return
	}
	b.writing.leave()
	b.messages = append(b.messages, harmony.Message{Role: harmony.Developer, Content: []harmony.Content{{
		Developer: &harmony.DeveloperContent{Instructions: harmony.Some(text)},
	}}})
}

// user adds a user's message. The header of a user with a name is user:NAME (docs/harmony-format.md#messages).
func (b *builder) user(name string, parts []string) {
	m := harmony.Message{Role: harmony.User, Content: texts(parts)}
	if name != "" {
		m.Name = harmony.Some(name)
	}
	b.turns = b.turns.addUser(len(b.messages))
	b.writing.leave()
	b.messages = append(b.messages, m)
}

// assistant adds the assistant's text on a channel. It leaves out a message without text.
func (b *builder) assistant(channel string, parts []string) {
	b.writing.header = nil
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

// call adds the next call of the history. The model writes <|channel|>commentary to=functions.NAME
// <|constrain|>json<|message|>, as [harmony.Renderer.AppendCallHeader] does. Its chat template and vLLM write assistant
// to=functions.NAME<|channel|>commentary json<|message|>. The input of a custom tool has no content type
// (RATIONALE.md#15). A built-in tool's is code, on the channel analysis.
func (b *builder) call(tool calledTool, arguments string, custom bool) {
	if b.made < len(b.calls.list) {
		b.calls.list[b.made].message = len(b.messages)
	}
	b.made++
	m := harmony.Message{
		Role:      harmony.Assistant,
		Recipient: harmony.Some(tool.recipient()),
		Channel:   harmony.Some(tool.channel()),
		Content:   harmony.Text(arguments),

		RecipientLast: b.asSampled,
	}
	if kind := tool.writtenType(custom, b.asSampled); kind != "" {
		m.ContentType = harmony.Some(kind)
	}
	b.writing.begunBy(&m)
	b.messages = append(b.messages, m)
}

// result adds the result of a call with this id. A function returns one thing, so all parts become one text. result
// reports whether there is such a call.
func (b *builder) result(id string, parts []string) bool {
	call := b.calls.answer(id, b.made)
	if call == nil {
		return false
	}
	b.turns = b.turns.addResult(call.message)
	b.addResult(call.calledTool, parts)
	return true
}

// noCall returns the error for a result at param that has no call.
func noCall(param string) *openai.Error {
	return openai.Invalid(param, "Invalid '"+param+"': no call before it has this id.")
}

func (b *builder) addResult(tool calledTool, parts []string) {
	b.writing.leave()
	b.messages = append(b.messages, harmony.Message{
		Role:      harmony.Tool,
		Name:      harmony.Some(tool.recipient()),
		Recipient: harmony.Some("assistant"),
		Channel:   harmony.Some(tool.channel()),
		Content:   harmony.Text(strings.Join(parts, "")),

		RecipientLast: b.resultsAsSampled,
	})
}

// texts returns one content for each of the client's parts (RATIONALE.md#14). If there are none, it returns one empty
// text.
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

func isInstructions(role string) bool {
	return role == openai.RoleSystem || role == openai.RoleDeveloper
}

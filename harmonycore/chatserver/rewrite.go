package chatserver

import (
	"bytes"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Changes are what [AppendRewritten] changes in a client's request.
type Changes struct {
	// Model is the model's name at its servers.
	Model string
	// Chat is how the servers take a conversation.
	Chat *contract.ChatServers
	// ExtraBody are members that are added if the client has no member of that name.
	ExtraBody contract.Object
	// Overrides are members in place of the client's.
	Overrides contract.Object
	// Stream asks for the answer as a stream with usage, whatever the client asks for.
	Stream bool
	// TokenIDs asks for the ids of the prompt and of the answer, and for the logprobs of the answer.
	TokenIDs bool
}

// The members of a request that have a meaning here.
const (
	memberModel         = "model"
	memberMessages      = "messages"
	memberStream        = "stream"
	memberStreamOptions = "stream_options"
	memberKwargs        = "chat_template_kwargs"
)

const (
	// maxEscape is the maximum number of bytes of JSON for one byte of a string.
	maxEscape = 6
	// maxOwn is the maximum length of the members that the gateway adds itself.
	maxOwn = 256
)

// AppendRewritten appends a client's Chat request with changes. All other members are copied as they are spelled. body
// is a JSON object that [openai.Open] has accepted.
//
// Some servers read names in any case, and would take "Model" for the model. So a member that is one of the changed
// ones in another case is left out.
func AppendRewritten(dst, body []byte, c *Changes) ([]byte, *openai.Error) {
	w := rewriter{
		Changes: c, extras: extrasOf(c.ExtraBody), overrides: extrasOf(c.Overrides), kwargs: c.Chat.TemplateKwargs,
	}
	own := len(c.Model)*maxEscape + len(c.ExtraBody) + len(c.Overrides) + len(c.Chat.TemplateKwargs) + maxOwn
	dst = Reserve(dst, len(body)+own)
	dst = append(dst, '{')
	members := rawjson.Members(body)
	for members.Next() {
		var failure *openai.Error
		if dst, failure = w.appendMember(dst, &members); failure != nil {
			return dst, failure
		}
	}
	return append(w.appendOwn(dst), '}'), nil
}

// rewriter rewrites the members of one request.
type rewriter struct {
	*Changes
	list
	extras, overrides []extra
	// kwargs are the operator's template arguments, until they are written.
	kwargs contract.Object
	// named reports whether the model's name is written.
	named bool
}

func (w *rewriter) appendMember(dst []byte, m *rawjson.Items) ([]byte, *openai.Error) {
	name := rawjson.View(m.Key)
	if failure := refuse(name, m); failure != nil {
		return dst, failure
	}
	for i := range w.extras {
		w.extras[i].given = w.extras[i].given || sameMeaning(w.extras[i].name, name)
	}
	if w.TokenIDs && m.Kind == rawjson.Null && strings.EqualFold(name, "top_logprobs") {
		return dst, nil // for vLLM null means no logprobs at all
	}
	if changed := w.changed(name); changed != "" {
		if changed != name {
			return dst, nil
		}
		return w.appendChanged(dst, changed, m)
	}
	dst = w.appendName(dst, name)
	return appendValue(dst, m), nil
}

// sameMeaning reports whether two names of members mean the same. Some servers refuse a request with both.
func sameMeaning(a, b string) bool { return a == b || isLimit(a) && isLimit(b) }

// The two names of the limit of an answer.
const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
)

func isLimit(name string) bool { return name == maxTokens || name == maxCompletionTokens }

// changed returns the changed member that servers may read a name as, or an empty string.
func (w *rewriter) changed(name string) string {
	for _, c := range [...]struct {
		name    string
		changes bool
	}{
		{memberModel, true},
		{memberMessages, w.Chat.DeveloperRole != contract.DeveloperKeep ||
			w.Chat.ReasoningHistory != contract.ReasoningBoth},
		{memberKwargs, w.Chat.TemplateKwargs != ""},
		{memberStream, w.Stream},
		{memberStreamOptions, w.Stream},
		{"return_token_ids", w.TokenIDs},
		{"return_tokens_as_token_ids", w.TokenIDs}, // it would take the texts out of the client's logprobs
		{"logprobs", w.TokenIDs},
	} {
		if c.changes && len(name) >= len(c.name) && strings.EqualFold(name, c.name) {
			return c.name
		}
	}
	for i := range w.overrides {
		e := &w.overrides[i]
		limits := isLimit(e.name) && (strings.EqualFold(name, maxTokens) || strings.EqualFold(name, maxCompletionTokens))
		if limits || strings.EqualFold(e.name, name) {
			return e.name
		}
	}
	return ""
}

func (w *rewriter) appendChanged(dst []byte, name string, m *rawjson.Items) ([]byte, *openai.Error) {
	switch name {
	case memberModel:
		w.named = true
		return rawjson.AppendString(w.appendName(dst, name), w.Model), nil
	case memberMessages:
		return appendMessages(w.appendName(dst, name), m, w.Chat), nil
	case memberKwargs:
		if w.kwargs == "" {
			return dst, openai.DuplicateKey(name)
		}
		if m.Kind == rawjson.Null {
			return dst, nil
		}
		own := w.kwargs
		w.kwargs = ""
		dst = w.appendName(dst, name)
		if m.Kind != rawjson.Object {
			return appendValue(dst, m), nil // the server says what is wrong
		}
		return AppendKwargs(dst, m.Value, own), nil
	default:
		return dst, nil // what is asked instead comes last
	}
}

// appendOwn appends the members that are not the client's.
func (w *rewriter) appendOwn(dst []byte) []byte {
	if !w.named {
		dst = rawjson.AppendString(w.appendName(dst, memberModel), w.Model)
	}
	if w.kwargs != "" {
		dst = append(w.appendName(dst, memberKwargs), w.kwargs...)
	}
	for i := range w.extras {
		e := &w.extras[i]
		if !e.given && !isOwn(e.name) && w.changed(e.name) == "" {
			dst = append(w.appendName(dst, e.name), e.value...)
		}
	}
	for i := range w.overrides {
		e := &w.overrides[i]
		dst = append(w.appendName(dst, e.name), e.value...)
	}
	if w.TokenIDs {
		dst = append(w.next(dst), `"logprobs":true,"return_token_ids":true`...)
	}
	if w.Stream {
		dst = append(w.next(dst), `"stream":true,"stream_options":{"include_usage":true}`...)
	}
	return dst
}

// isOwn reports whether a member is the client's alone, so that an operator cannot have a default of it.
func isOwn(name string) bool {
	switch name {
	case memberModel, memberMessages, memberStream, memberStreamOptions:
		return true
	}
	return false
}

func (w *rewriter) appendName(dst []byte, name string) []byte {
	return append(rawjson.AppendString(w.next(dst), name), ':')
}

// appendValue appends a value as it is spelled.
func appendValue(dst []byte, m *rawjson.Items) []byte {
	if m.Kind == rawjson.String {
		return append(append(append(dst, '"'), m.Value...), '"')
	}
	return append(dst, m.Value...)
}

// appendMessages appends messages as they are spelled, with the developer's as the system's, and with reasoning in one
// member. The gateway's own answers have it in two by default, and vLLM's Rust front end refuses a message with both.
func appendMessages(dst []byte, m *rawjson.Items, c *contract.ChatServers) []byte {
	if m.Kind != rawjson.Array {
		return appendValue(dst, m)
	}
	data, written := m.Value, 0
	messages := rawjson.Elements(data)
	var members rawjson.Items
	for messages.Next() {
		base := messages.End - len(messages.Value)
		from, to := doubled(messages.Value, c)
		members = rawjson.Members(messages.Value)
		for members.Next() {
			if from < to && members.End > from {
				dst = append(dst, data[written:base+from]...)
				written = base + to
				from = to
			}
			if c.DeveloperRole == contract.DeveloperKeep || members.Kind != rawjson.String ||
				!strings.EqualFold(rawjson.View(members.Key), "role") || !isDeveloper(members.Value) {
				continue
			}
			end := base + members.End
			dst = append(dst, data[written:end-1-len(members.Value)]...)
			dst = append(dst, openai.RoleSystem...)
			written = end - 1
		}
	}
	return append(dst, data[written:]...)
}

// doubled returns where the member of a message stands, with a comma, that has the reasoning a second time. It is empty
// if there is none. The member stays that the operator has named, if it has a text.
func doubled(message []byte, c *contract.ChatServers) (from, to int) {
	if c.ReasoningHistory == contract.ReasoningBoth {
		return 0, 0
	}
	var found [2]struct {
		from, to     int
		given, spoke bool
	}
	last := 0
	members := rawjson.Members(message)
	for members.Next() {
		from, to := last, members.End
		if last == 0 {
			from, to = 1, rawjson.Space(message, to)+1 // no comma is before it
		}
		last = members.End
		for i, name := range [...]string{contract.ReasoningOnly, contract.ReasoningContentOnly} {
			if rawjson.View(members.Key) == name {
				f := &found[i]
				f.from, f.to, f.given, f.spoke = from, to, true, members.Kind != rawjson.Null
			}
		}
	}
	if !found[0].given || !found[1].given {
		return 0, 0
	}
	kept := 1
	if c.ReasoningHistory == contract.ReasoningOnly {
		kept = 0
	}
	if !found[kept].spoke && found[1-kept].spoke {
		kept = 1 - kept
	}
	return found[1-kept].from, found[1-kept].to
}

func isDeveloper(role []byte) bool {
	if bytes.IndexByte(role, '\\') >= 0 {
		return rawjson.Unescape(role) == openai.RoleDeveloper
	}
	return string(role) == openai.RoleDeveloper
}

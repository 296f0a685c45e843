package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim/gptoss"
	"github.com/harmonyedge/harmonyedge/sim/server"
)

// chatAnswer is an answer as a chat server's parser reads it: what each token adds to the message.
type chatAnswer struct {
	pieces [][]chatPiece // as many as tokens
	// calls are the names of the functions that are called.
	calls []string
	// reasoningTokens is the number of tokens in reasoning.
	reasoningTokens int
}

// chatPiece is text that a token adds to a member of the message. A piece that begins a call or a text is the first of
// its message.
type chatPiece struct {
	kind   pieceKind
	text   string
	begins bool
	call   int // the number of the call
}

type pieceKind int

// The kinds of pieces, in the order in which they may be in one chunk.
const (
	reasoningPiece pieceKind = iota
	contentPiece
	callPiece
)

// answerSchema is what the text of an answer must be: JSON by a schema, one of some texts, or what a pattern matches.
type answerSchema struct {
	text    json.RawMessage
	check   interface{ Validate(v any) error }
	choices []string
	pattern *regexp.Regexp
	source  string // of the pattern
}

// compile compiles the form of the answer, which a response_format or structured_outputs asks for.
func (o *chatOptions) compile(s *server.StructuredOutputs) *server.Refusal {
	anyObject := json.RawMessage(`{"type":"object"}`)
	isGiven := func(raw json.RawMessage) bool { return raw != nil && string(raw) != "null" }
	switch {
	case o.format != nil && o.format.Type == "json_object", s != nil && isGiven(s.JSONObject):
		o.schema.text = anyObject
	case o.format != nil && o.format.Type == "json_schema":
		o.schema.text = o.format.JSONSchema.Schema
		if o.schema.text == nil {
			o.schema.text = anyObject
		}
	case s == nil:
		return nil
	case isGiven(s.JSON):
		o.schema.text = s.JSON
	case isGiven(s.Choice):
		if json.Unmarshal(s.Choice, &o.schema.choices) != nil {
			return server.Invalid("body.structured_outputs", "Input should be a valid list")
		}
		return nil
	case isGiven(s.Regex):
		var pattern string
		if json.Unmarshal(s.Regex, &pattern) != nil {
			return server.Invalid("body.structured_outputs", "Input should be a valid string")
		}
		compiled, err := regexp.Compile("^(?s:" + pattern + ")$")
		if err != nil {
			return server.BadRequest("", "Invalid grammar specification.")
		}
		o.schema.pattern, o.schema.source = compiled, pattern
		return nil
	default:
		return nil // a structural tag, which is of the whole answer
	}
	schema, err := gptoss.CompileSchema(o.schema.text)
	if err != nil {
		return server.BadRequest("", "Invalid JSON schema: "+err.Error())
	}
	o.schema.check = schema
	return nil
}

// callable returns the functions that the model may call.
func (o *chatOptions) callable() []gptoss.Tool {
	name, isNamed := strings.CutPrefix(o.choice, "function ")
	switch {
	case o.choice == "none":
		return nil
	case !isNamed:
		return o.tools
	}
	return slices.DeleteFunc(slices.Clone(o.tools), func(t gptoss.Tool) bool { return t.Name != name })
}

// CheckAnswer reports why an answer does not keep to the request's tool_choice and response_format. An answer without
// an end is one that a limit has cut.
func (o *chatOptions) CheckAnswer(t *tokenizer.Tokenizer, ids []uint32) error {
	whole := len(ids) > 0 && slices.Contains(gptoss.Ends, ids[len(ids)-1])
	if !whole {
		return nil
	}
	r := &chatReader{t: t, o: o, form: ChatReasoningContent, ids: ids, texts: plainTexts(t, ids)}
	a := r.read()
	var text strings.Builder
	for _, p := range slices.Concat(a.pieces...) {
		if p.kind == contentPiece {
			text.WriteString(p.text)
		}
	}
	content := text.String()
	name, isNamed := strings.CutPrefix(o.choice, "function ")
	switch {
	case (isNamed || o.choice == "required") && len(a.calls) == 0:
		return errors.New("no function is called")
	case isNamed && slices.ContainsFunc(a.calls, func(s string) bool { return s != name }):
		return fmt.Errorf("%v are called, not %s", a.calls, name)
	case len(a.calls) > 0:
		return nil
	case o.schema.choices != nil && !slices.Contains(o.schema.choices, content):
		return fmt.Errorf("%q is none of %q", content, o.schema.choices)
	case o.schema.pattern != nil && !o.schema.pattern.MatchString(content):
		return fmt.Errorf("%q does not match %s", content, o.schema.pattern)
	case o.schema.check == nil:
		return nil
	}
	var value any
	if err := json.Unmarshal([]byte(content), &value); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	return o.schema.check.Validate(value)
}

// Schemas returns the schema of the text, if there is one.
func (o *chatOptions) Schemas() []json.RawMessage {
	if o.schema.text == nil {
		return nil
	}
	return []json.RawMessage{o.schema.text}
}

// Texts returns the texts to choose from, and one that matches the pattern.
func (o *chatOptions) Texts() []string {
	all := slices.Clone(o.schema.choices)
	if text, ok := gptoss.Simplest(o.schema.source); ok && o.schema.source != "" {
		all = append(all, text)
	}
	return all
}

// plainTexts returns the text that each token completes, without control tokens.
func plainTexts(t *tokenizer.Tokenizer, ids []uint32) []string {
	d := gptoss.Detokenizer{Tokenizer: t, SkipSpecial: true}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = d.Add(id)
	}
	return texts
}

// chatReader reads the tokens of an answer as messages.
type chatReader struct {
	t      *tokenizer.Tokenizer
	o      *chatOptions
	form   string
	marker string
	ids    []uint32
	texts  []string

	a chatAnswer
	// opened reports whether some reasoning has begun, and answered whether something else has.
	opened, answered bool
}

// answerOf returns the pieces of the job's answer.
func answerOf(j *server.Job) *chatAnswer {
	o := chatOf(j)
	if o.answer != nil {
		return o.answer
	}
	if j.Server.Options.ChatForm == ChatHarmony {
		o.answer = &chatAnswer{pieces: make([][]chatPiece, len(j.Answer.IDs))}
		for i, text := range j.Answer.Texts {
			o.answer.pieces[i] = []chatPiece{{kind: contentPiece, text: text, begins: i == 0}}
		}
		return o.answer
	}
	r := &chatReader{t: j.Server.Tokenizer, o: o, form: j.Server.Options.ChatForm, marker: j.Server.Options.ChatMarker,
		ids:   j.Answer.IDs,
		texts: plainTexts(j.Server.Tokenizer, j.Answer.IDs)}
	// vLLM's Harmony parser reads ids, so it shows the whole token in which a stop string ends.
	if _, byText := j.Answer.Stop.(string); byText && r.form != ChatReasoning {
		r.cut(len(j.Text(0, len(j.Answer.Texts))))
	}
	o.answer = r.read()
	return o.answer
}

// cut keeps so many bytes of the text.
func (r *chatReader) cut(bytes int) {
	for i, text := range r.texts {
		n := min(len(text), bytes)
		r.texts[i] = text[:n]
		bytes -= n
	}
}

// read reads all messages. Text outside them is content.
func (r *chatReader) read() *chatAnswer {
	r.a.pieces = make([][]chatPiece, len(r.ids))
	for i := 0; i < len(r.ids); {
		started := r.ids[i] == tokenizer.Start
		at := i
		if started {
			i++
		}
		end := r.next(i, tokenizer.Channel, tokenizer.Constrain)
		if end < len(r.ids) && r.ids[end] == tokenizer.Message {
			header := r.ids[i:end]
			if !started {
				header = append(r.t.AppendEncode(nil, "assistant"), header...)
			}
			m, err := gptoss.ReadHeader(r.t, header)
			if err != nil {
				m = gptoss.Message{Channel: "final"}
			}
			i = r.body(m, end)
			continue
		}
		if !started && i < len(r.ids) && r.ids[i] != tokenizer.Channel {
			r.copy(i, end, contentPiece, true)
		}
		i = max(end, at+1)
		if i < len(r.ids) && r.ids[i] != tokenizer.Start {
			i++
		}
	}
	return &r.a
}

// next returns the place of the next control token, or the end. It passes over the ones that are named.
func (r *chatReader) next(i int, over ...uint32) int {
	for i < len(r.ids) && (!tokenizer.IsSpecial(r.ids[i]) || slices.Contains(over, r.ids[i])) {
		i++
	}
	return i
}

// add adds a piece to a token's.
func (r *chatReader) add(at int, p chatPiece) { r.a.pieces[at] = append(r.a.pieces[at], p) }

// copy makes pieces of the texts from..to.
func (r *chatReader) copy(from, to int, kind pieceKind, begins bool) {
	for i := from; i < to; i++ {
		if r.texts[i] != "" {
			r.add(i, chatPiece{kind: kind, text: r.texts[i], begins: begins, call: len(r.a.calls) - 1})
			begins = false
		}
	}
}

// body reads a message, whose text begins after the token at. Only the end of a message ends its text: other control
// tokens are text. It returns the place after the message.
func (r *chatReader) body(m gptoss.Message, at int) int {
	end := r.next(at+1, tokenizer.Channel, tokenizer.Constrain, tokenizer.Message, tokenizer.Start)
	for i := at + 1; i < end; i++ {
		if tokenizer.IsSpecial(r.ids[i]) {
			r.texts[i] = r.t.DecodeString(r.ids[i : i+1])
		}
	}
	after := min(end+1, len(r.ids))
	name, isCall := r.function(m.Recipient)
	switch {
	case isCall && r.o.choice == "none", m.Recipient != "" && !isCall && m.Recipient != "assistant":
		// A parser drops them.
	case isCall && r.o.oneCall && len(r.a.calls) > 0:
	case isCall:
		r.leave(at)
		r.call(name, at, end)
	case m.Channel == "analysis":
		r.reasoning(at, end)
	case m.Channel != "final" && m.Channel != "commentary":
		// It drops other channels, too.
	default:
		r.leave(at)
		r.copy(at+1, end, contentPiece, true)
	}
	return after
}

// function returns the name of the function with this recipient. A tool without functions. before its name is found if
// it is declared, with _ in place of dots.
func (r *chatReader) function(recipient string) (string, bool) {
	if name, ok := strings.CutPrefix(recipient, "functions."); ok {
		return name, true
	}
	name := strings.ReplaceAll(recipient, ".", "_")
	for _, t := range r.o.tools {
		if t.Name == name && name != "" {
			return name, true
		}
	}
	return "", false
}

// reasoning adds a message of reasoning in the form of the server.
func (r *chatReader) reasoning(at, end int) {
	r.a.reasoningTokens += end - at - 1
	inText := func(i int, text string) { r.add(i, chatPiece{kind: contentPiece, text: text}) }
	switch {
	case r.o.hidesReasoning:
	case r.form == ChatThink || r.form == ChatOpened:
		if r.form == ChatThink || r.opened || r.answered {
			inText(at, "<think>")
		}
		r.copy(at+1, end, contentPiece, false)
		if end < len(r.ids) {
			inText(end, "</think>")
		}
	case r.form == ChatMarker:
		r.copy(at+1, end, contentPiece, false)
	default:
		r.copy(at+1, end, reasoningPiece, true)
	}
	r.opened = true
}

// leave ends the reasoning before the first message that is not reasoning, where that is not done yet.
func (r *chatReader) leave(at int) {
	switch {
	case r.answered:
	case r.form == ChatMarker:
		r.add(at, chatPiece{kind: contentPiece, text: r.marker})
	case r.form == ChatOpened && !r.opened:
		r.add(at, chatPiece{kind: contentPiece, text: "</think>"})
	}
	r.answered = true
}

// call adds a call. The text of a tool that has one text as its only parameter becomes the argument.
func (r *chatReader) call(name string, at, end int) {
	r.a.calls = append(r.a.calls, name)
	number := len(r.a.calls) - 1
	r.add(at, chatPiece{kind: callPiece, begins: true, call: number})
	text := strings.Join(r.texts[at+1:end], "")
	param := gptoss.TextParameter(r.o.tools, name)
	if param == "" || strings.HasPrefix(strings.TrimSpace(text), "{") {
		r.copy(at+1, end, callPiece, false)
		return
	}
	r.add(at, chatPiece{kind: callPiece, text: "{" + string(server.MustJSON(param)) + `:"`, call: number})
	for i := at + 1; i < end; i++ {
		if quoted := server.MustJSON(r.texts[i]); len(quoted) > 2 {
			r.add(i, chatPiece{kind: callPiece, text: string(quoted[1 : len(quoted)-1]), call: number})
		}
	}
	if end < len(r.ids) {
		r.add(end, chatPiece{kind: callPiece, text: `"}`, call: number})
	}
}

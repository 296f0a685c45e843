package gptoss

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Constraint is what an answer is held to: a structural tag, a form that the request describes otherwise, or both. Nil
// is none.
type Constraint struct {
	Tag  *Tag
	Form form
}

// form is the form of an answer.
type form interface {
	// CheckAnswer reports why an answer does not have the form. An answer that a limit may have cut has it.
	CheckAnswer(t *tokenizer.Tokenizer, ids []uint32) error
	// Schemas returns the schemas that a text may have to fit, and texts texts that may have the form.
	Schemas() []json.RawMessage
	Texts() []string
}

// AnswerUnder returns the built-in model's answer to a prompt under a constraint: its usual answer if that fits, else a
// call of some function or a text in a form of the answer. After a tool's result the text comes first, so that an agent
// comes to its end. Each comes after some reasoning. It reports false if no such answer fits.
func AnswerUnder(t *tokenizer.Tokenizer, p *prompt, c Constraint) ([]uint32, bool) {
	if c.Tag != nil {
		p.limits = map[string]*Tag{}
		c.Tag.arguments(p.limits)
	}
	generated := answer(t, p)
	if c.CheckAnswer(t, generated) == nil {
		return generated, true
	}
	tries := []func() ([]uint32, bool){
		func() ([]uint32, bool) { return callUnder(t, p, c) }, func() ([]uint32, bool) { return textUnder(t, p, c) },
	}
	if p.latest().role == "tool" {
		slices.Reverse(tries)
	}
	for _, try := range tries {
		if ids, ok := try(); ok {
			return ids, true
		}
	}
	return nil, false
}

// Only returns the text of the answer if the constraint allows no other one. No model can then say anything else.
func (c Constraint) Only() (text string, ok bool) {
	if c.Tag == nil || c.Form != nil {
		return "", false
	}
	return c.Tag.only()
}

func (f *Tag) only() (text string, ok bool) {
	switch f.Type {
	case "const_string":
		return *f.Value, true
	case "sequence":
		for _, e := range f.Elements {
			part, ok := e.only()
			if !ok {
				return "", false
			}
			text += part
		}
		return text, true
	}
	return "", false
}

// callUnder returns a call that fits a constraint.
func callUnder(t *tokenizer.Tokenizer, p *prompt, c Constraint) ([]uint32, bool) {
	user, _ := p.last("user")
	for _, call := range p.callOrder() {
		a := newWriter(t, p, p.latest(), call, true)
		a.call(call, arguments(call, user.text))
		if c.CheckAnswer(t, a.IDs) == nil {
			return a.IDs, true
		}
	}
	return nil, false
}

// endings are words in the names of functions with which an agent ends its work.
var endings = set([]string{"final", "finish", "submit", "done", "complete", "end"})

// callOrder returns the functions in the order in which they are tried where one must be called. After a tool's result
// those come first that end an agent's work, then those that have not been called since the user spoke.
func (p *prompt) callOrder() []Tool {
	all := p.tools()
	if p.latest().role != "tool" {
		return all
	}
	called := map[string]bool{}
	for _, m := range p.messages {
		if m.role == "user" {
			clear(called)
		}
		called[m.Recipient] = true
	}
	rank := func(t Tool) int {
		switch {
		case slices.ContainsFunc(words(t.Name), func(w string) bool { return endings[w] }):
			return 0
		case !called["functions."+t.Name]:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b Tool) int { return rank(a) - rank(b) })
	return all
}

// textUnder returns an answer in text that fits a constraint.
func textUnder(t *tokenizer.Tokenizer, p *prompt, c Constraint) ([]uint32, bool) {
	user, _ := p.last("user")
	for _, text := range c.texts(p, user.text) {
		a := newWriter(t, p, p.latest(), Tool{}, false)
		a.Text("final")
		a.Special(tokenizer.Message)
		a.Text(text)
		a.Special(tokenizer.Return)
		if c.CheckAnswer(t, a.IDs) == nil {
			return a.IDs, true
		}
	}
	return nil, false
}

// texts returns texts that may have a form of the answer.
func (c Constraint) texts(p *prompt, user string) []string {
	var all []string
	if shown := p.schemaInText(); c.Form != nil && shown != nil {
		all = append(all, valueOf(shown, user)) // a grammar has no schema, but the prompt has
	}
	for _, schema := range c.schemas() {
		if n := readSchema(schema, schema); n.anyObject() {
			if named := p.schemaInText(); named != nil {
				all = append(all, valueOf(named, user))
			}
		}
		all = append(all, valueOf(schema, user))
	}
	var others []string
	if c.Tag != nil {
		others = c.Tag.Texts()
	}
	if c.Form != nil {
		others = append(others, c.Form.Texts()...)
	}
	spoken := set(words(user))
	slices.SortStableFunc(others, func(a, b string) int {
		return min(1, overlap(spoken, words(b), 1)) - min(1, overlap(spoken, words(a), 1))
	})
	return append(all, others...)
}

// anyObject reports whether a schema says nothing of the members of an object.
func (n *schemaNode) anyObject() bool {
	kind := n.kind()
	return (kind == "object" || kind == "") && len(n.names)+len(n.Required)+len(n.AnyOf)+len(n.OneOf)+len(n.Enum) == 0 &&
		n.Const == nil
}

// schemaInText returns the last JSON schema of an object in the prompt's instructions and questions, or nil: clients
// that ask for a JSON object show the model which.
func (p *prompt) schemaInText() json.RawMessage {
	for _, m := range slices.Backward(p.messages) {
		if m.role == "assistant" || m.role == "tool" {
			continue
		}
		if found := schemaIn(m.text); found != nil {
			return found
		}
	}
	return nil
}

// schemaTries is how many braces of a text may begin a schema.
const schemaTries = 200

// schemaIn returns the last JSON schema of an object in a text, or nil.
func schemaIn(text string) (found json.RawMessage) {
	for at, tries := 0, 0; tries < schemaTries; tries++ {
		begin := strings.IndexByte(text[at:], '{')
		if begin < 0 {
			break
		}
		at += begin
		var object json.RawMessage
		d := json.NewDecoder(strings.NewReader(text[at:]))
		if d.Decode(&object) != nil {
			at++
			continue
		}
		if n := readSchema(object, object); len(n.names) > 0 {
			found = object
		}
		at += int(d.InputOffset())
	}
	return found
}

// arguments collects the forms of functions' arguments: what follows a header with the function's name.
func (f *Tag) arguments(found map[string]*Tag) {
	if f.isCall() {
		for _, e := range f.Elements[1:] {
			if e.Type == "json_schema" || e.Type == "regex" || e.Type == "grammar" {
				found[f.Elements[0].called()] = e
			}
		}
		return
	}
	for _, e := range f.Elements {
		e.arguments(found)
	}
	if f.Content != nil {
		f.Content.arguments(found)
	}
}

// called returns the function that a header names, or "".
func (f *Tag) called() string {
	if f.Type == "or" {
		return f.Elements[0].called()
	}
	if f.Value == nil {
		return ""
	}
	_, name, _ := strings.Cut(*f.Value, "to=functions.")
	if end := strings.IndexAny(name, " <"); end >= 0 {
		name = name[:end]
	}
	return name
}

// Texts returns a text for each pattern in the tag, and the texts that it lists.
func (f *Tag) Texts() []string {
	if f.isCall() {
		return nil
	}
	var all []string
	switch f.Type {
	case "regex":
		if text, ok := Simplest(f.Pattern); ok {
			all = append(all, text)
		}
	case "grammar":
		if text, ok := f.grammar.Shortest(); ok && len(f.Elements) == 0 {
			all = append(all, text)
		}
	case "const_string":
		if !strings.Contains(*f.Value, "<|") {
			all = append(all, *f.Value)
		}
	}
	for _, e := range f.Elements {
		all = append(all, e.Texts()...)
	}
	if f.Content != nil {
		all = append(all, f.Content.Texts()...)
	}
	return all
}

// CheckAnswer reports why an answer does not keep to the constraint.
func (c Constraint) CheckAnswer(t *tokenizer.Tokenizer, ids []uint32) error {
	if c.Tag != nil {
		if err := c.Tag.CheckAnswer(t, ids); err != nil {
			return err
		}
	}
	if c.Form != nil {
		return c.Form.CheckAnswer(t, ids)
	}
	return nil
}

// schemas returns the schemas that an answer may have to fit.
func (c Constraint) schemas() []json.RawMessage {
	var all []json.RawMessage
	if c.Tag != nil {
		all = c.Tag.Schemas()
	}
	if c.Form != nil {
		all = append(all, c.Form.Schemas()...)
	}
	return all
}

// isCall reports whether a format is a call of a function.
func (f *Tag) isCall() bool { return f.Type == "sequence" && f.Elements[0].called() != "" }

// Schemas returns the schemas of all formats in the tag except the formats of calls.
func (f *Tag) Schemas() []json.RawMessage {
	if f.isCall() {
		return nil
	}
	var all []json.RawMessage
	if f.schema != nil {
		all = append(all, f.Schema)
	}
	for _, e := range f.Elements {
		all = append(all, e.Schemas()...)
	}
	if f.Content != nil {
		all = append(all, f.Content.Schemas()...)
	}
	return all
}

// NamesOf returns the names and the kinds of the parameters in a schema, by which a function is chosen.
func NamesOf(schema json.RawMessage) *tsType {
	t := &tsType{kind: "object"}
	n := readSchema(schema, schema)
	for _, name := range n.names {
		kind := cmp.Or(readSchema(n.Properties[name], schema).kind(), "any")
		t.props = append(t.props, tsProp{name: name, typ: &tsType{kind: kind}})
	}
	return t
}

// memberNames returns the names in an object that is a member of another object, in their order.
func memberNames(object json.RawMessage, member string) []string {
	var outer map[string]json.RawMessage
	if json.Unmarshal(object, &outer) != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(outer[member]))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var names []string
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return names
		}
		if text, ok := name.(string); ok {
			names = append(names, text)
		}
	}
	return names
}

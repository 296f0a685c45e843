package sim

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// answerUnder returns the built-in model's answer to a prompt under a structural tag: its usual answer if that fits the
// tag, else a call of some function, else JSON by a schema in the tag. Each comes after some reasoning. It reports
// false if no such answer fits the tag.
func answerUnder(t *tokenizer.Tokenizer, p *prompt, c *completion) ([]uint32, bool) {
	generated := answer(t, p)
	if c.checkAnswer(t, generated) == nil {
		return generated, true
	}
	user, _ := p.last("user")
	for _, call := range p.tools() {
		a := newWriter(t, p, user, call, true)
		a.call(call, arguments(call, user.text))
		if c.checkAnswer(t, a.ids) == nil {
			return a.ids, true
		}
	}
	for _, schema := range c.schemas() {
		a := newWriter(t, p, user, tool{}, false)
		a.text("final")
		a.special(tokenizer.Message)
		a.text(arguments(tool{params: schemaType(schema, schema, 0)}, user.text))
		a.special(tokenizer.Return)
		if c.checkAnswer(t, a.ids) == nil {
			return a.ids, true
		}
	}
	return nil, false
}

// checkAnswer reports why an answer does not keep to what the request asks of its form.
func (c *completion) checkAnswer(t *tokenizer.Tokenizer, ids []uint32) error {
	if c.tag != nil {
		if err := c.tag.checkAnswer(t, ids); err != nil {
			return err
		}
	}
	if c.chat != nil {
		return c.chat.checkAnswer(t, ids)
	}
	return nil
}

// schemas returns the schemas that an answer may have to fit.
func (c *completion) schemas() []json.RawMessage {
	var all []json.RawMessage
	if c.tag != nil {
		all = c.tag.schemas()
	}
	if c.chat != nil && c.chat.schema.text != nil {
		all = append(all, c.chat.schema.text)
	}
	return all
}

// schemas returns the schemas of all formats in the tag.
func (f *tagFormat) schemas() []json.RawMessage {
	var all []json.RawMessage
	if f.schema != nil {
		all = append(all, f.Schema)
	}
	for _, e := range f.Elements {
		all = append(all, e.schemas()...)
	}
	if f.Content != nil {
		all = append(all, f.Content.schemas()...)
	}
	return all
}

// schemaType returns as much of a schema as it takes to make a value. References in it lead into root.
func schemaType(schema, root json.RawMessage, depth int) *tsType {
	var s struct {
		Type       json.RawMessage            `json:"type"`
		Enum       []json.RawMessage          `json:"enum"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		Ref        string                     `json:"$ref"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Items      json.RawMessage            `json:"items"`
	}
	if depth > tsDepth || json.Unmarshal(schema, &s) != nil {
		return &tsType{kind: "any"}
	}
	var kinds []string
	if json.Unmarshal(s.Type, &kinds) != nil {
		kinds = make([]string, 1)
		_ = json.Unmarshal(s.Type, &kinds[0]) // without a type any value is valid
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		var defs struct {
			Defs map[string]json.RawMessage `json:"$defs"`
		}
		_ = json.Unmarshal(root, &defs) // it was read before
		return schemaType(defs.Defs[name], root, depth+1)
	}
	switch {
	case len(s.Enum) > 0:
		t := &tsType{kind: "enum"}
		for _, raw := range s.Enum {
			var literal string
			if json.Unmarshal(raw, &literal) == nil {
				t.literals = append(t.literals, literal)
			}
		}
		if len(t.literals) > 0 {
			return t
		}
	case len(s.AnyOf) > 0:
		return schemaType(s.AnyOf[0], root, depth+1)
	}
	switch kind := kinds[0]; kind {
	case "object":
		t := &tsType{kind: "object"}
		for _, name := range memberNames(schema, "properties") {
			p := tsProp{name: name, typ: schemaType(s.Properties[name], root, depth+1)}
			for _, r := range s.Required {
				p.required = p.required || r == name
			}
			t.props = append(t.props, p)
		}
		return t
	case "integer":
		return &tsType{kind: "number"}
	case "array":
		return &tsType{kind: "array", elem: schemaType(s.Items, root, depth+1)}
	case "":
		return &tsType{kind: "any"}
	default:
		return &tsType{kind: kind}
	}
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

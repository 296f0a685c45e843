package gptoss

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/harmonyedge/harmonyedge/internal/ebnf"
)

// Tag is one format of a structural tag, by xgrammar's rules. It supports the formats of xgrammar that can be
// checked on text, and refuses all others.
type Tag struct {
	Type     string          `json:"type"`
	Value    *string         `json:"value"`       // const_string
	Excludes []string        `json:"excludes"`    // any_text
	Schema   json.RawMessage `json:"json_schema"` // json_schema
	Elements []*Tag          `json:"elements"`    // sequence, or
	Content  *Tag            `json:"content"`     // star, optional
	Pattern  string          `json:"pattern"`     // regex
	Grammar  string          `json:"grammar"`     // grammar

	schema  *jsonschema.Schema
	pattern *regexp.Regexp
	grammar *ebnf.Grammar
}

// ReadTag reads a structural tag, and refuses what xgrammar refuses.
func ReadTag(text []byte) (*Tag, error) {
	var tag struct {
		Type   string `json:"type"`
		Format *Tag   `json:"format"`
	}
	if err := strictly(text, &tag); err != nil {
		return nil, err
	}
	if tag.Type != "structural_tag" || tag.Format == nil {
		return nil, errors.New(`a structural tag has the type "structural_tag" and a format`)
	}
	return tag.Format, tag.Format.compile()
}

// strictly decodes one JSON value and refuses unknown members. xgrammar ignores them, so a misspelled member would not
// be noticed.
func strictly(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("something follows the value")
	}
	return nil
}

func (f *Tag) compile() error {
	wrong := func(rule string) error { return fmt.Errorf("%s: %s", f.Type, rule) }
	switch f.Type {
	case "const_string":
		if f.Value == nil {
			return wrong("no value")
		}
	case "any_text":
	case "json_schema":
		schema, err := CompileSchema(f.Schema)
		if err != nil {
			return wrong(err.Error())
		}
		f.schema = schema
	case "regex":
		return f.compileRegex()
	case "grammar":
		return f.compileGrammar()
	case "sequence", "or":
		if len(f.Elements) == 0 {
			return wrong("no elements")
		}
		for _, e := range f.Elements {
			if e == nil {
				return wrong("an element that is null")
			}
			if err := e.compile(); err != nil {
				return err
			}
		}
	case "star", "optional":
		if f.Content == nil {
			return wrong("no content")
		}
		return f.Content.compile()
	default:
		return wrong("a format type that is not recognized")
	}
	return nil
}

// compileRegex refuses patterns that Go's regexp would accept, and that xgrammar 0.2.8 refuses or reads as something
// else.
func (f *Tag) compileRegex() error {
	unknown := regexp.MustCompile(`\\[^dDwWsSnrtfv[:punct:]]|\(\?[^:]|\[\^?[[\]]`)
	if bad := unknown.FindString(f.Pattern); bad != "" || f.Pattern == "" {
		return fmt.Errorf("regex: %q is not supported", bad)
	}
	// xgrammar's dot matches any character, and the pattern has to match the whole text.
	pattern, err := regexp.Compile("^(?s:" + f.Pattern + ")$")
	f.pattern = pattern
	return err
}

// compileGrammar reads a grammar in EBNF. One of a single rule with texts as alternatives, root ::= "a" | "b", is these
// texts.
func (f *Tag) compileGrammar() (err error) {
	f.grammar, err = ebnf.Read(f.Grammar)
	if err != nil {
		return fmt.Errorf("grammar: %w", err)
	}
	rule, _ := strings.CutPrefix(strings.TrimSpace(f.Grammar), "root ::= ")
	for text := range strings.SplitSeq(rule, " | ") {
		value, err := strconv.Unquote(text)
		if err != nil {
			f.Elements = nil
			return nil
		}
		f.Elements = append(f.Elements, &Tag{Type: "const_string", Value: &value})
	}
	return nil
}

// CompileSchema compiles a schema, and refuses what is none.
func CompileSchema(text json.RawMessage) (*jsonschema.Schema, error) {
	if len(text) == 0 || text[0] != '{' && text[0] != 't' && text[0] != 'f' {
		return nil, errors.New("the schema must be an object or a boolean")
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		return nil, err
	}
	return compiler.Compile("schema.json")
}

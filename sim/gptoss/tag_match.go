package gptoss

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/ebnf"
)

// CheckAnswer returns an error if a server could not have let the model write this answer under a tag: text of the
// formats, with special tokens spelled out. <|return|> ends the answer, and only where the tag is complete, since
// xgrammar takes it as a stop token and not as text. An answer that stops earlier must be the beginning of a valid one.
func (f *Tag) CheckAnswer(t *tokenizer.Tokenizer, ids []uint32) error {
	ended := len(ids) > 0 && ids[len(ids)-1] == tokenizer.Return
	if ended {
		ids = ids[:len(ids)-1]
	}
	m := tagMatcher{text: t.DecodeString(ids)}
	ends := m.ends(f, 0)
	switch complete := slices.Contains(ends, len(m.text)); {
	case complete, !ended && m.atEnd:
		return nil
	case ended && m.atEnd:
		return errors.New("the answer ends before it is complete by the structural tag")
	}
	return fmt.Errorf("the answer leaves the structural tag after %q", m.text[:m.furthest])
}

// tagMatcher finds all ways in which formats can match a text.
type tagMatcher struct {
	text string
	// furthest is how much of the text some way has matched. atEnd reports whether a way reached the end of the text and
	// could continue.
	furthest int
	atEnd    bool
}

// ends returns the places at which a match of f can end that begins at from.
func (m *tagMatcher) ends(f *Tag, from int) []int {
	m.furthest = max(m.furthest, from)
	switch f.Type {
	case "const_string":
		rest := m.text[from:]
		if strings.HasPrefix(rest, *f.Value) {
			return []int{from + len(*f.Value)}
		}
		m.atEnd = m.atEnd || strings.HasPrefix(*f.Value, rest)
		return nil
	case "any_text":
		return m.anyText(f.Excludes, from)
	case "json_schema":
		return m.json(f.schema, from)
	case "regex":
		return m.regex(f.pattern, from)
	case "sequence":
		places := []int{from}
		for _, e := range f.Elements {
			places = m.each(e, places)
		}
		return places
	case "grammar":
		return m.grammar(f.grammar, from)
	case "or":
		var places []int
		for _, e := range f.Elements {
			places = append(places, m.ends(e, from)...)
		}
		return unique(places)
	case "optional":
		return unique(append(m.ends(f.Content, from), from))
	case "star":
		places, fresh := []int{from}, []int{from}
		for len(fresh) > 0 {
			next := m.each(f.Content, fresh)
			fresh = slices.DeleteFunc(next, func(at int) bool { return slices.Contains(places, at) })
			places = append(places, fresh...)
		}
		return places
	}
	return nil
}

func (m *tagMatcher) each(f *Tag, places []int) []int {
	var next []int
	for _, at := range places {
		next = append(next, m.ends(f, at)...)
	}
	return unique(next)
}

func unique(places []int) []int {
	slices.Sort(places)
	return slices.Compact(places)
}

// anyText matches up to any place before the end of the first excluded text.
func (m *tagMatcher) anyText(excludes []string, from int) []int {
	stop := len(m.text)
	whole := true
	for _, text := range excludes {
		if at := strings.Index(m.text[from:], text); at >= 0 && text != "" && from+at+len(text)-1 < stop {
			stop, whole = from+at+len(text)-1, false
		}
	}
	m.atEnd = m.atEnd || whole
	m.furthest = max(m.furthest, stop)
	var places []int
	for at := from; at <= stop; at++ {
		places = append(places, at)
	}
	return places
}

// regex matches up to every place where the pattern matches all text before it. A text that does not match yet might
// match if it continued. Go's regexp cannot report that, so only a text that a special token ends is known not to
// match.
func (m *tagMatcher) regex(pattern *regexp.Regexp, from int) []int {
	rest := m.text[from:]
	m.atEnd = m.atEnd || !strings.Contains(rest, "<|")
	var places []int
	for at := range len(rest) + 1 {
		if pattern.MatchString(rest[:at]) {
			places = append(places, from+at)
		}
	}
	return places
}

// grammar matches up to every place where the text before it is a text of the grammar.
func (m *tagMatcher) grammar(grammar *ebnf.Grammar, from int) []int {
	var places []int
	way := grammar.Begin()
	for at, c := range m.text[from:] {
		if way.Complete() {
			places = append(places, from+at)
		}
		if !way.Next(c) {
			return places
		}
		m.furthest = max(m.furthest, min(from+at+utf8.RuneLen(c), len(m.text)))
	}
	m.atEnd = true
	if way.Complete() {
		places = append(places, len(m.text))
	}
	return places
}

// json matches one whole value of the schema.
func (m *tagMatcher) json(schema *jsonschema.Schema, from int) []int {
	rest := m.text[from:]
	if rest != "" && strings.ContainsRune(" \t\r\n", rune(rest[0])) {
		return nil // xgrammar has no white space before a value
	}
	d := json.NewDecoder(strings.NewReader(rest))
	var raw json.RawMessage
	err := d.Decode(&raw)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		m.atEnd = true
		return nil
	}
	if err != nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil || schema.Validate(value) != nil {
		return nil
	}
	return []int{from + int(d.InputOffset())}
}

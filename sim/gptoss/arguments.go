package gptoss

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// words splits text at characters other than letters and digits, and between a lower-case and an upper-case letter. It
// returns the words in lower case, without a plural s.
func words(text string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			w := strings.ToLower(string(word))
			if len(w) > 3 && !strings.HasSuffix(w, "ss") {
				w = strings.TrimSuffix(w, "s")
			}
			out = append(out, w)
			word = word[:0]
		}
	}
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && len(word) > 0 && unicode.IsLower(word[len(word)-1]):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return out
}

// stopWords do not show the subject of a text.
var stopWords = set(strings.Fields(`a an and any are as at be by can could current do does for from get give has have
	how i if in is it its me my of on or please set should show tell that the their them there this to use value was
	we what when where which who will with would you your name query input text string number list`))

func set(words []string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// chooseTool returns the tool that fits a text best, if any fits. A word of its name counts two points, and a word of
// its description or of a parameter's name one. A tool needs two points.
func chooseTool(tools []Tool, text string) (Tool, bool) {
	userText := set(words(text))
	best, bestScore := Tool{}, 1
	for _, t := range tools {
		score := overlap(userText, words(t.Name), 2) + overlap(userText, words(t.Description), 1)
		if t.Params != nil {
			for _, p := range t.Params.props {
				score += overlap(userText, words(p.name), 1)
			}
		}
		if score > bestScore {
			best, bestScore = t, score
		}
	}
	return best, bestScore > 1
}

func overlap(userText map[string]bool, of []string, weight int) int {
	n, seen := 0, map[string]bool{}
	for _, w := range of {
		if userText[w] && !stopWords[w] && !seen[w] {
			seen[w] = true
			n += weight
		}
	}
	return n
}

// plain reports whether the tool takes a text rather than arguments.
func (t Tool) plain() bool { return t.Params != nil && t.Params.kind == "string" }

// arguments returns the JSON arguments of a call, made from the words of a message. They are always the same for the
// same message. A tool that takes a text gets the message itself, or what its pattern matches.
func arguments(t Tool, text string) string {
	if t.plain() {
		if made, ok := Simplest(t.pattern); ok && t.pattern != "" {
			return made
		}
		if t.grammar != nil {
			made, _ := t.grammar.Shortest()
			return made
		}
		return clip(text)
	}
	if t.Params == nil && t.Schema == nil {
		return "{}"
	}
	known := append(words(t.Name), words(t.Description)...)
	if t.Params != nil {
		for _, p := range t.Params.props {
			known = append(known, words(p.name)...)
		}
	}
	f := newFiller(text, set(known))
	var b bytes.Buffer
	if t.Schema != nil {
		f.fits(&b, t.Schema, t.Schema, 0)
	} else {
		f.value(&b, t.Params, 0)
	}
	return b.String()
}

// valueOf returns JSON that fits a schema, made from the words of a message.
func valueOf(schema json.RawMessage, text string) string {
	f := newFiller(text, set(nil))
	var b bytes.Buffer
	f.fits(&b, schema, schema, 0)
	return b.String()
}

var numbers = regexp.MustCompile(`-?\d+(\.\d+)?`)

// subjects returns the things that a text names, the best first: runs of capitalised words that do not begin a
// sentence, then other words that are neither common nor in known.
func subjects(text string, known map[string]bool) []string {
	var names, others []string
	var run []string
	flush := func() {
		if len(run) > 0 {
			names = append(names, strings.Join(run, " "))
			run = nil
		}
	}
	first := true
	for _, field := range strings.Fields(text) {
		word := strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		ends := strings.ContainsAny(field, ".?!:")
		split := words(word)
		switch {
		case word == "" || numbers.FindString(word) == word:
			flush()
		case !first && unicode.IsUpper([]rune(word)[0]):
			run = append(run, word)
			if field[len(field)-1] == ',' {
				flush()
			}
		default:
			flush()
			if len(split) == 0 || !stopWords[split[0]] && !known[split[0]] && !stopWords[strings.ToLower(word)] {
				others = append(others, word)
			}
		}
		if first = ends; ends {
			flush()
		}
	}
	flush()
	return append(names, others...)
}

// filler returns the words and numbers of a message one after the other.
type filler struct {
	text             string
	userText         map[string]bool
	strings, numbers []string
	nextStr, nextNum int
	made             int // values by a schema
}

// newFiller returns the filler of a text. The words in known are no subjects of it.
func newFiller(text string, known map[string]bool) *filler {
	return &filler{text: text, userText: set(words(text)), strings: subjects(text, known),
		numbers: numbers.FindAllString(text, -1)}
}

// number returns the next number of the message, or 1.
func (f *filler) number() float64 {
	n := 1.0
	if len(f.numbers) > 0 {
		n, _ = strconv.ParseFloat(f.numbers[f.nextNum%len(f.numbers)], 64)
		f.nextNum++
	}
	return n
}

// string returns the next thing that the message names, or the message.
func (f *filler) string() string {
	s := f.text
	if len(f.strings) > 0 {
		s = f.strings[f.nextStr%len(f.strings)]
		f.nextStr++
	}
	return s
}

func (f *filler) value(b *bytes.Buffer, t *tsType, depth int) {
	if t == nil || depth > tsDepth {
		b.WriteString("null")
		return
	}
	switch t.kind {
	case "object":
		f.object(b, t, depth)
	case "enum":
		pick := t.literals[0]
		for _, l := range t.literals {
			if overlap(f.userText, words(l), 1) > 0 {
				pick = l
				break
			}
		}
		writeString(b, pick)
	case "number":
		b.WriteString(strconv.FormatFloat(f.number(), 'f', -1, 64))
	case "boolean":
		b.WriteString("true")
	case "null":
		b.WriteString("null")
	case "array":
		b.WriteByte('[')
		f.value(b, t.elem, depth+1)
		b.WriteByte(']')
	default: // string, any
		writeString(b, f.string())
	}
}

// object fills the required properties and those that the message mentions. Without any of these it fills the first
// property.
func (f *filler) object(b *bytes.Buffer, t *tsType, depth int) {
	var chosen []tsProp
	for _, p := range t.props {
		mentioned := overlap(f.userText, words(p.name), 1) > 0
		if p.typ.kind == "enum" {
			for _, l := range p.typ.literals {
				mentioned = mentioned || overlap(f.userText, words(l), 1) > 0
			}
		}
		if p.required || mentioned {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 && len(t.props) > 0 {
		chosen = t.props[:1]
	}
	b.WriteByte('{')
	for i, p := range chosen {
		if i > 0 {
			b.WriteByte(',')
		}
		writeString(b, p.name)
		b.WriteByte(':')
		f.value(b, p.typ, depth+1)
	}
	b.WriteByte('}')
}

// writeString writes JSON as a model does, without escapes for letters.
func writeString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	b.Truncate(b.Len() - 1)
}

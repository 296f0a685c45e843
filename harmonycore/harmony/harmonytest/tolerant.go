package harmonytest

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"unicode"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// CheckTolerant feeds a stream that is valid to the reference to the tolerant parsers, as ids and as text with random
// cuts. They must find the same messages and repair nothing. compared is false for streams that the tolerant parsers
// deliberately read differently (see [wellFormed] and [isQuirk]); these are not compared.
func CheckTolerant(t *tokenizer.Tokenizer, v *vectors.Stream, random *rand.Rand) (compared bool, err error) {
	ids, whole := v.IDs()
	role := roleOf(v)
	headers, ok := wellFormed(t, v)
	if !whole || !ok || !v.Ended || role != 0 && role != harmony.Assistant {
		return false, nil
	}
	p := harmony.NewStrictParser(t, role, true)
	for _, id := range ids {
		if err := p.Process(id); err != nil {
			return false, nil
		}
	}
	if err := p.ProcessEOS(); err != nil || isQuirk(p.Messages(), headers) {
		return false, nil
	}
	want := make([]Message, len(p.Messages()))
	for i, m := range p.Messages() {
		want[i] = Message{harmony.Header{Role: m.Role, Name: m.Name.Value, Channel: m.Channel.Value,
			Recipient:   m.Recipient.Value,
			ContentType: strings.TrimPrefix(m.ContentType.Value, "<|constrain|>")}, m.Content[0].Text}
	}
	same := func(how string, got []Message, seen harmony.Recoveries) error {
		// The reference accepts messages after a stop, and a repeated role, without an error.
		seen[harmony.AfterStop], seen[harmony.RepairedRole] = 0, 0
		if !slices.Equal(got, want) || seen.Total() > 0 {
			return fmt.Errorf("%s of %v %q\n got %q, recoveries %v\nwant %q", how, ids, t.DecodeString(ids), got, seen, want)
		}
		return nil
	}
	messages, seen := ByIDs(t, ids, role == 0)
	if err := same("the tolerant parser", messages, seen); err != nil {
		return true, err
	}
	text, ok := Printed(t, ids)
	if !ok {
		return true, nil
	}
	for range 3 {
		cuts := Cut(text, func() bool { return random.Intn(8) == 0 })
		messages, seen := ByText(cuts, harmony.TextOptions{}, role == 0)
		if err := same(fmt.Sprintf("the text parser at %q", cuts), messages, seen); err != nil {
			return true, err
		}
	}
	return true, nil
}

// wellFormed reports whether the stream needs no repair rule of the tolerant parser: control tokens are where the
// format allows them, all ids exist, and the text is UTF-8. It looks only at tokens, not at a parser's result. headers
// are the texts of the headers without their control tokens.
func wellFormed(t *tokenizer.Tokenizer, v *vectors.Stream) (headers []string, ok bool) {
	const inContent, inHeader, between = 0, 1, 2
	place, channels, constrains := between, 0, 0
	if v.Role != nil {
		place = inHeader
	}
	var text []byte
	header := ""
	for _, token := range v.Tokens {
		id := uint32(token)
		b, known := t.TokenBytes(id)
		switch {
		case !known:
			return nil, false
		case !tokenizer.IsSpecial(id):
			text = append(text, b...)
			continue
		case !isText(text):
			return nil, false
		}
		header += string(text)
		text = text[:0]
		switch {
		case id == tokenizer.Start && place == between:
			place, channels, constrains, header = inHeader, 0, 0, ""
		case id == tokenizer.Channel && place == inHeader && channels == 0 && constrains == 0:
			channels++
		case id == tokenizer.Constrain && place == inHeader && constrains == 0:
			constrains++
		case id == tokenizer.Message && place == inHeader:
			place = inContent
			headers = append(headers, header)
		case (id == tokenizer.End || id == tokenizer.Return || id == tokenizer.Call) && place == inContent:
			place = between
		default:
			return nil, false
		}
	}
	return headers, isText(text)
}

// isText reports whether b is UTF-8 without U+FFFD.
func isText(b []byte) bool { return !strings.ContainsRune(string(b), unicode.ReplacementChar) }

// isQuirk reports whether the reference reads something in a header that the core does not
// (docs/harmony-format.md#quirks):
//
//   - control tokens spelled out as text
//   - spaces outside ASCII
//   - unmarked words as recipients
//   - roles, or words that do not begin with a letter, as content types
//   - channels other than the three
func isQuirk(messages []harmony.Message, headers []string) bool {
	if len(messages) != len(headers) {
		return true
	}
	for i, m := range messages {
		if strings.ContainsFunc(headers[i], func(r rune) bool { return r == '<' || isWideSpace(r) }) {
			return true
		}
		bare := m.Recipient.Set && (!strings.Contains(m.Recipient.Value, ".") ||
			!strings.Contains(headers[i], "to="+m.Recipient.Value))
		typ := strings.TrimPrefix(m.ContentType.Value, "<|constrain|>")
		if bare || m.Role == harmony.Tool || harmony.RoleOf(typ) != 0 || typ != "" && !unicode.IsLetter(rune(typ[0])) {
			return true
		}
		switch m.Channel.Value {
		case "", harmony.Analysis, harmony.Commentary, harmony.Final:
		default:
			return true
		}
	}
	return false
}

// isWideSpace reports whether r is a space that does not separate the words of a header.
func isWideSpace(r rune) bool { return unicode.IsSpace(r) && !strings.ContainsRune(" \t\n\f\r", r) }

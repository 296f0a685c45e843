package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// The rules by which oss-harmony differs from openai-harmony, as docs/harmony-format.md#oss-harmony names them. Each is
// a function below that turns a message of oss-harmony's into one of openai-harmony's.
const (
	ruleRecipient = "the recipient stands after the channel commentary"
	ruleConstrain = "each content type has <|constrain|>"
	ruleNumbers   = "exponents have a plus sign"
	ruleChannels  = "each channel of a header is cut out"
)

var ossRules = []string{ruleRecipient, ruleConstrain, ruleNumbers, ruleChannels}

// ossRendering compares oss-harmony's rendering with openai-harmony's. It returns the rules that explain the
// difference. An error is a difference that no rule explains.
func ossRendering(t *tokenizer.Tokenizer, theirs, oss *vectors.Rendered) ([]string, error) {
	if theirs.Error != nil || oss.Error != nil {
		if theirs.Error == nil || oss.Error == nil || *theirs.Error != *oss.Error {
			return nil, fmt.Errorf("openai-harmony's error %+v, oss-harmony's %+v", theirs.Error, oss.Error)
		}
		return nil, nil
	}
	want, got := messagesOf(theirs.IDs), messagesOf(oss.IDs)
	unexplained := fmt.Errorf("openai-harmony %v %q\noss-harmony %v %q", theirs.IDs, t.DecodeString(theirs.IDs), oss.IDs,
		t.DecodeString(oss.IDs))
	if len(want) != len(got) {
		return nil, unexplained
	}
	var rules []string
	for i := range want {
		used, ok := explain(t, want[i], got[i])
		if !ok {
			return nil, unexplained
		}
		rules = append(rules, used...)
	}
	return rules, nil
}

// messagesOf cuts a rendering before each <|start|>. No text holds one: texts are encoded without control tokens.
func messagesOf(ids []uint32) [][]uint32 {
	var out [][]uint32
	for len(ids) > 0 {
		end := len(ids)
		if next := slices.Index(ids[1:], tokenizer.Start); next >= 0 {
			end = next + 1
		}
		out = append(out, ids[:end])
		ids = ids[end:]
	}
	return out
}

// explain returns the rules that turn a message of oss-harmony's into want.
func explain(t *tokenizer.Tokenizer, want, got []uint32) (rules []string, ok bool) {
	if slices.Equal(want, got) {
		return nil, true
	}
	wantEnd, gotEnd := slices.Index(want, tokenizer.Message), slices.Index(got, tokenizer.Message)
	if wantEnd < 0 || gotEnd < 0 {
		return nil, false
	}
	wantHeader, header := want[:wantEnd], got[:gotEnd]
	if undone, ok := withoutConstrain(t, wantHeader, header); ok {
		rules, header = append(rules, ruleConstrain), undone
	}
	if undone, ok := withRecipientFirst(t, wantHeader, header); ok {
		rules, header = append(rules, ruleRecipient), undone
	}
	if !slices.Equal(wantHeader, header) {
		return nil, false
	}
	text, wantText := t.DecodeString(got[gotEnd:]), t.DecodeString(want[wantEnd:])
	switch {
	case slices.Equal(want[wantEnd:], got[gotEnd:]):
		return rules, true
	case text != wantText && withoutPlus(text) == withoutPlus(wantText):
		return append(rules, ruleNumbers), true
	}
	return nil, false
}

// withoutConstrain undoes [ruleConstrain]: a content type is one fragment with the space before it.
func withoutConstrain(t *tokenizer.Tokenizer, want, header []uint32) ([]uint32, bool) {
	at := slices.Index(header, tokenizer.Constrain)
	if slices.Contains(want, tokenizer.Constrain) || at < 1 || t.DecodeString(header[at-1:at]) != " " {
		return nil, false
	}
	return t.AppendEncode(slices.Clone(header[:at-1]), " "+t.DecodeString(header[at+1:])), true
}

// withRecipientFirst undoes [ruleRecipient]. want says how long the recipient is.
func withRecipientFirst(t *tokenizer.Tokenizer, want, header []uint32) ([]uint32, bool) {
	first, at := slices.Index(header, tokenizer.Channel), slices.Index(want, tokenizer.Channel)
	name := t.AppendEncode([]uint32{tokenizer.Channel}, "commentary")
	if first < 0 || at <= first || !strings.HasPrefix(t.DecodeString(want[first:at]), " to=") {
		return nil, false
	}
	moved, rest := want[first:at], header[first:]
	if len(rest) < len(name)+len(moved) || !slices.Equal(rest[:len(name)], name) ||
		!slices.Equal(rest[len(name):len(name)+len(moved)], moved) {
		return nil, false
	}
	return slices.Concat(header[:first], moved, name, rest[len(name)+len(moved):]), true
}

// withoutPlus undoes [ruleNumbers] in a text: a plus sign between an exponent's e and its digits is left out.
func withoutPlus(text string) string {
	var out strings.Builder
	for i := range len(text) {
		if text[i] == '+' && i >= 2 && i+1 < len(text) && text[i-1] == 'e' && isDigit(text[i-2]) && isDigit(text[i+1]) {
			continue
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// sameInput reports, as an error, that the two references were asked different things.
func sameInput(same bool) error {
	if !same {
		return errors.New("the two references were not asked the same")
	}
	return nil
}

// ossConversation compares all renderings of a conversation.
func ossConversation(t *tokenizer.Tokenizer, v, oss *vectors.Conversation) ([]string, error) {
	err := sameInput(v.Text == oss.Text && v.Message == oss.Message)
	var rules []string
	for _, each := range []struct{ theirs, oss *vectors.Rendered }{
		{&v.Completion, &oss.Completion}, {&v.Training, &oss.Training}, {&v.Plain, &oss.Plain}, {&v.Alone, &oss.Alone},
	} {
		used, problem := ossRendering(t, each.theirs, each.oss)
		rules, err = append(rules, used...), errors.Join(err, problem)
	}
	return rules, err
}

// laterChannels cuts the second and later markers of channels out of a header, each with its value, as oss-harmony does
// ([ruleChannels]). A value ends at white space, at < or at the end, and may be empty. changed is false for a header
// with at most one.
func laterChannels(header string) (cut string, changed bool) {
	const marker = "<|channel|>"
	first := strings.Index(header, marker)
	if first < 0 {
		return header, false
	}
	cut, rest := header[:first+len(marker)], header[first+len(marker):]
	for {
		before, after, found := strings.Cut(rest, marker)
		cut += before
		if !found {
			return cut, changed
		}
		changed = true
		end := strings.IndexFunc(after, func(r rune) bool { return r == '<' || unicode.IsSpace(r) })
		if end < 0 {
			end = len(after)
		}
		rest = after[end:]
	}
}

// cutHeader returns the header's ids without its later channels. A header that is not text stays as it is.
func cutHeader(t *tokenizer.Tokenizer, ids []uint32) ([]uint32, bool) {
	text, known := t.AppendDecode(nil, ids)
	if !known || !utf8.Valid(text) {
		return ids, false
	}
	cut, changed := laterChannels(string(text))
	if !changed {
		return ids, false
	}
	return t.AppendEncode(nil, cut), true
}

package main

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// stateNames are the situations in which the strict parser reads tokens differently. Each is tested with and without
// the reference's strict flag.
var stateNames = [...]string{"start", "start, role given", "header", "header begun", "header, role given",
	"header begun, role given",
	"content", "content, rune cut", "content, unknown id"}

const (
	atStart = iota
	atStartGiven
	inHeader
	inHeaderStarted
	inHeaderGiven
	inHeaderStartedGiven
	inContent
	inContentCut
	inContentUnknown
)

// tracker follows the part of the parser's state that cannot be observed.
type tracker struct {
	t *tokenizer.Tokenizer
	// started reports whether the header has tokens, cut whether the content ends inside a rune, and unknown whether it
	// has an id outside the vocabulary.
	started, cut, unknown bool
	state                 harmony.State
}

// record returns the situation before token, which p reads next.
func (k *tracker) record(p *harmony.StrictParser, token int64) int {
	if p.State() != k.state {
		k.started, k.cut, k.unknown = false, false, false
	}
	k.state = p.State()
	given := 0
	if p.Role() != 0 {
		given = 1
	}
	situation := atStart + given
	switch {
	case k.state == harmony.InHeader && k.started:
		situation = inHeaderStarted + 2*given
	case k.state == harmony.InHeader:
		situation = inHeader + 2*given
	case k.state == harmony.InContent && k.unknown:
		situation = inContentUnknown
	case k.state == harmony.InContent && k.cut:
		situation = inContentCut
	case k.state == harmony.InContent:
		situation = inContent
	}
	if token != vectors.EOS {
		text, known := k.t.TokenBytes(uint32(token))
		k.started = true
		k.cut = endsCut(text)
		k.unknown = k.unknown || !known
	}
	return situation
}

// endsCut reports whether b ends with an incomplete rune.
func endsCut(b []byte) bool {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			return !utf8.FullRune(tail)
		}
	}
	return false
}

// classNames are the classes of tokens that the parser or the grammar may distinguish.
var classNames = [...]string{"<|start|>", "<|end|>", "<|return|>", "<|call|>", "<|channel|>", "<|message|>",
	"<|constrain|>",
	"end of the stream", "<|startoftext|> …", "reserved", "unknown id", "rune's beginning", "rune's rest, bad bytes",
	"a role's word", "a channel's name",
	"a type's name", "to, =, to=", "ASCII space", "Unicode's space", "spelling of markers", "word after a space",
	"not ASCII", "digits", "signs", "word"}

var controlClasses = []uint32{tokenizer.Start, tokenizer.End, tokenizer.Return, tokenizer.Call, tokenizer.Channel,
	tokenizer.Message, tokenizer.Constrain}

func classOf(t *tokenizer.Tokenizer, token int64) int {
	if token == vectors.EOS {
		return 7
	}
	id := uint32(token)
	if i := slices.Index(controlClasses, id); i >= 0 {
		return i
	}
	text, known := t.TokenBytes(id)
	switch {
	case id == tokenizer.StartOfText || id == tokenizer.EndOfText:
		return 8
	case tokenizer.IsSpecial(id):
		return 9
	case !known:
		return 10
	case !utf8.Valid(text) && endsCut(text):
		return 11
	case !utf8.Valid(text):
		return 12
	}
	return 13 + wordClass(string(text))
}

func wordClass(s string) int {
	word := strings.Trim(s, " ")
	ascii := strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	switch {
	case harmony.RoleOf(word) != 0:
		return 0
	case word == harmony.Analysis || word == harmony.Commentary || word == harmony.Final:
		return 1
	case word == "json" || word == "code":
		return 2
	case word == "to" || strings.Contains(s, "="):
		return 3
	case strings.Trim(s, " \t\n\f\r") == "":
		return 4
	case strings.TrimFunc(s, unicode.IsSpace) == "":
		return 5
	case strings.ContainsAny(s, "<|>"):
		return 6
	case len(word) < len(s):
		return 7
	case !ascii:
		return 8
	case strings.Trim(s, "0123456789") == "":
		return 9
	case strings.ContainsFunc(s, unicode.IsLetter):
		return 11
	}
	return 10
}

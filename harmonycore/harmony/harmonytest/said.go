package harmonytest

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Message is a message that a tolerant parser has delivered.
type Message struct {
	harmony.Header
	Text string
}

// recorder is a [harmony.Sink] that collects messages.
type recorder struct{ messages []Message }

func (r *recorder) Open(h harmony.Header)      { r.messages = append(r.messages, Message{Header: h}) }
func (r *recorder) Content(text []byte, _ int) { r.messages[len(r.messages)-1].Text += string(text) }
func (r *recorder) Close(harmony.End)          {}

// ByIDs returns the messages that [harmony.StreamParser] delivers. transcript reports whether no role was given in
// advance.
func ByIDs(t *tokenizer.Tokenizer, ids []uint32, transcript bool) ([]Message, harmony.Recoveries) {
	var r recorder
	p := harmony.NewStreamParser(t, &r)
	if transcript {
		p = harmony.NewTranscriptParser(t, &r)
	}
	for _, id := range ids {
		p.Process(id)
	}
	p.Finish()
	return r.messages, p.Recoveries()
}

// ByText returns the messages that [harmony.TextParser] delivers. transcript reports whether no role was given in
// advance.
func ByText(chunks []string, options harmony.TextOptions, transcript bool) ([]Message, harmony.Recoveries) {
	var r recorder
	p := harmony.NewTextParser(&r, options)
	if transcript {
		p = harmony.NewTextTranscriptParser(&r)
	}
	for _, chunk := range chunks {
		p.Write([]byte(chunk), 0)
	}
	p.Finish()
	return r.messages, p.Recoveries()
}

// Cut cuts a text after each byte for which at returns true.
func Cut(text string, at func() bool) (chunks []string) {
	from := 0
	for i := 1; i < len(text); i++ {
		if at() {
			chunks = append(chunks, text[from:i])
			from = i
		}
	}
	return append(chunks, text[from:])
}

// Printed returns the text that a server prints for ids. ok is false if ordinary tokens spell a control token, which a
// parser of text cannot detect.
func Printed(t *tokenizer.Tokenizer, ids []uint32) (text string, ok bool) {
	var out []byte
	var marks []int
	for _, id := range ids {
		b, _ := t.TokenBytes(id)
		if tokenizer.IsSpecial(id) {
			marks = append(marks, len(out))
		}
		out = append(out, b...)
	}
	for i := 0; i < len(out); i++ {
		_, size, _ := tokenizer.MatchSpecial(out[i:])
		if size == 0 {
			continue
		}
		if len(marks) == 0 || marks[0] != i {
			return "", false
		}
		marks = marks[1:]
		i += size - 1
	}
	return string(out), len(marks) == 0
}

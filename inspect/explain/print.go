package explain

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// MinWidth is the smallest width of a transcript, in columns; a smaller one is raised to it.
const MinWidth = 20

// Options control the layout of a transcript.
type Options struct {
	Begin Begin
	// Width is the width of a line in columns, at least [MinWidth].
	Width int
	Color bool
	// NoIDs omits the tokens and prints only the messages' texts.
	NoIDs bool
	// Times shows when each token of a record came.
	Times bool
}

const (
	tokenIndent = "    "
	textIndent  = "  | "
)

// Write prints the transcript of a stream. With every content of the stream the output has only printable text, line
// ends and, if [Options.Color] is set, colour sequences.
func Write(w io.Writer, t *tokenizer.Tokenizer, ids []uint32, o Options) error {
	p := newPrinter(w, t, o)
	p.r = record(t, nil, ids, o.Begin)
	p.transcript(o)
	return p.w.Flush()
}

type printer struct {
	w *bufio.Writer
	Painter
	width int
	t     *tokenizer.Tokenizer
	r     *recorder
	// times are when the tokens came, in milliseconds. Nil: nobody knows. showTimes prints them beside the tokens.
	times     []float64
	showTimes bool
}

func newPrinter(w io.Writer, t *tokenizer.Tokenizer, o Options) printer {
	return printer{w: bufio.NewWriter(w), Painter: Painter(o.Color), width: max(o.Width, MinWidth), t: t}
}

// transcript prints the stream that the recorder has.
func (p *printer) transcript(o Options) {
	number := 0
	for i := range p.r.blocks {
		b := &p.r.blocks[i]
		if b.message {
			number++
		}
		p.title(b, number)
		if !o.NoIDs {
			p.tokens(b)
		}
		p.text(b)
	}
	p.summary(number)
}

// piece is text of one colour. The colour is added after the text has been measured.
type piece struct {
	text   string
	colour Colour
}

// line prints pieces after an indent and wraps them as one text. The first line gets the indent first, the others
// further.
func (p *printer) line(first, rest string, pieces ...piece) {
	var whole strings.Builder
	for _, x := range pieces {
		whole.WriteString(x.text)
	}
	indent := first
	lines := wrap(whole.String(), p.width-max(len(first), len(rest)))
	for i, line := range lines {
		left, shown := len(line), len(line)
		if i < len(lines)-1 {
			shown = len(strings.TrimRight(line, " ")) // the space at which the line was broken
		}
		if left == 0 {
			indent = strings.TrimRight(indent, " ")
		}
		_, _ = p.w.WriteString(indent) // Flush returns the first error
		for left > 0 {
			n := min(left, len(pieces[0].text))
			_, _ = p.w.WriteString(p.Paint(pieces[0].colour, pieces[0].text[:min(n, shown)]))
			left -= n
			shown -= min(n, shown)
			if pieces[0].text = pieces[0].text[n:]; pieces[0].text == "" {
				pieces = pieces[1:]
			}
		}
		_ = p.w.WriteByte('\n')
		indent = rest
	}
}

// title prints a message's heading: its role, channel, recipient and content type, and the range of its tokens.
func (p *printer) title(b *block, number int) {
	span := fmt.Sprintf("  [tokens %d-%d]", b.from, b.to-1)
	if b.to-b.from == 1 {
		span = fmt.Sprintf("  [token %d]", b.from)
	}
	if p.times != nil && b.to > b.from {
		span += "  " + during(p.times[b.from], p.times[b.to-1])
	}
	if !b.message {
		heading := "no message"
		if b.to == len(p.r.tokens) && len(p.r.atEnd) == 0 && p.r.tokens[b.to-1].notes == nil {
			heading = "the beginning of a message"
		}
		p.line("", "  ", piece{"-- " + heading, bold}, piece{span, faint})
		return
	}
	h := &b.header
	author := h.Role.String()
	if h.Name != "" {
		author += " " + escape(h.Name, false)
	}
	pieces := titleOf(number, author, channelColour(h.Channel), headerFields(h.Channel, h.Recipient, h.ContentType))
	pieces = append(pieces, piece{span, faint})
	if b.end == harmony.Cut {
		pieces = append(pieces, piece{"  cut: no end token", alert})
	}
	p.line("", "  ", pieces...)
}

// headerFields returns the fields of a Harmony header.
func headerFields(channel, recipient, contentType string) []Field {
	return []Field{{"channel", channel}, {"to", recipient}, {"type", contentType}}
}

// titleOf returns the first line of a message: its number, its author, and the fields that have a value. The author
// must be safe to print.
func titleOf(number int, author string, c Colour, fields []Field) []piece {
	pieces := []piece{{"#" + strconv.Itoa(number) + " " + author, bold}}
	for _, f := range fields {
		if f.Value != "" {
			pieces = append(pieces, piece{"  " + f.Name + " ", plain}, piece{escape(f.Value, false), c})
		}
	}
	return pieces
}

// tokens prints a block's tokens with their ids, as many on a line as fit.
func (p *printer) tokens(b *block) {
	room := p.width - len(tokenIndent)
	var line []piece
	used := 0
	flush := func() {
		if len(line) > 0 {
			p.line(tokenIndent, tokenIndent, line...)
		}
		line, used = nil, 0
	}
	for i := b.from; i < b.to; i++ {
		pieces := p.token(&p.r.tokens[i])
		if p.showTimes && (i == b.from || p.times[i] != p.times[i-1]) {
			pieces = append([]piece{{"@" + milliseconds(p.times[i]) + " ", plain}}, pieces...)
		}
		wide := 0
		for _, x := range pieces {
			wide += uniseg.StringWidth(x.text)
		}
		if used > 0 && used+2+wide > room {
			flush()
		}
		if used > 0 {
			line = append(line, piece{"  ", plain})
			used += 2
		}
		line = append(line, pieces...)
		if used += wide; used > room {
			flush()
		}
	}
	flush()
}

// token returns an id, the text that it stands for, and the repairs made there.
func (p *printer) token(x *token) []piece {
	pieces := []piece{{strconv.FormatUint(uint64(x.id), 10) + " ", faint}}
	text, ok := p.t.TokenBytes(x.id)
	switch {
	case !ok:
		pieces = append(pieces, piece{"unknown", alert})
	case tokenizer.IsSpecial(x.id):
		pieces = append(pieces, piece{string(text), control})
	default:
		pieces = append(pieces, piece{`"` + escape(string(text), true) + `"`, plain})
	}
	for _, kind := range x.notes {
		pieces = append(pieces, piece{" !" + kind.String(), alert})
	}
	return pieces
}

// text prints a message's text, keeping its line ends.
func (p *printer) text(b *block) {
	if len(b.text) == 0 {
		return
	}
	for line := range strings.SplitSeq(string(b.text), "\n") {
		p.line(textIndent, textIndent, piece{escape(line, false), channelColour(b.header.Channel)})
	}
}

// summary prints the counts, and for each repair its place and meaning.
func (p *printer) summary(messages int) {
	counts := plural(messages, "message") + ", " + plural(len(p.r.tokens), "token") + ", "
	total := p.r.seen.Total()
	if total == 0 {
		p.line("", "  ", piece{counts + "no recoveries", bold})
		return
	}
	word := " recoveries:"
	if total == 1 {
		word = " recovery:"
	}
	p.line("", "  ", piece{counts, bold}, piece{strconv.FormatUint(total, 10) + word, alert})
	for i := range p.r.tokens {
		for _, kind := range p.r.tokens[i].notes {
			where := "token " + strconv.Itoa(i)
			if p.times != nil {
				where += " at " + milliseconds(p.times[i])
			}
			p.recovery(where, kind)
		}
	}
	for _, kind := range p.r.atEnd {
		p.recovery("at the end", kind)
	}
}

func (p *printer) recovery(where string, kind harmony.Recovery) {
	p.line("  ", "    ", piece{where + ": ", plain}, piece{kind.String(), alert}, piece{", " + Meaning(kind), plain})
}

func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return strconv.Itoa(n) + " " + word
}

package explain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

// WriteRequest prints the record of a request, as [Write] prints a stream.
func WriteRequest(w io.Writer, t *tokenizer.Tokenizer, q *Request, o Options) error {
	p := newPrinter(w, t, o)
	p.heading("", "request at "+q.head.Time, strings.TrimSpace(q.head.Method+" "+q.head.Path), tag(q.head.RequestID))
	p.body(q.head.Body, q.head.CutBytes)
	for _, c := range q.calls {
		p.serverCall(c, o)
	}
	p.clientAnswer(q)
	p.end(q.end)
	return p.w.Flush()
}

func tag(text string) string {
	if text == "" {
		return ""
	}
	return "[" + text + "]"
}

// heading prints a line about what follows. warning is what is unusual about it.
func (p *printer) heading(warning, what string, rest ...string) {
	pieces := []piece{{"== " + escape(what, false), bold}}
	for _, text := range rest {
		if text != "" {
			pieces = append(pieces, piece{"  " + escape(text, false), plain})
		}
	}
	if warning != "" {
		pieces = append(pieces, piece{"  " + escape(warning, false), alert})
	}
	p.line("", "   ", pieces...)
}

// body prints a body: JSON in its structure, and a text as it is.
func (p *printer) body(body json.RawMessage, cut int) {
	var text string
	switch {
	case len(body) == 0:
	case json.Unmarshal(body, &text) == nil:
		p.lines(text, plain)
	default:
		var b bytes.Buffer
		if json.Indent(&b, body, "", "  ") == nil {
			p.lines(b.String(), plain)
		}
	}
	if cut > 0 {
		p.line(textIndent, textIndent, piece{fmt.Sprintf("%d bytes are not in the record", cut), alert})
	}
}

// lines prints a text, keeping its line ends.
func (p *printer) lines(text string, c Colour) {
	if text == "" {
		return
	}
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		p.line(textIndent, textIndent, piece{escape(l, false), c})
	}
}

func (p *printer) serverCall(c *serverCall, o Options) {
	if s := c.sent; s != nil {
		tokens := ""
		if n := len(s.PromptIDs); n > 0 {
			tokens = plural(n, "prompt token")
		}
		p.heading("", "sent after "+milliseconds(s.AtMS), named("path", s.Path), named("model", s.Model),
			named("pool", s.Pool), named("server", s.Server), tokens)
		if p.prompt(s, o) && len(s.Body) > 0 {
			p.line("", "", piece{"-- besides the prompt", bold})
		}
		p.body(s.Body, s.CutBytes)
	}
	if h := c.head; h != nil {
		what, warning := "the server answered", ""
		if h.Local {
			what = "no server answered"
		}
		if h.Status >= 400 {
			warning = "an error"
		}
		p.heading(warning, what+" after "+milliseconds(h.AtMS), strconv.Itoa(h.Status), h.ContentType)
	}
	for i, choice := range c.choices {
		if len(choice.ids) == 0 && len(choice.messages) == 0 && len(choice.recoveries) == 0 {
			continue
		}
		if len(c.choices) > 1 {
			p.heading("", "choice "+strconv.Itoa(i))
		}
		p.choice(c, choice, o)
	}
	if c.chunks.Len() > 0 {
		p.heading("", "the server sent what is no tokens")
		p.lines(c.chunks.String(), plain)
	}
}

func named(name, value string) string {
	if value == "" {
		return ""
	}
	return name + " " + value
}

// prompt prints the messages of the prompt without their tokens, which are many. It reports whether there is a prompt.
func (p *printer) prompt(s *line.Sent, o Options) bool {
	messages := 0
	if contract.TakesConversations(s.Server) {
		return false // its ids are of the servers' own vocabulary
	}
	ids := s.PromptIDs
	if s.PromptText != "" {
		ids = p.t.AppendEncodeSpecial(nil, s.PromptText)
	}
	if len(ids) == 0 {
		return false
	}
	q := newPrinter(p.w, p.t, o)
	q.w = p.w
	q.r = record(p.t, nil, ids, AtStart)
	for i := range q.r.blocks {
		if b := &q.r.blocks[i]; b.message {
			messages++
			q.title(b, messages)
			q.text(b)
		}
	}
	return true
}

func (p *printer) choice(call *serverCall, c *recordedChoice, o Options) {
	if c.foreign || len(c.ids) == 0 {
		p.messages(c)
		return
	}
	q := newPrinter(p.w, p.t, o)
	q.w, q.times, q.showTimes = p.w, c.times, o.Times
	var begun []uint32
	if call.sent != nil {
		begun = line.BegunIDs(p.t, call.sent.PromptIDs)
	}
	q.r = record(p.t, begun, c.ids, InAssistant)
	q.transcript(o)
}

// messages prints a choice without its tokens.
func (p *printer) messages(c *recordedChoice) {
	for i, m := range c.messages {
		colour := channelColour(m.line.Channel)
		pieces := titleOf(i+1, escape(m.line.Role, false), colour,
			headerFields(m.line.Channel, m.line.Recipient, m.line.ContentType))
		p.line("", "  ", append(pieces, piece{"  " + during(m.from, m.to), faint})...)
		p.lines(m.text.String(), colour)
	}
	for _, r := range c.recoveries {
		pieces := []piece{{"near token " + strconv.Itoa(r.Token) + " at " + milliseconds(r.AtMS) + ": ", plain},
			{escape(r.Kind, false), alert}}
		if meaning := meaningOf(r.Kind); meaning != "" {
			pieces = append(pieces, piece{", " + meaning, plain})
		}
		p.line("  ", "    ", pieces...)
	}
}

func meaningOf(name string) string {
	for kind, meaning := range meanings {
		if kind.String() == name {
			return meaning
		}
	}
	return ""
}

// clientAnswer prints what the client got. Its text is printed if it is an error, or if nothing of the answer was read
// as tokens.
func (p *printer) clientAnswer(q *Request) {
	h := q.answerHead
	if h == nil && q.pieces == 0 {
		return
	}
	read := false
	for _, c := range q.calls {
		h = cmp.Or(h, c.head)
		read = read || len(c.choices) > 0
	}
	if h == nil {
		h = &line.Response{}
	}
	status := ""
	if h.Status > 0 {
		status = strconv.Itoa(h.Status)
	}
	bytes := plural(q.answer.Len(), "byte") + " in " + plural(q.pieces, "piece")
	p.heading("", "the client got", status, h.ContentType, bytes, during(q.answerFrom, q.answerTo))
	if h.Status >= 400 || !read {
		p.lines(q.answer.String(), plain)
	}
}

func (p *printer) end(e *line.End) {
	if e == nil {
		p.heading("the request runs, or its recorder was stopped", "no end")
		return
	}
	var warnings []string
	if e.Broken != "" {
		warnings = append(warnings, e.Broken)
	}
	if e.Cut != "" {
		warnings = append(warnings, "cut: "+e.Cut)
	}
	if e.LostFrames > 0 || e.LostLines > 0 {
		warnings = append(warnings, "the record misses "+plural(e.LostFrames, "frame")+" and "+plural(e.LostLines, "line"))
	}
	first, rate := "", ""
	if e.FirstTokenMS >= 0 && e.CompletionTokens > 0 {
		first = "first token after " + milliseconds(float64(e.FirstTokenMS))
		if s := (e.AtMS - float64(e.FirstTokenMS)) / 1000; s > 0 && e.CompletionTokens > 1 {
			rate = strconv.FormatFloat(float64(e.CompletionTokens-1)/s, 'f', 1, 64) + " tokens/s"
		}
	}
	count := ""
	if e.CompletionTokens > 0 {
		count = plural(e.CompletionTokens, "token")
	}
	p.cache(e.Cache)
	p.heading(strings.Join(warnings, "; "), "ended after "+milliseconds(e.AtMS), named("status", number(e.Status)),
		named("finish", e.Finish), named("policy", e.Policy), count, first, rate)
	for _, kind := range slices.Sorted(maps.Keys(e.Recoveries)) {
		p.line("  ", "    ", piece{escape(kind, false), alert},
			piece{" " + strconv.FormatUint(e.Recoveries[kind], 10), plain})
	}
}

// cache prints why a server's cache was missed.
func (p *printer) cache(c *line.Cache) {
	if c == nil {
		return
	}
	what := "nothing of the cache was missed"
	if c.Reason != segments.Nothing.String() {
		what = "the cache was missed: " + c.Reason
		if c.Message > 0 {
			what += ", from #" + strconv.Itoa(c.Message) + " on"
		}
	}
	p.heading("", what, plural(c.Common, "token")+" as in "+c.Earlier, strconv.Itoa(c.Cached)+" cached",
		strconv.Itoa(c.Computed)+" computed", strconv.Itoa(c.Again)+" of them again")
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// milliseconds prints a time.
func milliseconds(ms float64) string {
	switch {
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case ms < 10_000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	}
	return strconv.FormatFloat(ms/1000, 'f', 2, 64) + " s"
}

// during prints when something began and ended.
func during(from, to float64) string {
	if a, b := milliseconds(from), milliseconds(to); a != b {
		return a + " to " + b
	}
	return milliseconds(from)
}

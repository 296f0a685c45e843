package watch

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/inspect/explain"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

// MinWidth is the smallest width of a line, in columns; a smaller one is raised to it.
const MinWidth = 40

// Options control what a [Printer] prints.
type Options struct {
	// Width is the width of a line of a transcript in columns, at least [MinWidth].
	Width int
	Color bool
	// Transcripts prints what the model writes too.
	Transcripts bool
}

// Printer prints requests as they run. Several goroutines may use it. With every content of a record the output has
// only printable text, line ends and, if [Options.Color] is set, colour sequences.
type Printer struct {
	explain.Painter
	width       int
	transcripts bool

	mu       sync.Mutex
	w        io.Writer
	err      error
	requests map[string]*request
	last     int // the number of the last request
	lanes    int // how many run
	// apiWidth and modelWidth are the widths of columns so far.
	apiWidth, modelWidth int
	holder               *lane // the lane that has printed a part of a line, or nil
}

// request is one whose transcript is printed.
type request struct {
	number int
	lanes  map[int]*lane
	status int // of the answer, or 0
	shown  int // how many bytes of an error are printed
}

// New returns a printer that writes to w.
func New(w io.Writer, o Options) *Printer {
	return &Printer{Painter: explain.Painter(o.Color), width: max(o.Width, MinWidth), transcripts: o.Transcripts, w: w,
		requests: map[string]*request{}, apiWidth: len("responses")}
}

// Err returns the first error in writing. Nothing is written after it.
func (p *Printer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Line prints what one line of the record of a request adds to its transcript. It does nothing without
// [Options.Transcripts], and for lines that this version does not know.
func (p *Printer) Line(id string, text []byte) {
	if !p.transcripts {
		return
	}
	l, err := line.Read(bytes.TrimSpace(text))
	if err != nil || l == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.requests[id]
	if r == nil {
		p.last++
		r = &request{number: p.last, lanes: map[int]*lane{}}
		p.requests[id] = r
		p.lane(r, 0)
	}
	p.record(r, l)
}

func (p *Printer) record(r *request, l line.Line) {
	switch l := l.(type) {
	case *line.Sent:
		p.sent(r, l)
	case *line.Response:
		r.status = l.Status
	case *line.Message:
		p.lane(r, l.Choice).message(l)
	case *line.Tokens:
		if l.Content != "" {
			p.lane(r, l.Choice).text(l.Content)
		}
	case *line.Recovery:
		p.lane(r, l.Choice).recovery(l.Kind)
	case *line.Piece:
		if l.Type == line.TypeAnswer {
			p.failure(r, l)
		}
	}
}

// maxChoices is how many choices of a request have lanes of their own. OpenAI's API allows as many.
const maxChoices = 128

// lane returns the lane of a choice.
func (p *Printer) lane(r *request, choice int) *lane {
	if choice < 0 || choice >= maxChoices {
		choice = 0
	}
	l := r.lanes[choice]
	if l == nil {
		tag := "[" + strconv.Itoa(r.number)
		if choice > 0 {
			tag += "." + strconv.Itoa(choice)
		}
		l = &lane{p: p, tag: tag + "]"}
		r.lanes[choice] = l
		p.lanes++
	}
	return l
}

// sent prints that a request has gone to a server.
func (p *Printer) sent(r *request, s *line.Sent) {
	words := []string{s.API, s.Model, "to"}
	if s.Server != "" {
		words = append(words, s.Server)
	}
	if s.Pool != "" {
		words = append(words, "in pool "+s.Pool)
	}
	if n := len(s.PromptIDs); n > 0 {
		words = append(words, fmt.Sprintf("with %s tokens", grouped(n)))
	}
	p.lane(r, 0).heading(bold, strings.Join(words, " "))
}

// heading prints a line of its own.
func (l *lane) heading(c explain.Colour, text string) {
	l.end()
	l.p.interrupt()
	var e explain.Escaper
	l.p.print(l.p.Paint(faint, l.tag) + " " + l.p.Paint(c, e.Escape(text)) + "\n")
}

// message prints the heading of a message.
func (l *lane) message(m *line.Message) {
	l.colour = colourOf(m)
	var words []string
	if m.Role != "" && m.Role != harmony.Assistant.String() {
		words = append(words, m.Role)
	}
	for _, field := range []struct{ before, value string }{{"", m.Name}, {"", m.Channel}, {"to ", m.Recipient},
		{"as ", m.ContentType}} {
		if field.value != "" {
			words = append(words, field.before+field.value)
		}
	}
	if len(words) == 0 {
		words = append(words, "message without a channel")
	}
	l.heading(l.colour, strings.Join(words, " "))
}

// recovery prints a repair, and what it means.
func (l *lane) recovery(kind string) {
	text := "!" + kind
	for k := range len(harmony.Recoveries{}) {
		if k := harmony.Recovery(k); k.String() == kind {
			text += ", " + explain.Meaning(k)
		}
	}
	l.heading(alert, text)
}

// maxFailure is how many bytes of an error are printed.
const maxFailure = 2 << 10

// failure prints a piece of what the client got, if it is an error.
func (p *Printer) failure(r *request, l *line.Piece) {
	const firstError = 400
	if r.status < firstError || r.shown >= maxFailure {
		return
	}
	text := l.Body[:min(len(l.Body), maxFailure-r.shown)]
	r.shown += len(text)
	lane := p.lane(r, 0)
	lane.colour = alert
	lane.text(text)
}

// end ends the transcript of a request.
func (p *Printer) end(id string) (tag string) {
	r := p.requests[id]
	if r == nil {
		return ""
	}
	for _, choice := range slices.Sorted(maps.Keys(r.lanes)) {
		r.lanes[choice].end()
	}
	p.lanes -= len(r.lanes)
	delete(p.requests, id)
	return r.lanes[0].tag
}

// interrupt ends the line that a lane has printed a part of.
func (p *Printer) interrupt() {
	if p.holder != nil {
		p.holder.end()
	}
}

// print writes text that is safe.
func (p *Printer) print(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

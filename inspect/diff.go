package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/completion"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/inspect/explain"
)

// DiffOptions say how two prompts are compared.
type DiffOptions struct {
	// API is the API that bodies are read as: chat, responses or messages. If it is empty, their shape decides.
	API string
	// Date is the day in the system message of bodies. If it is empty, it is the day of the other prompt if that is a
	// record, and otherwise today.
	Date string
	// Block is how many tokens a block of the server's cache has.
	Block int
	// Ends is set for servers that can go on only from where the earlier prompt ended.
	Ends bool
}

// DiffFile is a file to compare: its content, and its name for messages.
type DiffFile struct {
	Name string
	Data []byte
}

// MaxDiffFile is the largest file that is compared, in bytes.
const MaxDiffFile = explain.MaxInput

// Diff is a comparison of two prompts.
type Diff struct {
	segments.Difference
	t             *tokenizer.Tokenizer
	before, now   diffPrompt
	block         int
	ends          bool
	was, segments segments.Outline
}

// diffPrompt is one of the prompts.
type diffPrompt struct {
	name, model string
	// ids is the prompt, and what the model has written behind it in a record. prompt is how many of them are the prompt.
	ids    []uint32
	prompt int
	// body is a body of the API that is not rendered yet. guessed reports whether the API follows from its shape.
	api     string
	guessed bool
	body    []byte
	date    string
}

// NewDiff compares two files: bodies of requests, records of requests, or token ids.
func NewDiff(t *tokenizer.Tokenizer, before, now DiffFile, o DiffOptions) (*Diff, error) {
	d := &Diff{t: t, block: max(o.Block, 1), ends: o.Ends}
	for _, p := range []struct {
		to *diffPrompt
		f  DiffFile
	}{{&d.before, before}, {&d.now, now}} {
		if err := p.to.read(t, p.f, o); err != nil {
			return nil, fmt.Errorf("%s: %w", p.f.Name, err)
		}
	}
	d.before.sameDay(t, &d.now)
	d.now.sameDay(t, &d.before)
	for _, p := range []*diffPrompt{&d.before, &d.now} {
		if err := p.render(t); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	d.compare()
	return d, nil
}

// compare compares the prompts. What the model wrote behind the earlier one is in the server's cache as well, but for
// its last token: that was only sampled.
func (d *Diff) compare() {
	a, b := &d.before, &d.now
	ids, had := b.ids[:b.prompt], a.ids
	if len(had) > a.prompt {
		had = had[:len(had)-1]
	}
	if a.model == "" || b.model == "" { // token ids are of no model
		a.model, b.model = "", ""
	}
	all := segments.Limits{Segments: len(had) + len(ids) + 1}
	d.was.Read(d.t, a.model, had, all)
	d.segments.Read(d.t, b.model, ids, all)
	cache := segments.Cache{Block: d.block}
	if d.ends {
		cache.End = a.prompt
	}
	d.Difference = segments.Compare(&d.was, &d.segments, segments.Common(had, ids), cache)
}

// The forms of a file.
var errNoPrompt = errors.New("it is no body of a request, no record and no token ids; a body has \"messages\" or " +
	"\"input\", and harmony record or harmony up --record write records")

// read reads a file. A body is rendered later.
func (p *diffPrompt) read(t *tokenizer.Tokenizer, f DiffFile, o DiffOptions) error {
	p.name, p.date = f.Name, o.Date
	data := bytes.TrimSpace(f.Data)
	switch {
	case len(f.Data) > MaxDiffFile:
		return errors.New("it is larger than 64 MiB")
	case len(data) == 0:
		return errors.New("it is empty; it needs the body of a request, a record or token ids")
	case explain.BeginsRecord(data):
		return p.readRecord(t, data)
	case data[0] != '{':
		return p.readIDs(data)
	}
	q := readRequest(data, nil)
	if q.err != nil {
		return fmt.Errorf("it is not JSON, or more than one object; give one body of a request in each file (%w)", q.err)
	}
	if q.has("completion") { // an answer of harmony inspect render
		p.ids = q.ids(nil, "completion")
		p.prompt = len(p.ids)
		return q.err
	}
	p.api, p.body = bodyOf(q)
	if p.body == nil {
		return errNoPrompt
	}
	if len(p.body) < len(q.line) && q.has("date") {
		p.date = q.text("date")
	}
	if _, err := time.Parse(time.DateOnly, p.date); p.date != "" && err != nil {
		q.fail("%q is not a day, such as 2026-01-31", p.date)
	}
	switch {
	case o.API != "":
		p.api = o.API
	case p.api == chatAPI && isMessages(p.body):
		p.api = messagesAPI
	}
	p.guessed = o.API == ""
	return q.err
}

func (p *diffPrompt) readIDs(data []byte) error {
	ids, err := explain.ReadIDs(bytes.NewReader(data))
	if err != nil || len(ids) == 0 {
		return errNoPrompt
	}
	p.ids, p.prompt = ids, len(ids)
	return nil
}

// readRecord reads a record. Of a request to a server of conversations it has the body only.
func (p *diffPrompt) readRecord(t *tokenizer.Tokenizer, data []byte) error {
	q, err := explain.ReadRequest(bytes.NewReader(data))
	if err != nil {
		return err
	}
	asked := q.Asked(t)
	if len(asked.Prompt) > 0 {
		p.model, p.prompt = asked.Model, len(asked.Prompt)
		p.ids = slices.Concat(asked.Prompt, asked.Generated)
		return nil
	}
	p.body = asked.Body
	switch {
	case len(asked.Body) == 0 || asked.Body[0] != '{':
		return errors.New("the record has neither a prompt nor a whole body; record the request again")
	case strings.HasSuffix(asked.Path, "/responses"):
		p.api = responsesAPI
	case strings.HasSuffix(asked.Path, "/messages"):
		p.api = messagesAPI
	default:
		p.api = chatAPI
	}
	return nil
}

// isMessages reports whether a body with messages is one of Anthropic's Messages, by members that only that API has.
func isMessages(body []byte) bool {
	var b struct {
		System        json.RawMessage
		StopSequences json.RawMessage `json:"stop_sequences"`
		Thinking      json.RawMessage
		Tools         []struct {
			Schema json.RawMessage `json:"input_schema"`
		}
		Messages []struct{ Content json.RawMessage }
	}
	_ = json.Unmarshal(body, &b) // what has another type is of another API
	found := b.System != nil || b.StopSequences != nil || b.Thinking != nil
	for i := range b.Tools {
		found = found || b.Tools[i].Schema != nil
	}
	for i := range b.Messages {
		var parts []struct{ Type string }
		_ = json.Unmarshal(b.Messages[i].Content, &parts)
		for _, part := range parts {
			found = found || part.Type == "tool_use" || part.Type == "tool_result" || part.Type == "thinking"
		}
	}
	return found
}

// sameDay gives a body without a day the day of the other prompt, if that has one.
func (p *diffPrompt) sameDay(t *tokenizer.Tokenizer, other *diffPrompt) {
	if p.body == nil || p.date != "" {
		return
	}
	p.date = other.date
	_, text, found := strings.Cut(t.DecodeString(other.ids[:min(len(other.ids), 200)]), "\nCurrent date: ")
	if day, _, ended := strings.Cut(text, "\n"); p.date == "" && found && ended {
		if _, err := time.Parse(time.DateOnly, day); err == nil {
			p.date = day
		}
	}
}

// render makes the prompt of a body.
func (p *diffPrompt) render(t *tokenizer.Tokenizer) error {
	if p.body == nil {
		return nil
	}
	p.model = modelOf(p.body)
	m := completion.GPTOSS(p.model)
	m.Extras, m.StructuralTags, m.Date = extras, true, p.date
	a := answerer{t: t}
	ids, err := a.prompt(m, p.api, p.body)
	var refused *completion.Error
	if errors.As(err, &refused) {
		advice := ""
		if p.guessed && refused.Status == 400 {
			advice = "; --api names another API"
		}
		return fmt.Errorf("the gateway refuses this body as a request to %s: %s%s", p.api, messageOf(refused.Body), advice)
	}
	p.ids, p.prompt = ids, len(ids)
	return err
}

// messageOf returns the message of an error's body.
func messageOf(body []byte) string {
	var e struct{ Error struct{ Message string } }
	if json.Unmarshal(body, &e) != nil || e.Error.Message == "" {
		return string(body)
	}
	return e.Error.Message
}

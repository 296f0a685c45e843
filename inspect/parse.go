package inspect

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

const tolerant = "tolerant"

// parse appends what the strict parser observes after every token, or what the tolerant one makes of the whole.
func (a *answerer) parse(dst []byte, q *request) []byte {
	role := harmony.RoleOf(q.text("role"))
	if q.has("role") && role == 0 {
		q.fail("%q must be user, assistant, system, developer, tool or null", "role")
	}
	mode := q.text("mode")
	if mode != "" && mode != tolerant {
		q.fail("%q must be %q, or absent for the strict parser", "mode", tolerant)
	}
	text := q.one("tokens", "text") == "text"
	a.ids = q.ids(a.ids[:0], "tokens")
	switch {
	case q.err != nil:
		return dst
	case text || mode == tolerant:
		return a.parseTolerant(dst, q, role)
	default:
		return a.parseStrict(dst, q, role)
	}
}

func (a *answerer) parseStrict(dst []byte, q *request, role harmony.Role) []byte {
	strict, resume := q.flag("strict", true), q.flag("resume", false)
	p := harmony.NewStrictParser(a.t, role, strict)
	dst = append(dst, `"steps":[`...)
	stopped := false
	for i, id := range a.ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		err := p.Process(id)
		dst = appendStep(dst, p, err)
		if err != nil && !resume {
			stopped = true
			break
		}
	}
	dst = append(dst, ']')
	if !stopped {
		err := p.ProcessEOS()
		dst = appendStep(append(dst, `,"eos":`...), p, err)
	}
	return harmony.AppendMessages(append(dst, `,"messages":`...), p.Messages())
}

// appendStep appends what p shows, and the error that it has just given.
func appendStep(dst []byte, p *harmony.StrictParser, err error) []byte {
	if err != nil {
		dst = appendError(append(dst, `{"error":`...), harmonyError, err.Error())
		dst = append(dst, `,"after":`...)
	}
	role := p.Role()
	dst = rawjson.AppendInt(append(dst, '['), int64(p.State()))
	for _, o := range [...]harmony.Optional{{Value: role.String(), Set: role != 0}, p.Channel(), p.Recipient(), p.ContentType(), p.LastDelta()} {
		dst = appendOptional(append(dst, ','), o)
	}
	dst = append(dst, ']')
	if err != nil {
		dst = append(dst, '}')
	}
	return dst
}

func appendOptional(dst []byte, o harmony.Optional) []byte {
	if !o.Set {
		return append(dst, "null"...)
	}
	return rawjson.AppendString(dst, o.Value)
}

// parseTolerant reads a.ids, or the field "text".
func (a *answerer) parseTolerant(dst []byte, q *request, role harmony.Role) []byte {
	if role != 0 && role != harmony.Assistant {
		q.fail("%q must be assistant or null: the tolerant parser reads what a model writes", "role")
		return dst
	}
	text := q.text("text")
	cuts := q.offsets("cuts", len(text))
	var got events
	transcript := role == 0 && (q.present("role") || startsMessage(a.ids, text))
	var seen harmony.Recoveries
	if q.has("text") {
		p := harmony.NewTextParser(&got, harmony.TextOptions{})
		if transcript {
			p = harmony.NewTextTranscriptParser(&got)
		}
		from := 0
		for _, at := range append(cuts, len(text)) {
			p.Write([]byte(text[from:at]), 0)
			from = at
		}
		p.Finish()
		seen = p.Recoveries()
	} else {
		p := harmony.NewStreamParser(a.t, &got)
		if transcript {
			p = harmony.NewTranscriptParser(a.t, &got)
		}
		for _, id := range a.ids {
			p.Process(id)
		}
		p.Finish()
		seen = p.Recoveries()
	}
	return appendRecoveries(got.appendTo(dst), &seen)
}

// startsMessage says whether the stream begins with a start token, as one does that nothing is given in advance of.
func startsMessage(ids []uint32, text string) bool {
	if len(ids) > 0 {
		return ids[0] == tokenizer.Start
	}
	id, size, _ := tokenizer.MatchSpecial([]byte(text))
	return size > 0 && id == tokenizer.Start
}

// events gathers one event for each message.
type events struct{ list []event }

type event struct {
	header harmony.Header
	text   []byte
}

func (e *events) Open(h harmony.Header) { e.list = append(e.list, event{header: h}) }

func (e *events) Content(text []byte, _ int) {
	last := &e.list[len(e.list)-1]
	last.text = append(last.text, text...)
}

func (e *events) Close(harmony.End) {}

func (e *events) appendTo(dst []byte) []byte {
	dst = append(dst, `"events":[`...)
	for i := range e.list {
		if i > 0 {
			dst = append(dst, ',')
		}
		h := &e.list[i].header
		dst = appendNamed(append(dst, '{'), "channel", h.Channel)
		dst = appendNamed(append(dst, ','), "recipient", h.Recipient)
		dst = appendNamed(append(dst, ','), "content_type", h.ContentType)
		dst = rawjson.AppendString(append(dst, `,"text":`...), string(e.list[i].text))
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendNamed(dst []byte, name, value string) []byte {
	dst = append(rawjson.AppendString(dst, name), ':')
	return appendOptional(dst, harmony.Optional{Value: value, Set: value != ""})
}

// appendRecoveries appends the kinds that were seen, in the order of harmony.Recovery.
func appendRecoveries(dst []byte, seen *harmony.Recoveries) []byte {
	dst = append(dst, `,"recoveries":{`...)
	first := true
	for kind, n := range seen {
		if n == 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = rawjson.AppendString(dst, harmony.Recovery(kind).String())
		dst = rawjson.AppendInt(append(dst, ':'), int64(n))
	}
	return append(dst, '}')
}

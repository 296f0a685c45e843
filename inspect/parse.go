package inspect

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// The values of the field "mode" that select the tolerant parser.
const (
	tolerant = "tolerant"
	typed    = "typed"
)

// parse appends what the strict parser observes after every token, or the messages that the tolerant parser makes of
// the whole stream.
func (a *answerer) parse(dst []byte, q *request) []byte {
	role := harmony.RoleOf(q.text("role"))
	if q.has("role") && role == 0 {
		q.fail("%q must be user, assistant, system, developer, tool or null", "role")
	}
	mode := q.text("mode")
	if mode == "" && a.mode == ParseTyped {
		mode = typed
	}
	if mode != "" && mode != tolerant && mode != typed {
		q.fail("%q must be %q or %q, or absent for the strict parser", "mode", tolerant, typed)
	}
	text := q.exactlyOne("tokens", "text") == "text"
	a.ids = q.ids(a.ids[:0], "tokens")
	switch {
	case q.err != nil:
		return dst
	case text || mode != "":
		return a.parseTolerant(dst, q, role, mode)
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

// appendStep appends the state of p, and the error that it has just returned.
func appendStep(dst []byte, p *harmony.StrictParser, err error) []byte {
	if err != nil {
		dst = appendError(append(dst, `{"error":`...), harmonyError, err.Error())
		dst = append(dst, `,"after":`...)
	}
	role := p.Role()
	dst = rawjson.AppendInt(append(dst, '['), int64(p.State()))
	for _, o := range [...]harmony.Optional{
		{Value: role.String(), Set: role != 0}, p.Channel(), p.Recipient(), p.ContentType(), p.LastDelta()} {
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

// parseTolerant reads a.ids, or the field "text", and appends the messages in the form of the mode.
func (a *answerer) parseTolerant(dst []byte, q *request, role harmony.Role, mode string) []byte {
	if role != 0 && role != harmony.Assistant {
		q.fail("%q must be assistant or null: the tolerant parser reads what a model writes", "role")
		return dst
	}
	text := q.text("text")
	cuts := q.offsets("cuts", len(text))
	var got harmony.Collector
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
	if mode == typed {
		dst = appendParts(dst, harmony.Parts(got.Messages()))
	} else {
		dst = appendEvents(dst, got.Messages())
	}
	return appendRecoveries(dst, &seen)
}

// startsMessage reports whether the stream begins with a start token, which means that no role was given in advance.
func startsMessage(ids []uint32, text string) bool {
	if len(ids) > 0 {
		return ids[0] == tokenizer.Start
	}
	id, size, _ := tokenizer.MatchSpecial([]byte(text))
	return size > 0 && id == tokenizer.Start
}

// appendEvents appends one event for each message.
func appendEvents(dst []byte, messages []harmony.Message) []byte {
	dst = append(dst, `"events":[`...)
	for i := range messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		m := &messages[i]
		dst = appendNamed(append(dst, '{'), "channel", m.Channel)
		dst = appendNamed(append(dst, ','), "recipient", m.Recipient)
		dst = appendNamed(append(dst, ','), "content_type", m.ContentType)
		for j := range m.Content {
			dst = rawjson.AppendString(append(dst, `,"text":`...), m.Content[j].Text)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendParts appends the typed content list. A part has only the fields that it needs: the role if it is not the
// assistant's, and the name and content type if there are any.
func appendParts(dst []byte, parts []harmony.Part) []byte {
	dst = append(dst, `"content":[`...)
	for i := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		p := &parts[i]
		dst = rawjson.AppendString(append(dst, `{"type":`...), p.Kind.String())
		if p.Role != harmony.Assistant {
			dst = rawjson.AppendString(append(dst, `,"role":`...), p.Role.String())
		}
		if p.Name != "" {
			dst = rawjson.AppendString(append(dst, `,"name":`...), p.Name)
		}
		if p.ContentType != "" {
			dst = rawjson.AppendString(append(dst, `,"content_type":`...), p.ContentType)
		}
		dst = rawjson.AppendString(append(dst, `,"text":`...), p.Text)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendNamed(dst []byte, name string, value harmony.Optional) []byte {
	return appendOptional(append(rawjson.AppendString(dst, name), ':'), value)
}

// appendRecoveries appends the kinds of recoveries that were seen, in the order of [harmony.Recovery].
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

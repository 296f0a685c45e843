package anthropic

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Thinking is what a client is shown of the model's reasoning.
type Thinking uint8

// The values of [Thinking].
const (
	// ThinkingOff shows none: the client has not asked for it, or has switched it off.
	ThinkingOff Thinking = iota
	// ThinkingShown shows its text.
	ThinkingShown
	// ThinkingOmitted shows that there was some, without its text.
	ThinkingOmitted
)

// readThinking reads what the client wants of the reasoning. Newer types than those known here want it shown.
func (r *Request) readThinking(v *rawjson.Part) *openai.Error {
	r.Thinking, r.ThinkingDisabled, r.Budget = ThinkingOff, false, nil
	at := top("thinking")
	if !v.Given() {
		return nil
	}
	if v.Kind != rawjson.Object {
		return wrongType(at, "a valid object")
	}
	var kind, display string
	var budget rawjson.Part
	members := v.Items()
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "type":
			kind = word(&members)
		case "display":
			display = word(&members)
		case "budget_tokens":
			budget = members.Part()
		}
	}
	switch {
	case kind == "":
		return missing(at.in("type"))
	case kind == "disabled":
		r.ThinkingDisabled = true
		return nil
	case display == "omitted":
		r.Thinking = ThinkingOmitted
	default:
		r.Thinking = ThinkingShown
	}
	if kind == "enabled" && budget.Given() {
		tokens := 0
		if err := integer(&budget, at.in("budget_tokens"), 0, &tokens); err != nil {
			return err
		}
		r.Budget = &tokens
	}
	return nil
}

// word returns the item's string, or "" if it is none.
func word(it *rawjson.Items) string {
	if it.Kind != rawjson.String {
		return ""
	}
	return rawjson.Unescape(it.Value)
}

// The words of the API for efforts, from the least to the most.
const (
	EffortLow    = "low"
	EffortMedium = "medium"
	EffortHigh   = "high"
	EffortXHigh  = "xhigh"
	EffortMax    = "max"
)

// Efforts are the words of the API for efforts.
var Efforts = [...]string{EffortLow, EffortMedium, EffortHigh, EffortXHigh, EffortMax}

// readConfig reads an output_config, the body's or one that a message has.
func (r *Request) readConfig(at place, v *rawjson.Part) *openai.Error {
	if !v.Given() {
		return nil
	}
	if v.Kind != rawjson.Object {
		return wrongType(at, "a valid object")
	}
	members := v.Items()
	for members.Next() {
		v := members.Part()
		var err *openai.Error
		switch rawjson.View(members.Key) {
		case "effort":
			err = r.readEffort(at.in("effort"), &v)
		case "format":
			if at.depth == 0 {
				err = r.readFormat(at.in("format"), &v)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Request) readEffort(at place, v *rawjson.Part) *openai.Error {
	if !v.Given() {
		return nil
	}
	got := ""
	if err := text(v, at, &got); err != nil {
		return err
	}
	for _, known := range Efforts {
		if got == known {
			r.Effort, r.EffortAt, r.EffortChanged = known, at.String(), at.depth > 0
			return nil
		}
	}
	// Claude Code asks again without an effort if the message has these words.
	return invalid(at, "This model does not support the effort parameter '"+openai.Clip(got, maxQuoted)+
		"'. Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
}

// maxQuoted is the maximum length of a client's value in an error message, in bytes.
const maxQuoted = 64

// The places of the schema of the answer. The second one is of an older version of the API.
const (
	schemaAt      = "output_config.format.schema"
	olderSchemaAt = "output_format.schema"
)

// readFormat reads the form of the answer.
func (r *Request) readFormat(at place, v *rawjson.Part) *openai.Error {
	r.Schema = rawjson.Part{}
	if !v.Given() {
		return nil
	}
	if v.Kind != rawjson.Object {
		return wrongType(at, "a valid object")
	}
	kind := ""
	members := v.Items()
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "type":
			kind = word(&members)
		case "schema":
			r.Schema = members.Part()
		}
	}
	r.SchemaAt = at.in("schema").String()
	switch {
	case kind == "":
		return missing(at.in("type"))
	case kind != "json_schema":
		return invalid(at.in("type"), "Input should be 'json_schema'")
	case r.Schema.Kind == 0:
		return missing(at.in("schema"))
	}
	return nil
}

// The limits of stop sequences. The length is in bytes.
const (
	maxStops      = 64
	maxStopLength = 1024
)

func (r *Request) readStop(v *rawjson.Part) *openai.Error {
	r.Stop = nil
	at := top("stop_sequences")
	switch {
	case !v.Given():
		return nil
	case v.Kind != rawjson.Array:
		return wrongType(at, "a valid array")
	}
	list := v.Items()
	for i := 0; list.Next(); i++ {
		if i >= maxStops {
			return invalid(at, "List should have at most "+strconv.Itoa(maxStops)+" items")
		}
		sequence := ""
		v, at := list.Part(), at.element(i)
		if len(v.Value) > maxStopLength {
			return invalid(at, "String should have at most "+strconv.Itoa(maxStopLength)+" bytes")
		}
		if err := text(&v, at, &sequence); err != nil {
			return err
		}
		if sequence != "" {
			r.Stop = append(r.Stop, sequence)
		}
	}
	return nil
}

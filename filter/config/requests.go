package config

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Efforts are stand-ins, each "low", "medium" or "high", or EffortRefuse.
type Efforts struct {
	None, Minimal, XHigh, Max string
}

// EffortRefuse answers requests for an effort with an error.
const EffortRefuse = "refuse"

// The settings of Model.UnsupportedContent: an error, or a note to the model in the place of each.
const (
	ContentRefuse = "refuse"
	ContentDrop   = "drop"
)

// DefaultEfforts stand the nearest effort in, but for none: gpt-oss always reasons.
func DefaultEfforts() Efforts {
	return Efforts{None: EffortRefuse, Minimal: "low", XHigh: "high", Max: "high"}
}

// KnownExtras are all parameters of inference servers that can be let through.
func KnownExtras() []string {
	return []string{"top_k", "min_p", "repetition_penalty", "min_tokens", "stop_token_ids", "priority", "cache_salt", "chat_template_kwargs"}
}

// DefaultExtras are those that change nothing but the request's own answer.
func DefaultExtras() []string {
	return []string{"top_k", "min_p", "repetition_penalty", "min_tokens", "stop_token_ids", "chat_template_kwargs"}
}

func (p *parser) efforts(path string, v *rawjson.Value, e *Efforts) {
	p.object(path, v, func(name, key string, value *rawjson.Value) bool {
		var dst *string
		switch name {
		case "none":
			dst = &e.None
		case "minimal":
			dst = &e.Minimal
		case "xhigh":
			dst = &e.XHigh
		case "max":
			dst = &e.Max
		default:
			return false
		}
		*dst = p.oneOf(key, value, EffortRefuse, "low", "medium", "high")
		return true
	})
}

func (p *parser) extras(path string, v *rawjson.Value) []string {
	if v.Kind != rawjson.Array {
		p.fail(path, "must be an array")
		return nil
	}
	names := make([]string, 0, len(v.Elements))
	for i := range v.Elements {
		names = append(names, p.oneOf(path+"["+strconv.Itoa(i)+"]", &v.Elements[i], KnownExtras()...))
	}
	return names
}

func (e *Efforts) write(w *writer, otherwise *Efforts) {
	w.text("none", e.None, otherwise.None)
	w.text("minimal", e.Minimal, otherwise.Minimal)
	w.text("xhigh", e.XHigh, otherwise.XHigh)
	w.text("max", e.Max, otherwise.Max)
}

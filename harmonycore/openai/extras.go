package openai

import (
	"math"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Extra is a parameter that inference servers have and OpenAI's API does not. JSON is its checked value as JSON text.
type Extra struct{ Name, JSON string }

// requestedExtra is an extra as the client sent it. Its value lies in the body.
type requestedExtra struct {
	name string
	v    value
}

// extraNames are the extras that an operator can allow (RATIONALE.md#42). Other parameters of servers are ignored, like
// any unknown member. ignore_eos, for example, would make the model continue after the end of its answer.
var extraNames = contract.KnownExtras()

func (s *Sampling) request(name string, v value) {
	for _, known := range extraNames {
		if name != known || !v.given() {
			continue
		}
		for i := range s.requested {
			if s.requested[i].name == known {
				s.requested[i].v = v
				return
			}
		}
		s.requested = append(s.requested, requestedExtra{known, v})
	}
}

// Allow reads the extras that names lists into s, and discards all others unread.
func (s *Sampling) Allow(names []string) *Error {
	requested := s.requested
	s.requested = nil
	for _, a := range requested {
		for _, name := range names {
			if name != a.name {
				continue
			}
			if err := s.readExtra(name, a.v); err != nil {
				return err
			}
		}
	}
	return nil
}

// saltParam keeps what a client asks apart from others' requests in a server's prefix cache.
const saltParam = "cache_salt"

// Salted returns an error for a cache_salt that names does not list: passed over, it would not protect. Other extras
// only shape the answer.
func (s *Sampling) Salted(names []string) *Error {
	for i := range s.requested {
		if s.requested[i].name != saltParam {
			continue
		}
		for _, name := range names {
			if name == saltParam {
				return nil
			}
		}
		return Unsupported(saltParam, "Unsupported parameter: '"+saltParam+"'. It is not allowed for this model, and "+
			"passed over it would not keep your prompts apart. Its operator can allow it, with '"+saltParam+
			"' in 'server_extras', if its servers have it. Or leave it out.")
	}
	return nil
}

// The limits of extras.
const (
	maxStopTokenIDs = 64
	maxCacheSalt    = 1024 // in bytes; the servers' own limit
)

func (s *Sampling) readExtra(name string, v value) *Error {
	switch name {
	case "top_k":
		if k := string(v.raw); v.kind == rawjson.Number && (k == "0" || k == "-0") {
			v.raw = []byte("-1") // -1 means off for every vLLM, 0 only for newer ones
		}
		return s.extraInteger(name, v, -1, nil)
	case "priority":
		return s.extraInteger(name, v, math.MinInt32, nil)
	case "min_tokens":
		return s.extraInteger(name, v, 0, &s.MinTokens)
	case "min_p":
		return s.extraNumber(name, v, 0, 1)
	case "repetition_penalty":
		return s.extraNumber(name, v, 0.01, 2)
	case "stop_token_ids":
		return v.elements(name, func(i int, at string, v value) *Error {
			if i >= maxStopTokenIDs {
				return Invalid(name, "Invalid '"+name+"': array too long. Expected at most "+strconv.Itoa(maxStopTokenIDs)+
					" elements.")
			}
			id := int64(0)
			if !v.given() {
				return wrongType(at, "an integer", v)
			}
			if err := v.integer(at, 0, &id); err != nil {
				return err
			}
			if id > math.MaxUint32 {
				return Invalid(at, "Invalid '"+at+"': the integer is out of range.")
			}
			s.StopTokenIDs = append(s.StopTokenIDs, uint32(id))
			return nil
		})
	case saltParam:
		salt := ""
		if err := v.label(name, maxCacheSalt); err != nil {
			return err
		}
		if err := v.text(name, &salt); err != nil {
			return err
		}
		if salt == "" {
			return Invalid(name, "Invalid '"+name+"': empty string. Expected 1 to "+strconv.Itoa(maxCacheSalt)+" bytes.")
		}
		s.Extras = append(s.Extras, Extra{name, string(rawjson.AppendString(nil, salt))})
		return nil
	case "chat_template_kwargs":
		s.TemplateKwargs = v.raw
		return v.members(name, func(key []byte, v value) *Error {
			if rawjson.View(key) != "reasoning_effort" {
				return nil // templates belong to the servers
			}
			return v.effort(join(name, "reasoning_effort"), &s.TemplateEffort)
		})
	}
	return nil
}

func (s *Sampling) extraInteger(name string, v value, minimum int64, dst *int) *Error {
	n := int64(0)
	if err := v.integer(name, minimum, &n); err != nil {
		return err
	}
	n = min(n, math.MaxInt32)
	if dst != nil {
		*dst = int(n)
	}
	s.Extras = append(s.Extras, Extra{name, strconv.FormatInt(n, 10)})
	return nil
}

func (s *Sampling) extraNumber(name string, v value, minimum, maximum float64) *Error {
	var n Number
	if err := v.number(name, minimum, maximum, &n); err != nil {
		return err
	}
	s.Extras = append(s.Extras, Extra{name, string(n)})
	return nil
}

package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// readRest reads the members that control how the answer is made. Some have a meaning only for OpenAI's own servers.
// They are checked, so that mistakes are reported.
func (r *ResponsesRequest) readRest(name string, v value) *Error {
	switch name {
	case "truncation":
		word := ""
		if err := v.word(name, &word, "auto", "disabled"); err != nil || word == "" {
			return err
		}
		r.Truncate, r.Echo.Truncation = word == "auto", `"`+word+`"`
		return nil
	case "top_logprobs":
		n := int64(0)
		if err := v.within(name, 0, MaxTopLogprobs, &n); err != nil {
			return err
		}
		r.TopLogprobs = int(n)
		return nil
	case "service_tier":
		return v.oneOf(name, "auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
	case "stream_options":
		return v.readObfuscation(name)
	case "moderation":
		return v.refuseGiven(name, "Unsupported parameter: 'moderation' is not supported; leave it out.")
	case "prompt_cache_retention":
		return v.readCacheRetention(name)
	case "prompt_cache_options":
		return v.readCacheOptions(name)
	case "access_programs":
		return v.refuseProgram(name)
	case "background_options":
		return v.readBackgroundOptions(name)
	case "prewarm":
		on := false
		if err := v.boolean(name, &on); err != nil || !on {
			return err
		}
		return Unsupported(name, "Unsupported value: 'prewarm' cannot be true: no prompt is read without an answer here. "+
			"Leave it out.")
	case "context_management":
		return v.readContextManagement(name)
	case "n":
		return v.oneAnswer(name)
	case "enable_response_messages":
		on := false
		if err := v.boolean(name, &on); err != nil || !on {
			return err
		}
		r.MessagesAt = name
		return nil
	default:
		if known, err := r.guided.read(name, v); known {
			return err
		}
		if instead := misplacedInResponses(name); instead != "" {
			return v.refuseMisplaced(name, "The Responses API", instead)
		}
		return r.Sampling.read(name, v)
	}
}

// refuseProgram refuses the programs in which OpenAI lets a client take part, unless there is none.
func (v value) refuseProgram(param string) *Error {
	if !v.given() {
		return nil
	}
	return v.members(param, func(key []byte, v value) *Error {
		if !v.given() || v.kind == rawjson.Bool && !v.isTrue() {
			return nil
		}
		at := join(param, string(key))
		return Unsupported(at, "Unsupported parameter: '"+clip(at)+"' is about programs of OpenAI's. Leave it out.")
	})
}

// readBackgroundOptions checks how long a response in the background may take. It is made at once, which is soon enough
// for each of them.
func (v value) readBackgroundOptions(param string) *Error {
	if !v.given() {
		return nil
	}
	return v.members(param, func(key []byte, v value) *Error {
		switch at := join(param, string(key)); string(key) {
		case "completion_window":
			return v.oneOf(at, "soonest", "2h", "8h")
		case "continuation_id":
			return v.refuseGiven(at, "Unsupported parameter: '"+at+"' names nothing here. Leave it out.")
		}
		return nil
	})
}

// readObfuscation checks the stream options. Events are never padded, whatever the client asks for: clients ask for it
// because OpenAI pads by default.
func (v value) readObfuscation(param string) *Error {
	if !v.given() {
		return nil
	}
	return v.members(param, func(key []byte, v value) *Error {
		on := false
		if rawjson.View(key) == "include_obfuscation" {
			return v.boolean(join(param, "include_obfuscation"), &on)
		}
		return nil
	})
}

// minCompactThreshold is the limit of OpenAI's API, in tokens.
const minCompactThreshold = 1000

// readContextManagement checks when the client wants its conversation to be compacted. It has no effect without a
// responses service: a conversation that is too long is refused or truncated.
func (v value) readContextManagement(param string) *Error {
	if !v.given() {
		return nil
	}
	entries := 0
	err := v.elements(param, func(_ int, at string, v value) *Error {
		entries++
		kind, threshold := "", int64(0)
		err := v.members(at, func(key []byte, v value) *Error {
			switch rawjson.View(key) {
			case "type":
				return v.text(join(at, "type"), &kind)
			case "compact_threshold":
				return v.integer(join(at, "compact_threshold"), minCompactThreshold, &threshold)
			}
			return nil
		})
		if err == nil && kind == "" {
			err = missing(join(at, "type"))
		}
		return err
	})
	if err == nil && entries == 0 {
		err = Invalid(param, "Invalid '"+param+"': empty array. Expected an array with minimum length 1.")
	}
	return err
}

package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// readRest reads the members on which neither the prompt nor the answer's tokens depend. It checks them, so that
// mistakes are reported, and refuses those that ask for something unsupported.
func (r *ChatRequest) readRest(name string, v value) *Error {
	switch name {
	case "modalities":
		return v.readModalities(name)
	case "audio", "web_search_options", "moderation":
		return v.refuseGiven(name, "Unsupported parameter: '"+name+"' is not supported; leave it out.")
	case "functions":
		return v.refuseGiven(name, "Unsupported parameter: 'functions' is deprecated; use 'tools' instead.")
	case "function_call":
		return v.refuseGiven(name, "Unsupported parameter: 'function_call' is deprecated; use 'tool_choice' instead.")
	case "service_tier":
		tier := ""
		err := v.word(name, &tier, "auto", "default", "flex", "scale", "priority", "fast")
		r.TierRequested = tier != ""
		return err
	case "verbosity":
		return v.oneOf(name, "low", "medium", "high")
	case "prompt_cache_retention":
		return v.readCacheRetention(name)
	case "prompt_cache_options":
		return v.readCacheOptions(name)
	case cacheKeyName:
		return v.label(name, maxLabel)
	case "safety_identifier":
		return v.label(name, maxSafetyIdentifier)
	case "store":
		on := false
		return v.boolean(name, &on)
	case "metadata":
		return v.checkMetadata(name)
	case "prediction":
		return v.readPrediction(name)
	case "include_reasoning":
		included := true
		err := v.boolean(name, &included)
		r.HideReasoning = !included
		return err
	case "add_generation_prompt":
		if r.tokenized {
			return nil
		}
		return v.refuseServers(name)
	default:
		if known, err := r.guided.read(name, v); known {
			return err
		}
		if instead := misplacedInChat(name); instead != "" {
			return v.refuseMisplaced(name, "Chat Completions", instead)
		}
		return r.Sampling.read(name, v)
	}
}

// readReasoning reads the object that Responses and other gateways have for reasoning. It must be called after
// reasoning_effort was read.
func (r *ChatRequest) readReasoning(param string, v value) *Error {
	if !v.given() {
		return nil
	}
	effort, enabled, excluded := "", true, false
	err := v.members(param, func(key []byte, v value) *Error {
		switch at := join(param, string(key)); string(key) {
		case "effort":
			return v.effort(at, &effort)
		case "enabled":
			return v.boolean(at, &enabled)
		case "exclude":
			return v.boolean(at, &excluded)
		case "max_tokens":
			return v.thinkingBudget(at, &r.Sampling.ThinkingBudget)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.ReasoningOff, r.HideReasoning = !enabled, r.HideReasoning || excluded
	switch at := join(param, "effort"); {
	case effort == "" || effort == r.Effort:
	case r.Effort != "":
		return exclusive(at, "reasoning_effort", at)
	default:
		r.Effort, r.EffortInObject = effort, true
	}
	return nil
}

// readCacheRetention and readCacheOptions check the client's wishes for a prompt cache. They have no effect on the
// servers' caches.
func (v value) readCacheRetention(param string) *Error {
	return v.oneOf(param, "in_memory", "24h")
}

func (v value) readCacheOptions(param string) *Error {
	if !v.given() {
		return nil
	}
	return v.members(param, func(key []byte, v value) *Error {
		switch at := join(param, string(key)); string(key) {
		case "mode":
			return v.oneOf(at, "implicit", "explicit")
		case "ttl":
			return v.oneOf(at, "30m", "12h")
		case "comparison_response_id":
			return v.label(at, maxLabel)
		}
		return nil
	})
}

// readBreakpoint checks where the client wants a prompt cache to end. It has no effect on the servers' caches.
func (v value) readBreakpoint(param string) *Error {
	if !v.given() {
		return nil
	}
	mode := ""
	err := v.members(param, func(key []byte, v value) *Error {
		if rawjson.View(key) == "mode" {
			return v.word(join(param, "mode"), &mode, "explicit")
		}
		return nil
	})
	if err == nil && mode == "" {
		return missing(join(param, "mode"))
	}
	return err
}

// maxSafetyIdentifier is the limit of OpenAI's API.
const maxSafetyIdentifier = 64

func (v value) refuseGiven(param, message string) *Error {
	if !v.given() {
		return nil
	}
	return Unsupported(param, message)
}

func (v value) readStreamOptions(param string, includeUsage *bool) *Error {
	if !v.given() {
		return nil
	}
	return v.members(param, func(key []byte, v value) *Error {
		switch at := join(param, string(key)); string(key) {
		case "include_usage":
			return v.boolean(at, includeUsage)
		case "include_obfuscation":
			on := false
			if err := v.boolean(at, &on); err != nil || !on {
				return err
			}
			return Unsupported(at, "Unsupported value: '"+at+"' cannot be true; chunks are not padded.")
		}
		return nil
	})
}

func (v value) readModalities(param string) *Error {
	if !v.given() {
		return nil
	}
	return v.elements(param, func(_ int, at string, v value) *Error {
		kind := ""
		if !v.given() {
			return wrongType(at, "a string", v)
		}
		if err := v.word(at, &kind, "text", "audio"); err != nil || kind == "text" {
			return err
		}
		return Unsupported(param, "Unsupported value: '"+param+"' can only be 'text'.")
	})
}

// readPrediction checks a prediction of the answer. It has no effect: no supported server can use one.
func (v value) readPrediction(param string) *Error {
	if !v.given() {
		return nil
	}
	kind := ""
	var content value
	err := v.members(param, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "type":
			return v.word(join(param, "type"), &kind, "content")
		case "content":
			content = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch {
	case kind == "":
		return missing(join(param, "type"))
	case !content.given():
		return missing(join(param, "content"))
	case content.kind == rawjson.String:
		return nil
	}
	return content.checkTexts(join(param, "content"))
}

// checkTexts checks text parts whose text is not used.
func (v value) checkTexts(param string) *Error {
	if v.kind != rawjson.Array {
		return wrongType(param, "one of a string or an array of objects", v)
	}
	return v.elements(param, func(_ int, at string, v value) *Error {
		kind := ""
		var text value
		err := v.members(at, func(key []byte, v value) *Error {
			switch rawjson.View(key) {
			case "type":
				return v.word(join(at, "type"), &kind, "text")
			case "text":
				text = v
			case "prompt_cache_breakpoint":
				return v.readBreakpoint(join(at, "prompt_cache_breakpoint"))
			}
			return nil
		})
		switch {
		case err != nil:
			return err
		case kind == "":
			return missing(join(at, "type"))
		case !text.given():
			return missing(join(at, "text"))
		case text.kind != rawjson.String:
			return wrongType(join(at, "text"), "a string", text)
		default:
			return nil
		}
	})
}

package structure

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// form describes how a family of models writes calls and reasoning into its text.
type form struct {
	// think and thinkEnd are the marks around reasoning.
	think, thinkEnd []string
	// opens are the marks that begin a call.
	opens []open
	// sections are the marks around all calls. They are no text.
	sections []string
	// closings are marks that are no text wherever they stand: the ends of calls, and of turns.
	closings []string
	// ends are the marks that end a call. Any of opens ends one too.
	ends []string
	// named reports whether the text between <tool_call> and its end may be a bare name.
	named bool
	// bare reports whether an answer that begins with a JSON object may be a call.
	bare bool
	// tail are the bytes besides space that may follow the arguments of a call, and are no text.
	tail string
	// tags are the marks of a call whose arguments are tagged.
	tags tags
}

// open is a mark that begins a call, and how the call goes on.
type open struct {
	mark string
	body body
	// quotable reports whether a mark may be text in reasoning: it is no token of its own, and models think about it.
	quotable bool
}

// body is what follows the mark that begins a call.
type body uint8

const (
	// wrapped is an object, a <function=NAME> or a bare name: what stands between <tool_call> and </tool_call>.
	wrapped body = iota
	// objects are objects with a name and arguments, with separators between.
	objects
	// function is a name and tagged arguments.
	function
	// The others are a name with a mark after it, and arguments in JSON.
	kimiHeader
	deepSeekHeader
	mistralHeader
)

// tags are the marks of tagged arguments.
type tags struct {
	// key begins the name of an argument, and keyEnd ends it.
	key, keyEnd string
	// value begins the value of an argument. Empty means that the value follows keyEnd.
	value string
	// valueEnd ends the value, and end the call.
	valueEnd, end string
	// lines reports whether a line end at the beginning of a value, and one at its end, are no part of it.
	lines bool
	// attributes reports whether a key is a list of attributes, as in name="a" string="true".
	attributes bool
}

const (
	toolCall        = "<tool_call>"
	toolCallEnd     = "</tool_call>"
	toolResponse    = "<tool_response>"
	toolResponseEnd = "</tool_response>"
	functionMark    = "<function="
	functionEnd     = "</function>"
	parameterMark   = "<parameter="
	argKey          = "<arg_key>"
	dsml            = "｜DSML｜"
	kimiCall        = "<|tool_call_begin|>"
	kimiArguments   = "<|tool_call_argument_begin|>"
	kimiCallEnd     = "<|tool_call_end|>"
	kimiEnd         = "<|tool_calls_section_end|>"
	deepSeekSep     = "<｜tool▁sep｜>"
	deepSeekEnd     = "<｜tool▁call▁end｜>"
	deepSeekEndAll  = "<｜tool▁calls▁end｜>"
	mistralCalls    = "[TOOL_CALLS]"
	mistralArgs     = "[ARGS]"
	mistralID       = "[CALL_ID]"
	pythonTag       = "<|python_tag|>"
	fence           = "```"
)

// parameters are the tags of <parameter=NAME>.
var parameters = tags{
	key: parameterMark, keyEnd: ">", valueEnd: "</parameter>", end: functionEnd, lines: true,
}

var turnEnds = []string{"<|im_end|>", "<|endoftext|>"}

var (
	hermes = &form{
		opens: []open{{mark: toolCall, body: wrapped}}, ends: []string{toolCallEnd}, closings: turnEnds, tail: "}],;",
		tags: parameters,
	}
	qwen = &form{
		opens:    []open{{mark: toolCall, body: wrapped}, {mark: functionMark, body: function, quotable: true}},
		ends:     []string{toolCallEnd},
		closings: turnEnds, tail: "}],;", tags: parameters,
	}
	glm = &form{
		opens: []open{{mark: toolCall, body: wrapped}}, ends: []string{toolCallEnd}, named: true, tail: "}],;",
		closings: []string{"<|user|>", "<|observation|>", "<|endoftext|>"},
		tags:     tags{key: argKey, keyEnd: "</arg_key>", value: "<arg_value>", valueEnd: "</arg_value>"},
	}
	kimi = &form{
		opens:    []open{{mark: kimiCall, body: kimiHeader}},
		sections: []string{"<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"},
		ends:     []string{kimiCallEnd, kimiEnd, "<|tool_call_section_end|>"}, closings: []string{"<|im_end|>"}, tail: "}",
	}
	deepSeek = &form{
		opens: []open{{mark: "<｜tool▁call▁begin｜>", body: deepSeekHeader}}, sections: []string{"<｜tool▁calls▁begin｜>"},
		ends: []string{deepSeekEnd, deepSeekEndAll}, closings: []string{"<｜end▁of▁sentence｜>"}, tail: "}`",
	}
	deepSeekDSML = &form{
		opens:    []open{{mark: "<" + dsml + `invoke name="`, body: function}},
		sections: []string{"<" + dsml + "function_calls>", "<" + dsml + "tool_calls>"},
		ends:     []string{"</" + dsml + "invoke>", "</" + dsml + "function_calls>", "</" + dsml + "tool_calls>"},
		closings: []string{"<｜end▁of▁sentence｜>"},
		tags: tags{
			key: "<" + dsml + "parameter", keyEnd: ">", valueEnd: "</" + dsml + "parameter>", attributes: true,
		},
	}
	mistral = &form{
		think: []string{"[THINK]", "<think>"}, thinkEnd: []string{"[/THINK]", "</think>"},
		opens: []open{{mark: mistralCalls, body: mistralHeader}}, closings: []string{"</s>"}, tail: "}],;",
	}
	llama = &form{
		opens: []open{{mark: pythonTag, body: objects}}, closings: []string{"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"},
		bare: true, tail: "}],;",
	}
)

// formOf returns the form that a value of [contract.ModelSettings.Speaks] names, or nil.
func formOf(name string) *form {
	switch name {
	case contract.SpeaksHermes:
		return hermes
	case contract.SpeaksQwen3Coder:
		return qwen
	case contract.SpeaksGLM45:
		return glm
	case contract.SpeaksKimiK2:
		return kimi
	case contract.SpeaksDeepSeekV3:
		return deepSeek
	case contract.SpeaksDeepSeekV32:
		return deepSeekDSML
	case contract.SpeaksMistral:
		return mistral
	case contract.SpeaksLlama3JSON:
		return llama
	}
	return nil
}

// Tokens returns the marks that the models of a form have as tokens of their own: those of calls and of their results,
// and those of turns. name is a value of [contract.ModelSettings.Speaks].
func Tokens(name string) (calls, turns []string) {
	f := formOf(name)
	if f == nil {
		return nil, nil
	}
	for i := range f.opens {
		if f.opens[i].body != function {
			calls = append(calls, f.opens[i].mark)
		}
	}
	calls, turns = append(append(calls, f.sections...), f.ends...), f.closings
	switch f {
	case glm:
		calls = append(calls, f.tags.key, f.tags.keyEnd, f.tags.value, f.tags.valueEnd, toolResponse, toolResponseEnd)
	case hermes, qwen:
		calls = append(calls, toolResponse, toolResponseEnd)
	case deepSeekDSML:
		calls = append(calls, dsml)
	case mistral:
		calls, turns = append(calls, mistralArgs, mistralID), []string{"<s>", "</s>"}
	}
	return calls, turns
}

// NewCalls returns what makes an [Adapter] for a model that writes calls in a form of its own, or nil if no form has
// this name.
func NewCalls(name string) New {
	f := formOf(name)
	if f == nil {
		return nil
	}
	return func(sink harmony.Sink, o Options) Adapter { return newCalled(f, sink, o) }
}

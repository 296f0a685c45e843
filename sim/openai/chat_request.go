package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/sim/gptoss"
	"github.com/harmonyedge/harmonyedge/sim/server"
)

// chatRequest is a request of [sim.Chat]. Its members are a completion's, and some others. Where both have a
// member, the outer one counts.
type chatRequest struct {
	server.Completion
	Messages            []json.RawMessage          `json:"messages"`
	Logprobs            *bool                      `json:"logprobs"`
	TopLogprobs         *int                       `json:"top_logprobs"`
	MaxCompletionTokens *int                       `json:"max_completion_tokens"`
	Tools               []chatTool                 `json:"tools"`
	ToolChoice          json.RawMessage            `json:"tool_choice"`
	ParallelToolCalls   *bool                      `json:"parallel_tool_calls"`
	ResponseFormat      *chatFormat                `json:"response_format"`
	ReasoningEffort     *string                    `json:"reasoning_effort"`
	IncludeReasoning    *bool                      `json:"include_reasoning"`
	TemplateKwargs      map[string]json.RawMessage `json:"chat_template_kwargs"`
	GenerationPrompt    *bool                      `json:"add_generation_prompt"`
	ContinueFinal       bool                       `json:"continue_final_message"`
	User                *string                    `json:"user"`
}

// chatFunction is a function that a request declares.
type chatFunction struct {
	Name        *string         `json:"name"`
	Description *string         `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

type chatTool struct {
	Type     *string       `json:"type"`
	Function *chatFunction `json:"function"`
}

// chatFormat is a response_format.
type chatFormat struct {
	Type       string `json:"type"`
	JSONSchema *struct {
		Name        *string         `json:"name"`
		Description *string         `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		Strict      *bool           `json:"strict"`
	} `json:"json_schema"`
}

// chatOptions are the parts of a request that only [sim.Chat] knows.
type chatOptions struct {
	tools []gptoss.Tool
	// choice is "auto", "none", "required" or, for a function that must be called, "function NAME".
	choice string
	format *chatFormat
	schema answerSchema
	// hidesReasoning is include_reasoning: false, and oneCall is parallel_tool_calls: false.
	hidesReasoning, oneCall bool
	// answer is the result of the method chatAnswer.
	answer *chatAnswer
}

// chatOf returns what only [sim.Chat] knows of the job's request.
func chatOf(j *server.Job) *chatOptions { return j.Asked.Own.(*chatOptions) }

// efforts are the values of reasoning_effort.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

func (chat) Decode(s *server.Server, h http.Header, body []byte) (*server.Completion, *server.Refusal) {
	if r := server.CheckContentType(h); r != nil {
		return nil, r
	}
	q := &chatRequest{}
	fields, refused := server.DecodeObject(body, q)
	if refused != nil {
		return nil, refused
	}
	if s.Options.OpenAIOnly {
		if r := checkMembers("", fields, chatMembers); r != nil {
			return nil, r
		}
	}
	if r := q.check(fields); r != nil {
		return nil, r
	}
	messages, refused := readMessages(s, q.Messages)
	if refused != nil {
		return nil, refused
	}
	if r := q.readTools(s); r != nil {
		return nil, r
	}
	c := &q.Completion
	if c.Model != nil && *c.Model != "" && !s.Serves(*c.Model) {
		return nil, server.NotFound("model", "The model `"+*c.Model+"` does not exist.")
	}
	if c.IDs, refused = render(s, messages, q); refused != nil {
		return nil, refused
	}
	if r := chatLength(s, q); r != nil {
		return nil, r
	}
	if server.IsTrue(q.Logprobs) {
		top := 0
		if q.TopLogprobs != nil {
			top = *q.TopLogprobs
		}
		c.Logprobs = &top
	}
	if s.Options.ChatWhole {
		c.Stream = nil
	}
	if s.Options.ChatForm == ChatHarmony {
		shown := false
		c.SkipSpecial = &shown
	} else {
		c.CallsGoOn = !s.Options.OneCall
	}
	return c, s.CheckEngine(c)
}

// check makes the checks of vLLM's request model that need nothing else.
func (q *chatRequest) check(fields map[string]json.RawMessage) *server.Refusal {
	given := func(name string) bool { v := fields[name]; return v != nil && string(v) != "null" }
	value := func(param, msg string) *server.Refusal { return server.InvalidValue(param, msg, len(fields)) }
	switch {
	case !given("messages"):
		return server.Invalid("body.messages", server.Pydantic("missing", "body.messages", "Field required"))
	case len(q.Messages) == 0:
		return server.Invalid("body.messages", server.Pydantic("too_short", "body.messages",
			"List should have at least 1 item after validation, not 0"))
	case given("stream_options") && !q.Streams():
		return value("stream_options", "Stream options can only be defined when `stream=True`.")
	case q.PromptLogprobs != nil && q.Streams() && *q.PromptLogprobs != 0:
		return value("prompt_logprobs", "`prompt_logprobs` are not available when `stream=True`.")
	case q.TopLogprobs != nil && *q.TopLogprobs < -1:
		return value("top_logprobs", "`top_logprobs` must be a positive value or -1.")
	case q.TopLogprobs != nil && *q.TopLogprobs != 0 && !server.IsTrue(q.Logprobs):
		return value("top_logprobs", "when using `top_logprobs`, `logprobs` must be set to true.")
	case q.ReasoningEffort != nil && !slices.Contains(efforts, *q.ReasoningEffort):
		return server.Invalid("body.reasoning_effort", server.Pydantic("literal_error", "body.reasoning_effort",
			"Input should be 'none', 'minimal', 'low', 'medium', 'high', 'xhigh' or 'max'"))
	case q.ContinueFinal && server.IsTrue(q.GenerationPrompt):
		return value("", "Cannot set both `continue_final_message` and `add_generation_prompt` to True.")
	case q.CacheSalt != nil && !isChatSalt(*q.CacheSalt):
		return value("cache_salt", "Parameter 'cache_salt' must be at most 128 characters and must not contain '@', '/', "+
			"'\\\\', or NUL.")
	}
	return q.checkFormat(fields)
}

func isChatSalt(salt string) bool {
	return salt != "" && len(salt) <= 128 && !strings.ContainsAny(salt, "@/\\\x00")
}

func (q *chatRequest) checkFormat(fields map[string]json.RawMessage) *server.Refusal {
	f := q.ResponseFormat
	switch {
	case f == nil:
		return nil
	case f.Type == "json_schema" && f.JSONSchema == nil:
		return server.InvalidValue("response_format",
			"When response_format type is 'json_schema', the 'json_schema' field must be provided.", len(fields))
	case f.Type == "json_schema" && f.JSONSchema.Name == nil:
		at := "body.response_format.ResponseFormat.json_schema.name"
		return server.Invalid(at, server.Pydantic("missing", at, "Field required"))
	case f.Type != "text" && f.Type != "json_object" && f.Type != "json_schema":
		at := "body.response_format.ResponseFormat.type"
		return server.Invalid(at, server.Pydantic("literal_error", at,
			"Input should be 'text', 'json_object' or 'json_schema'"))
	}
	return nil
}

// readTools checks the tools and what must be called.
func (q *chatRequest) readTools(s *server.Server) *server.Refusal {
	o := &chatOptions{choice: "none", format: q.ResponseFormat, hidesReasoning: q.IncludeReasoning != nil &&
		!*q.IncludeReasoning, oneCall: q.ParallelToolCalls != nil && !*q.ParallelToolCalls}
	q.Own, q.Holds.Form = o, o
	if q.Tools != nil && len(q.Tools) == 0 {
		return server.InvalidValue("tools",
			"`tools` must not be an empty array. Either provide at least one tool or omit the "+
				"field entirely.", 0)
	}
	for i := range q.Tools {
		t, r := readTool(s, "body.tools."+strconv.Itoa(i), &q.Tools[i])
		if r != nil {
			return r
		}
		o.tools = append(o.tools, t)
	}
	if len(q.Tools) > 0 {
		o.choice = "auto"
	}
	if r := o.readChoice(q); r != nil {
		return r
	}
	if r := o.compile(q.Structured); r != nil {
		return r
	}
	q.Declared = o.callable()
	if q.Structured != nil && q.Structured.Tag == nil {
		q.Structured = nil // it is not the engine's structural tag
	}
	return nil
}

func readTool(s *server.Server, at string, t *chatTool) (gptoss.Tool, *server.Refusal) {
	missing := func(at string) (gptoss.Tool, *server.Refusal) {
		return gptoss.Tool{}, server.Invalid(at, server.Pydantic("missing", at, "Field required"))
	}
	switch f := t.Function; {
	case t.Type != nil && *t.Type != "function":
		return gptoss.Tool{}, server.Invalid(at+".type", server.Pydantic("literal_error", at+".type",
			"Input should be 'function'"))
	case f == nil:
		return missing(at + ".function")
	case f.Name == nil:
		return missing(at + ".function.name")
	case len(f.Parameters) > 0 && f.Parameters[0] != '{' && string(f.Parameters) != "null":
		at += ".function.parameters"
		return gptoss.Tool{}, server.Invalid(at, server.Pydantic("dict_type", at, "Input should be a valid dictionary"))
	case s.Options.OpenAIOnly && !isFunctionName(*f.Name):
		return gptoss.Tool{}, server.Refuse(400, "invalid_request_error", strings.TrimPrefix(at, "body.")+".function.name",
			"Invalid '"+at+".function.name': string does not match pattern. Expected a string that matches the pattern "+
				"'^[a-zA-Z0-9_-]+$'.")
	default:
		declared := gptoss.Tool{Name: *f.Name}
		if f.Description != nil {
			declared.Description = *f.Description
		}
		if len(f.Parameters) > 0 && f.Parameters[0] == '{' {
			declared.Params, declared.Schema = gptoss.NamesOf(f.Parameters), f.Parameters
		}
		return declared, nil
	}
}

// isFunctionName reports whether OpenAI's API takes the name.
func isFunctionName(name string) bool {
	return name != "" && len(name) <= 64 && strings.IndexFunc(name, func(r rune) bool {
		return r != '-' && (r > 127 || !gptoss.IsWordByte(byte(r)))
	}) < 0
}

// readChoice reads tool_choice.
func (o *chatOptions) readChoice(q *chatRequest) *server.Refusal {
	raw := string(q.ToolChoice)
	if raw == "" || raw == "null" || raw == `"none"` {
		if raw == `"none"` {
			o.choice = "none"
		}
		return nil
	}
	var word string
	var named struct {
		Type     string `json:"type"`
		Function *struct {
			Name *string `json:"name"`
		} `json:"function"`
	}
	isWord := json.Unmarshal(q.ToolChoice, &word) == nil
	switch {
	case len(q.Tools) == 0:
		return server.InvalidValue("tool_choice", "When using `tool_choice`, `tools` must be set.", 0)
	case isWord && (word == "auto" || word == "required"):
		o.choice = word
		return nil
	case isWord:
		return server.InvalidValue("tool_choice", "Invalid value for `tool_choice`: "+word+"! Only named tools, \"none\", "+
			"\"auto\" or \"required\" are supported.", 0)
	case json.Unmarshal(q.ToolChoice, &named) != nil || named.Function == nil || named.Function.Name == nil:
		return server.InvalidValue("tool_choice.function", "Invalid value for `function` in `tool_choice`! Correct usage: "+
			"`{\"type\": \"function\", \"function\": {\"name\": \"my_function\"}}`", 0)
	}
	for _, t := range o.tools {
		if t.Name == *named.Function.Name {
			o.choice = "function " + t.Name
			return nil
		}
	}
	return server.InvalidValue("tool_choice",
		"The tool specified in `tool_choice` does not match any of the specified `tools`", 0)
}

// chatLength checks that the conversation fits the context. An answer has the rest of it at most, and by default. The
// words are vLLM's for gpt-oss. For other models it says what it says at /v1/completions.
func chatLength(s *server.Server, q *chatRequest) *server.Refusal {
	if maximum := s.Options.MaxModelLen; len(q.IDs) > maximum {
		return server.BadRequest("", fmt.Sprintf("Input length (%d) exceeds model's maximum context length (%d).",
			len(q.IDs), maximum))
	}
	asked, room := q.MaxTokens, s.Options.MaxModelLen-len(q.IDs)
	if q.MaxCompletionTokens != nil {
		asked = q.MaxCompletionTokens
	}
	if asked != nil {
		room = min(*asked, room)
	}
	if room < 1 {
		return server.BadRequest("max_tokens",
			fmt.Sprintf("max_tokens must be at least 1, got %d. (parameter=max_tokens, value=%d)",
				room, room))
	}
	q.MaxTokens = &room
	return nil
}

// The members of OpenAI's API, by openai-openapi.json: of a request, of a message of each role, and of what is in them.
var (
	chatMembers = strings.Fields(`audio frequency_penalty function_call functions logit_bias logprobs
		max_completion_tokens max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction
		presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format
		safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs
		top_p user verbosity web_search_options`)
	messageMembers = map[string][]string{
		"system": {"role", "content", "name"}, "developer": {"role", "content", "name"}, "user": {"role", "content", "name"},
		"assistant": {"role", "content", "name", "refusal", "audio", "tool_calls", "function_call"},
		"tool":      {"role", "content", "tool_call_id"},
	}
)

// checkMembers refuses members of an object that OpenAI's API does not know.
func checkMembers(at string, fields map[string]json.RawMessage, known []string) *server.Refusal {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, name) {
			return server.Refuse(http.StatusBadRequest, "invalid_request_error", at+name,
				"Unrecognized request argument supplied: "+at+name)
		}
	}
	return nil
}

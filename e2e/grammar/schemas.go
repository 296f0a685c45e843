//go:build e2e

package grammar

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// schemaFile has OpenAI's own schemas, as tools/openaischema takes them out of the description of the API.
const schemaFile = "e2e/grammar/testdata/openai.schema.json"

// extraMembers are members of answers that OpenAI's schemas do not know, with their types: what clients of gpt-oss read
// in Chat, and what the Open Responses specification wants a response to repeat. Everything else that the schemas do
// not name is a mistake, though JSON Schema would let it pass.
var extraMembers = map[string]map[string]any{
	"ChatCompletionResponseMessage":     {"reasoning": textOrNull, "reasoning_content": textOrNull},
	"ChatCompletionStreamResponseDelta": {"reasoning": textOrNull, "reasoning_content": textOrNull},
	"CustomToolCall":                    {"status": "string"}, // as every other item has
	"Response": {"presence_penalty": "number", "frequency_penalty": "number", "store": "boolean",
		"input_messages": arrayOrNull, "output_messages": arrayOrNull},
}

var (
	textOrNull  = []any{"string", "null"}
	arrayOrNull = []any{"array", "null"} // what include has asked for
)

// nullMembers are members of a response that the schemas want left out rather than null. OpenAI's own servers write
// null, and the Open Responses specification wants usage to be there.
var nullMembers = []string{"usage", "user"}

// storedSchemas are the schemas of stored responses and conversations.
var storedSchemas = []string{"Response", "ResponseItemList", "ConversationResource", "DeletedConversationResource",
	"ConversationItemList", "ConversationItem", "CompactResource"}

// Schemas are OpenAI's schemas of answers, closed: a member that they do not name fails.
type Schemas struct {
	chat, chatChunk, responses, failure *jsonschema.Schema
	// stored are the schemas of stored responses and conversations, by their names.
	stored map[string]*jsonschema.Schema
	// responsesEvents are the Responses API's, by their type.
	responsesEvents map[string]*jsonschema.Schema
}

// LoadSchemas reads and compiles OpenAI's schemas of answers.
func LoadSchemas(t *testing.T) *Schemas {
	t.Helper()
	return load(t, false)
}

// LoadTracedSchemas is LoadSchemas for a model whose answers have the ids of their tokens, which are an extension.
func LoadTracedSchemas(t *testing.T) *Schemas {
	t.Helper()
	return load(t, true)
}

func load(t *testing.T, traced bool) *Schemas {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	document := ReadSchemas(t)
	flatten(document)
	closeAnswers(document)
	allowNull(document)
	allowCustomCalls(document)
	allowBuiltIns(document)
	allowToolTokens(document)
	allowRepetitions(document)
	allowApprovals(document)
	allowNestedError(document)
	if traced {
		allowTokenIDs(document)
	}
	if err := compiler.AddResource("openai.json", document); err != nil {
		t.Fatal(err)
	}
	compile := func(name string) *jsonschema.Schema {
		s, err := compiler.Compile("openai.json#/$defs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := &Schemas{
		chat: compile("CreateChatCompletionResponse"), chatChunk: compile("CreateChatCompletionStreamResponse"),
		responses: compile("Response"), failure: compile("ErrorResponse"), responsesEvents: map[string]*jsonschema.Schema{},
	}
	s.stored = map[string]*jsonschema.Schema{}
	for _, name := range storedSchemas {
		s.stored[name] = compile(name)
	}
	definitions := document["$defs"].(map[string]any)
	for _, each := range definitions["ResponseStreamEvent"].(map[string]any)["anyOf"].([]any) {
		name := DefinitionName(each)
		kind := definitions[name].(map[string]any)["properties"].(map[string]any)["type"].(map[string]any)["enum"].([]any)[0].(string)
		s.responsesEvents[kind] = compile(name)
	}
	return s
}

// CheckStored checks an answer about stored responses and conversations against the schema of a name.
func (s *Schemas) CheckStored(name, body string) error { return s.one(s.stored[name], body) }

// DefinitionName is what a schema that is only a reference refers to.
func DefinitionName(schema any) string {
	return strings.TrimPrefix(schema.(map[string]any)["$ref"].(string), "#/$defs/")
}

// ReadSchemas reads OpenAI's schemas as JSON.
func ReadSchemas(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(lab.File(schemaFile))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return document.(map[string]any)
}

// flatten makes an object of its own of every schema that is put together from others, so that it can be closed.
func flatten(document map[string]any) {
	definitions := document["$defs"].(map[string]any)
	for _, definition := range definitions {
		whole := definition.(map[string]any)
		parts, _ := whole["allOf"].([]any)
		if parts == nil {
			continue
		}
		properties, required := map[string]any{}, []any{}
		for _, part := range parts {
			if part.(map[string]any)["$ref"] != nil {
				part = definitions[DefinitionName(part)]
			}
			more, _ := part.(map[string]any)["properties"].(map[string]any)
			for member, schema := range more {
				if other := properties[member]; other != nil {
					schema = map[string]any{"allOf": []any{other, schema}}
				}
				properties[member] = schema
			}
			names, _ := part.(map[string]any)["required"].([]any)
			required = append(required, names...)
		}
		slices.SortFunc(required, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		delete(whole, "allOf")
		whole["type"], whole["properties"], whole["required"] = "object", properties, slices.Compact(required)
	}
}

// closeAnswers forbids answers and errors members that have no name in the schemas.
func closeAnswers(document map[string]any) {
	definitions := document["$defs"].(map[string]any)
	closed := map[string]bool{}
	var shut func(schema any)
	shut = func(schema any) {
		switch s := schema.(type) {
		case []any:
			for _, each := range s {
				shut(each)
			}
		case map[string]any:
			if s["$ref"] != nil {
				name := DefinitionName(s)
				if !closed[name] {
					closed[name] = true
					shut(definitions[name])
				}
			}
			for _, key := range slices.Sorted(maps.Keys(s)) {
				if key != "enum" && key != "const" {
					shut(s[key])
				}
			}
			// One that names no members has those of a client, such as the parameters of its search for tools.
			if members, _ := s["properties"].(map[string]any); len(members) > 0 && s["additionalProperties"] == nil {
				s["additionalProperties"] = false
			}
		}
	}
	for _, name := range []string{
		"CreateChatCompletionResponse", "CreateChatCompletionStreamResponse", "ResponseStreamEvent", "ErrorResponse",
	} {
		shut(definitions[name])
	}
	for _, name := range storedSchemas {
		shut(definitions[name])
	}
	for name, extra := range extraMembers {
		properties := definitions[name].(map[string]any)["properties"].(map[string]any)
		for member, kind := range extra {
			properties[member] = map[string]any{"type": kind}
		}
	}
}

// allowNull allows nullMembers of a response to be null.
func allowNull(document map[string]any) {
	properties := document["$defs"].(map[string]any)["Response"].(map[string]any)["properties"].(map[string]any)
	for _, member := range nullMembers {
		properties[member] = map[string]any{"anyOf": []any{properties[member], map[string]any{"type": "null"}}}
	}
}

// allowCustomCalls adds calls of custom tools to the pieces of calls in chunks, where the schemas have forgotten them.
func allowCustomCalls(document map[string]any) {
	piece := document["$defs"].(map[string]any)["ChatCompletionMessageToolCallChunk"].(map[string]any)["properties"].(map[string]any)
	text := map[string]any{"type": "string"}
	piece["type"] = map[string]any{"type": "string", "enum": []any{"function", "custom"}}
	piece["custom"] = map[string]any{
		"type": "object", "properties": map[string]any{"name": text, "input": text}, "additionalProperties": false,
	}
}

// allowBuiltIns adds the tool type builtin, which is the gateway's own, to the tools and tool choices that a response
// repeats.
func allowBuiltIns(document map[string]any) {
	builtIn := map[string]any{
		"type": "object", "required": []any{"type", "name"}, "additionalProperties": false,
		"properties": map[string]any{
			"type": map[string]any{"type": "string", "enum": []any{"builtin"}},
			"name": map[string]any{"type": "string", "enum": []any{"browser", "container", "python"}},
		},
	}
	for _, name := range []string{"Tool", "ToolChoiceParam"} {
		union := document["$defs"].(map[string]any)[name].(map[string]any)
		union["oneOf"] = append(union["oneOf"].([]any), builtIn)
	}
}

// toolOutputTokens is the member of a usage that counts the tokens of the results of hosted tools. It is an extension.
const toolOutputTokens = "tool_output_tokens"

// allowToolTokens adds [toolOutputTokens] to the details of a usage.
func allowToolTokens(document map[string]any) {
	usage := document["$defs"].(map[string]any)["ResponseUsage"].(map[string]any)["properties"].(map[string]any)
	details := usage["output_tokens_details"].(map[string]any)["properties"].(map[string]any)
	details[toolOutputTokens] = map[string]any{"type": "integer", "minimum": json.Number("0")}
}

// allowRepetitions adds vLLM's reason of an answer that ended since the model repeated itself.
func allowRepetitions(document map[string]any) {
	definitions := document["$defs"].(map[string]any)
	properties := func(of any) map[string]any { return of.(map[string]any)["properties"].(map[string]any) }
	details := properties(definitions["Response"])["incomplete_details"].(map[string]any)["anyOf"].([]any)[0]
	all := []map[string]any{properties(details)}
	for _, name := range []string{"CreateChatCompletionResponse", "CreateChatCompletionStreamResponse"} {
		all = append(all, properties(properties(definitions[name])["choices"].(map[string]any)["items"]))
	}
	for _, members := range all {
		members["stop_reason"] = map[string]any{"enum": []any{"repetition_detected"}}
	}
}

// tracedMembers are the ids of tokens and their logprobs.
var tracedMembers = [...]string{"prompt_token_ids", "generation_token_ids", "generation_log_probs"}

// tracedObjects are what can have the ids of tokens.
var tracedObjects = []string{
	"ChatCompletionResponseMessage", "ChatCompletionStreamResponseDelta", "OutputMessage", "ReasoningItem",
	"FunctionToolCall", "CustomToolCall", "LocalShellToolCall",
}

// allowTokenIDs adds the ids of tokens to what can have them: all members or none.
func allowTokenIDs(document map[string]any) {
	list := func(kind string) any {
		return map[string]any{"type": "array", "items": map[string]any{"type": kind}}
	}
	members := map[string]any{}
	for _, member := range tracedMembers {
		members[member] = list("integer")
	}
	members["generation_log_probs"] = list("number")
	for _, name := range tracedObjects {
		object := document["$defs"].(map[string]any)[name].(map[string]any)
		together := map[string]any{}
		for _, member := range tracedMembers {
			object["properties"].(map[string]any)[member] = members[member]
			together[member] = []any{tracedMembers[0], tracedMembers[1], tracedMembers[2]}
		}
		object["dependentRequired"] = together
	}
}

// allowApprovals corrects what the schemas require of approvals in lists of items: a member that they do not have.
func allowApprovals(document map[string]any) {
	approval := document["$defs"].(map[string]any)["MCPApprovalResponseResource"].(map[string]any)
	approval["required"] = slices.DeleteFunc(approval["required"].([]any), func(name any) bool { return name == "request_id" })
}

// allowNestedError adds to the event error the error as an object, which clients read that read no response.failed.
func allowNestedError(document map[string]any) {
	definitions := document["$defs"].(map[string]any)
	told, failure := definitions["ResponseErrorEvent"].(map[string]any), definitions["ErrorResponse"].(map[string]any)
	told["properties"].(map[string]any)["error"] = failure["properties"].(map[string]any)["error"]
	told["required"] = append(told["required"].([]any), "error")
}

// CheckStream checks a whole stream of Responses: the grammar, and each event against its schema.
func (s *Schemas) CheckStream(body string) error {
	if _, err := ReadResponses(body, false); err != nil {
		return err
	}
	_, err := s.events(body, false)
	return err
}

// Check compares what a client saw of an answer with the schemas and the grammars. It returns the number of objects
// that it has checked. The request went to api ("chat", "responses" or "messages"; empty is none of these); byChannels
// reports whether a stream of it has channel events.
func (s *Schemas) Check(api string, byChannels bool, view string) (int, error) {
	head, body, ok := strings.Cut(view, "\n\n")
	if !ok {
		return 0, nil // no answer at all
	}
	status, contentType, _ := strings.Cut(head, "\n")
	body, cut := strings.CutSuffix(body, "cut short\n")
	isChat, isStream := api == "chat", strings.Contains(contentType, "text/event-stream")
	switch {
	case api == "messages" && status >= "400":
		return 1, ReadMessagesError(body)
	case api == "messages":
		return checkMessages(body, isStream, cut)
	case status >= "400":
		return 1, s.one(s.failure, body)
	case api == "":
		return 0, nil
	case byChannels && isStream:
		events, err := ReadChannelEvents(body)
		return len(events), err
	case isStream:
		if !isChat {
			if _, err := ReadResponses(body, cut); err != nil {
				return 0, err
			}
		}
		return s.events(body, isChat)
	case cut:
		return 0, nil
	case isChat:
		return 1, s.one(s.chat, body)
	default:
		return 1, s.one(s.responses, body)
	}
}

// events checks a stream's whole events. Text after the last empty line was cut off.
func (s *Schemas) events(body string, chat bool) (n int, err error) {
	events := strings.Split(body, "\n\n")
	for _, event := range events[:len(events)-1] {
		name, data, ok := strings.Cut(event, "data: ")
		if !ok {
			return n, fmt.Errorf("no data in the event %q", event)
		}
		var kind struct{ Type string }
		_ = json.Unmarshal([]byte(data), &kind) // what is no JSON has no schema either
		schema := s.responsesEvents[kind.Type]
		switch {
		case chat && data == "[DONE]":
			continue
		case chat && name != "":
			return n, fmt.Errorf("an event of Chat has the name %q", name)
		case chat && strings.HasPrefix(data, `{"error"`):
			schema = s.failure
		case chat:
			schema = s.chatChunk
		case schema == nil, name != "event: "+kind.Type+"\n":
			return n, fmt.Errorf("no event of Responses: %s", event)
		}
		if err := s.one(schema, data); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (s *Schemas) one(schema *jsonschema.Schema, text string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

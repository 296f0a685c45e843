package openai

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

func peek(body []byte) (string, *Error) {
	b, err := Open(body)
	if err != nil {
		return "", err
	}
	return b.Model, nil
}

func decodeChat(body []byte) (*ChatRequest, *Error) {
	b, err := Open(body)
	if err != nil {
		return nil, err
	}
	return DecodeChatRequest(b)
}

func decodeResponses(body []byte) (*ResponsesRequest, *Error) {
	b, err := Open(body)
	if err != nil {
		return nil, err
	}
	return DecodeResponsesRequest(b)
}

func TestOpen(t *testing.T) {
	tests := []struct{ body, model, code, param string }{
		{` {"model":"m","messages":[]} `, "m", "", ""},
		{`{"mod\u0065l":"gpt\u002doss"}`, "gpt-oss", "", ""},
		{``, "", contract.CodeInvalidJSON, ""},
		{`{"model":"m"`, "", contract.CodeInvalidJSON, ""},
		{"{\"model\":\"\xff\"}", "", contract.CodeInvalidUTF8, "model"},
		{strings.Repeat("[", 200), "", contract.CodeMaxDepthExceeded, ""},
		{`["model"]`, "", contract.CodeInvalidType, ""},
		{`"model"`, "", contract.CodeInvalidType, ""},
		{`{}`, "", contract.CodeMissingParameter, "model"},
		{`{"model":null}`, "", contract.CodeInvalidType, "model"},
		{`{"model":1}`, "", contract.CodeInvalidType, "model"},
		{`{"model":""}`, "", contract.CodeInvalidValue, "model"},
		{`{"model":"a","model":"b"}`, "", contract.CodeDuplicateKey, "model"},
		{`{"model":"a","mod\u0065l":"b"}`, "", contract.CodeDuplicateKey, "model"},
		{`{"model":"a","stream":true,"stre\u0061m":false}`, "", contract.CodeDuplicateKey, "stream"},
		{`{"model":"a","messages":[],"messages":[]}`, "", contract.CodeDuplicateKey, "messages"},
		{`{"model":"a","input":"","input":""}`, "", contract.CodeDuplicateKey, "input"},
		{`{"model":"a","user":"x","user":"y","x":{"model":1,"model":2}}`, "a", "", ""},
	}
	for _, tt := range tests {
		model, err := peek([]byte(tt.body))
		checkError(t, tt.body, err, 400, tt.code, tt.param)
		if model != tt.model {
			t.Errorf("%q: model %q, want %q", tt.body, model, tt.model)
		}
	}
	_, err := Open([]byte(`{"model":x}`))
	if err == nil || !strings.Contains(err.Message, "at byte 9") {
		t.Errorf("the message must name the byte: %v", err)
	}
}

func checkError(t *testing.T, body string, err *Error, status int, code, param string) {
	t.Helper()
	switch {
	case code == "" && err != nil:
		t.Errorf("%.120q: %v", body, err)
	case code != "" && (err == nil || err.Status != status || err.Type != contract.InvalidRequestError ||
		err.Code != code || err.Param != param):
		t.Errorf("%.120q: got %+v, want %d %s at %q", body, err, status, code, param)
	}
}

func TestDecodeChatErrors(t *testing.T) {
	user := `{"role":"user","content":"hi"}`
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }
	tests := []struct{ members, code, param string }{
		{`"messages":[` + user + `]`, "", ""},
		{`"x":1`, contract.CodeMissingParameter, "messages"},
		{`"messages":null`, contract.CodeMissingParameter, "messages"},
		{`"messages":[]`, contract.CodeInvalidValue, "messages"},
		{`"messages":"hi"`, contract.CodeInvalidType, "messages"},
		{`"messages":["hi"]`, contract.CodeInvalidType, "messages[0]"},
		{`"messages":[{"content":"hi"}]`, contract.CodeMissingParameter, "messages[0].role"},
		{`"messages":[` + user + `,{"role":"wizard","content":"hi"}]`, contract.CodeUnknownRole, "messages[1].role"},
		{`"messages":[{"role":"function","name":"f","content":"hi"}]`, contract.CodeUnknownRole, "messages[0].role"},
		{`"messages":[{"role":7}]`, contract.CodeInvalidType, "messages[0].role"},
		{`"messages":[{"role":"user"}]`, contract.CodeMissingParameter, "messages[0].content"},
		{`"messages":[{"role":"user","content":null}]`, contract.CodeInvalidType, "messages[0].content"},
		{`"messages":[{"role":"user","content":{}}]`, contract.CodeInvalidType, "messages[0].content"},
		{`"messages":[{"role":"user","content":[{"text":"x"}]}]`, contract.CodeMissingParameter,
			"messages[0].content[0].type"},
		{`"messages":[{"role":"user","content":[{"type":"text"}]}]`, contract.CodeMissingParameter,
			"messages[0].content[0].text"},
		{`"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"u"}}]}]`,
			contract.CodeUnsupportedParameter, "messages[0].content[1]"},
		{`"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"","format":"wav"}}]}]`,
			contract.CodeUnsupportedParameter, "messages[0].content[0]"},
		{`"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]`, contract.CodeUnsupportedParameter,
			"messages[0].content[0]"},
		{`"messages":[{"role":"user","name":"a b","content":"hi"}]`, contract.CodeInvalidValue, "messages[0].name"},
		{`"messages":[{"role":"user","name":"` + strings.Repeat("a", 65) + `","content":"hi"}]`, contract.CodeInvalidValue,
			"messages[0].name"},
		{`"messages":[{"role":"user","name":"a<|end|>","content":"hi"}]`, contract.CodeInvalidValue, "messages[0].name"},
		{`"messages":[{"role":"system","name":7,"content":"hi"}]`, contract.CodeInvalidType, "messages[0].name"},
		{`"messages":[{"role":"system","name":"a b","content":"hi"}]`, "", ""},
		{`"messages":[{"role":"assistant","audio":{"id":"a"}}]`, contract.CodeUnsupportedParameter, "messages[0].audio"},
		{`"messages":[{"role":"assistant","audio":null,"reasoning_details":"x","content":""}]`, "", ""},
		{`"messages":[{"role":"user","content":[{"type":"refusal","refusal":"x"}]}]`, contract.CodeInvalidValue,
			"messages[0].content[0]"},
		{`"messages":[{"role":"tool","content":"x"}]`, contract.CodeMissingParameter, "messages[0].tool_call_id"},
		{`"messages":[{"role":"assistant"}]`, "", ""},
		{`"messages":[{"role":"assistant","content":null,"reasoning":{"x":1},"refusal":null,"tool_calls":null}]`, "", ""},
		{`"messages":[{"role":"assistant","function_call":{"name":"f"}}]`, contract.CodeUnsupportedParameter,
			"messages[0].function_call"},
		{`"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]`,
			contract.CodeMissingParameter, "messages[0].tool_calls[0].id"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"arguments":"{}"}}]}]`,
			contract.CodeMissingParameter, "messages[0].tool_calls[0].function.name"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f g","arguments":"{}"}}]}]`,
			contract.CodeInvalidValue, "messages[0].tool_calls[0].function.name"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":{}}}]}]`,
			contract.CodeInvalidType, "messages[0].tool_calls[0].function.arguments"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{}}]}]`,
			contract.CodeMissingParameter, "messages[0].tool_calls[0].custom.name"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"f"}}]}]`,
			contract.CodeMissingParameter, "messages[0].tool_calls[0].custom.input"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"custom"}]}]`, contract.CodeMissingParameter,
			"messages[0].tool_calls[0].custom"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"mcp"}]}]`, contract.CodeInvalidValue,
			"messages[0].tool_calls[0].type"},
		{`"tools":{}`, contract.CodeInvalidType, "tools"},
		{`"tools":[{"function":{"name":"f"}}]`, contract.CodeMissingParameter, "tools[0].type"},
		{`"tools":[{"type":"web_search"}]`, contract.CodeInvalidValue, "tools[0].type"},
		{`"tools":[{"type":"custom","custom":{"name":"f"}}]`, "", ""},
		{`"tools":[{"type":"custom"}]`, contract.CodeMissingParameter, "tools[0].custom"},
		{`"tools":[{"type":"custom","custom":{}}]`, contract.CodeMissingParameter, "tools[0].custom.name"},
		{`"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"text"}}}]`, "", ""},
		{`"tools":[{"type":"custom","custom":{"name":"f","format":{}}}]`, contract.CodeMissingParameter,
			"tools[0].custom.format.type"},
		{`"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"x"}}}]`, contract.CodeInvalidValue,
			"tools[0].custom.format.type"},
		{`"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"grammar","grammar":{"definition":"a",` +
			`"syntax":"lark"}}}}]`, "", ""},
		{`"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"grammar","definition":"a","syntax":"lark"}}}]`,
			contract.CodeMissingParameter, "tools[0].custom.format.grammar"},
		{`"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"grammar","grammar":{"definition":"",` +
			`"syntax":"regex"}}}}]`, contract.CodeInvalidValue, "tools[0].custom.format.grammar.definition"},
		{`"tools":[{"type":"function","function":{"name":"f","strict":"yes"}}]`, contract.CodeInvalidType,
			"tools[0].function.strict"},
		{`"tools":[{"type":"function"}]`, contract.CodeMissingParameter, "tools[0].function"},
		{`"tools":[{"type":"function","function":{}}]`, contract.CodeMissingParameter, "tools[0].function.name"},
		{`"tools":[{"type":"function","function":{"name":"<|end|>"}}]`, contract.CodeInvalidValue, "tools[0].function.name"},
		{`"tools":[{"type":"function","function":{"name":"f","parameters":"x"}}]`, contract.CodeInvalidType,
			"tools[0].function.parameters"},
		{`"tools":[{"type":"function","function":{"name":"f","parameters":` + nested(MaxSchemaDepth+1) + `}}]`,
			contract.CodeMaxDepthExceeded, "tools[0].function.parameters"},
		{`"tools":[{"type":"function","function":{"name":"f","parameters":` + nested(MaxSchemaDepth) + `}}]`, "", ""},
		{`"functions":[]`, contract.CodeUnsupportedParameter, "functions"},
		{`"function_call":"auto"`, contract.CodeUnsupportedParameter, "function_call"},
		{`"parallel_tool_calls":"no"`, contract.CodeInvalidType, "parallel_tool_calls"},
		{`"n":128`, "", ""},
		{`"n":null`, "", ""},
		{`"n":129`, contract.CodeInvalidValue, "n"},
		{`"n":1.5`, contract.CodeInvalidType, "n"},
		{`"n":"2"`, contract.CodeInvalidType, "n"},
		{`"n":0`, contract.CodeInvalidValue, "n"},
		{`"logit_bias":[]`, contract.CodeInvalidType, "logit_bias"},
		{`"logit_bias":{"1":101}`, contract.CodeInvalidValue, "logit_bias.1"},
		{`"logit_bias":{"1":null}`, contract.CodeInvalidType, "logit_bias.1"},
		{`"logit_bias":{"x":1}`, contract.CodeInvalidValue, "logit_bias.x"},
		{`"logit_bias":{"-1":1}`, contract.CodeInvalidValue, "logit_bias.-1"},
		{`"logit_bias":{` + pairs(maxBiases, "1") + `}`, "", ""},
		{`"logit_bias":{` + pairs(maxBiases+1, "1") + `}`, contract.CodeInvalidValue, "logit_bias"},
		{`"top_logprobs":3`, contract.CodeInvalidValue, "top_logprobs"},
		{`"top_logprobs":3,"logprobs":false`, contract.CodeInvalidValue, "top_logprobs"},
		{`"top_logprobs":0`, "", ""},
		{`"top_logprobs":20,"logprobs":true`, "", ""},
		{`"top_logprobs":21,"logprobs":true`, contract.CodeInvalidValue, "top_logprobs"},
		{`"top_logprobs":-1,"logprobs":true`, contract.CodeInvalidValue, "top_logprobs"},
		{`"top_logprobs":"3","logprobs":true`, contract.CodeInvalidType, "top_logprobs"},
		{`"logprobs":1`, contract.CodeInvalidType, "logprobs"},
		{`"stop":["a",7]`, contract.CodeInvalidType, "stop[1]"},
		{`"stop":["a",null]`, contract.CodeInvalidType, "stop[1]"},
		{`"stop":["a",""]`, contract.CodeInvalidValue, "stop[1]"},
		{`"stop":["a","b","c","d","e"]`, contract.CodeInvalidValue, "stop"},
		{`"stop":""`, contract.CodeInvalidValue, "stop"},
		{`"stop":"` + strings.Repeat("a", maxStopLength+1) + `"`, contract.CodeInvalidValue, "stop"},
		{`"thinking_token_budget":-2`, contract.CodeInvalidValue, "thinking_token_budget"},
		{`"thinking_token_budget":1.5`, contract.CodeInvalidType, "thinking_token_budget"},
		{`"stop":7`, contract.CodeInvalidType, "stop"},
		{`"modalities":["text","audio"]`, contract.CodeUnsupportedParameter, "modalities"},
		{`"modalities":["video"]`, contract.CodeInvalidValue, "modalities[0]"},
		{`"modalities":[null]`, contract.CodeInvalidType, "modalities[0]"},
		{`"audio":{"voice":"alloy","format":"mp3"}`, contract.CodeUnsupportedParameter, "audio"},
		{`"web_search_options":{}`, contract.CodeUnsupportedParameter, "web_search_options"},
		{`"moderation":{}`, contract.CodeUnsupportedParameter, "moderation"},
		{`"audio":null,"web_search_options":null,"moderation":null,"functions":null,"function_call":null`, "", ""},
		{`"service_tier":"gold"`, contract.CodeInvalidValue, "service_tier"},
		{`"verbosity":"loud"`, contract.CodeInvalidValue, "verbosity"},
		{`"prompt_cache_key":1`, contract.CodeInvalidType, "prompt_cache_key"},
		{`"prompt_cache_retention":"1h"`, contract.CodeInvalidValue, "prompt_cache_retention"},
		{`"prompt_cache_options":1`, contract.CodeInvalidType, "prompt_cache_options"},
		{`"safety_identifier":"` + strings.Repeat("a", 65) + `"`, contract.CodeInvalidValue, "safety_identifier"},
		{`"user":{}`, contract.CodeInvalidType, "user"},
		{`"store":"yes"`, contract.CodeInvalidType, "store"},
		{`"metadata":[]`, contract.CodeInvalidType, "metadata"},
		{`"metadata":{"a":1}`, contract.CodeInvalidType, "metadata.a"},
		{`"metadata":{` + pairs(maxMetadataPairs+1, `"x"`) + `}`, contract.CodeInvalidValue, "metadata"},
		{`"metadata":{"a":"` + strings.Repeat("é", maxMetadataValue) + `"}`, "", ""},
		{`"metadata":{"a":"` + strings.Repeat("é", maxMetadataValue+1) + `"}`, contract.CodeInvalidValue, "metadata.a"},
		{`"metadata":{"` + strings.Repeat("k", maxMetadataKey+1) + `":""}`, contract.CodeInvalidValue,
			"metadata." + clip(strings.Repeat("k", 65))},
		{`"prediction":{"type":"content","content":[{"type":"text","text":"x"}]}`, "", ""},
		{`"prediction":{"type":"content","content":[{"type":"text"}]}`, contract.CodeMissingParameter,
			"prediction.content[0].text"},
		{`"prediction":{"type":"content","content":[{"type":"text","text":7}]}`, contract.CodeInvalidType,
			"prediction.content[0].text"},
		{`"prediction":{"type":"content","content":[{"type":"image_url"}]}`, contract.CodeInvalidValue,
			"prediction.content[0].type"},
		{`"prediction":{"type":"content","content":[{"text":"x"}]}`, contract.CodeMissingParameter,
			"prediction.content[0].type"},
		{`"user":"` + strings.Repeat("a", maxLabel+1) + `"`, contract.CodeInvalidValue, "user"},
		{`"user":"` + strings.Repeat(`\u00e9`, maxLabel) + `"`, contract.CodeInvalidValue, "user"},
		{`"prediction":{"type":"content"}`, contract.CodeMissingParameter, "prediction.content"},
		{`"prediction":{"content":"x"}`, contract.CodeMissingParameter, "prediction.type"},
		{`"prediction":{"type":"x","content":"x"}`, contract.CodeInvalidValue, "prediction.type"},
		{`"prediction":{"type":"content","content":7}`, contract.CodeInvalidType, "prediction.content"},
		{`"temperature":2.5`, contract.CodeInvalidValue, "temperature"},
		{`"temperature":"1"`, contract.CodeInvalidType, "temperature"},
		{`"temperature":1e999`, contract.CodeInvalidValue, "temperature"},
		{`"top_p":-0.1`, contract.CodeInvalidValue, "top_p"},
		{`"presence_penalty":3`, contract.CodeInvalidValue, "presence_penalty"},
		{`"frequency_penalty":-3`, contract.CodeInvalidValue, "frequency_penalty"},
		{`"seed":1.5`, contract.CodeInvalidType, "seed"},
		{`"seed":99999999999999999999`, contract.CodeInvalidValue, "seed"},
		{`"max_tokens":0`, contract.CodeInvalidValue, "max_tokens"},
		{`"max_completion_tokens":"9"`, contract.CodeInvalidType, "max_completion_tokens"},
		{`"stream":"yes"`, contract.CodeInvalidType, "stream"},
		{`"stream_options":{"include_usage":1}`, contract.CodeInvalidType, "stream_options.include_usage"},
		{`"stream_options":{"include_usage":true}`, contract.CodeInvalidValue, "stream_options"},
		{`"stream":true,"stream_options":{"include_obfuscation":false}`, "", ""},
		{`"stream":true,"stream_options":{"include_obfuscation":true}`, contract.CodeUnsupportedParameter,
			"stream_options.include_obfuscation"},
		{`"stream":true,"stream_options":[]`, contract.CodeInvalidType, "stream_options"},
		{`"reasoning_effort":"none"`, "", ""},
		{`"reasoning_effort":"utmost"`, contract.CodeInvalidValue, "reasoning_effort"},
		{`"reasoning_effort":3`, contract.CodeInvalidType, "reasoning_effort"},
	}
	for _, tt := range tests {
		body := `{"model":"m",` + tt.members
		if !strings.HasPrefix(tt.members, `"messages"`) && tt.members != `"x":1` {
			body += `,"messages":[` + user + `]`
		}
		r, err := decodeChat([]byte(body + "}"))
		if err == nil {
			err = r.Dropped.First
		}
		checkError(t, body, err, 400, tt.code, tt.param)
	}
}

// pairs returns n members of an object with this value.
func pairs(n int, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%d":%s`, i, value)
	}
	return b.String()[1:]
}

func TestDecodeChat(t *testing.T) {
	got, err := decodeChat([]byte(`{
		"model":"m","stream":true,"stream_options":{"include_usage":true,"x":1},"reasoning_effort":"minimal",
		"max_tokens":5,"max_completion_tokens":7,"temperature":0.50,"top_p":null,"presence_penalty":-1,"seed":-3,"user":"u",
		"n":1,"logprobs":false,"stop":["\n","b"],"thinking_token_budget":-1,"response_format":{"type":"text"},"tool_choice":"none","logit_bias":{},"store":true,
		"metadata":{"a":"b"},"service_tier":"auto","parallel_tool_calls":true,"unknown":[1,{"a":2}],"modalities":["text"],
		"messages":[
			{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{}}]},
			{"role":"user","name":"x","content":"h\u0069"},
			{"role":"assistant","content":"c","refusal":"no","thinking":"t","reasoning_content":"rc","reasoning":"",
			 "tool_calls":[{"id":"c1","type":"function","index":0,"function":{"name":"f","arguments":"{\"a\": 1}"}}]},
			{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"r"}]}],
		"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}},
		         {"type":"function","function":{"name":"g"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &ChatRequest{
		Model: "m", Stream: true, IncludeUsage: true, Choices: 1, Effort: "minimal", Choice: ToolChoice{none: true},
		Entries: 7, TierRequested: true, Stop: []string{"\n", "b"},
		Sampling: Sampling{Temperature: "0.50", PresencePenalty: "-1", Seed: "-3", MaxTokens: 7},
		Messages: []ChatMessage{
			{Role: "system", Content: []string{"a", "b"}},
			{Role: "user", Name: "x", Content: []string{"hi"}},
			{Role: "assistant", Content: []string{"c", "no"}, Reasoning: "rc",
				ToolCalls: []ToolCall{{ID: "c1", Name: "f", Arguments: `{"a": 1}`}}},
			{Role: "tool", ToolCallID: "c1", Content: []string{"r"}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeResponsesErrors(t *testing.T) {
	tests := []struct {
		members, code, param string
	}{
		{`"input":"hi"`, "", ""},
		{`"x":1`, contract.CodeMissingParameter, "input"},
		{`"input":7`, contract.CodeInvalidType, "input"},
		{`"input":[]`, contract.CodeInvalidValue, "input"},
		{`"input":["hi"]`, contract.CodeInvalidType, "input[0]"},
		{`"input":[{}]`, contract.CodeMissingParameter, "input[0].type"},
		{`"input":[{"type":"message","content":"x"}]`, contract.CodeMissingParameter, "input[0].role"},
		{`"input":[{"role":"tool","content":"x"}]`, contract.CodeUnknownRole, "input[0].role"},
		{`"input":[{"role":"user"}]`, contract.CodeMissingParameter, "input[0].content"},
		{`"input":[{"role":"user","content":[{"type":"input_image","image_url":"u"}]}]`, contract.CodeUnsupportedParameter,
			"input[0].content[0]"},
		{`"input":[{"role":"user","content":"x"},{"type":"item_reference","id":"i"}]`, contract.CodeInvalidValue, "input[1]"},
		{`"input":[{"type":"item_reference"}]`, contract.CodeMissingParameter, "input[0].id"},
		{`"input":[{"type":"item_reference","id":1}]`, contract.CodeInvalidType, "input[0].id"},
		{`"input":[{"type":"some_other_item","content":1,"id":2,"role":[]}]`, "", ""},
		{`"input":[{"type":"mcp_list_tools","server_label":"l","tools":[]},{"type":"mcp_approval_request","name":"f"},` +
			`{"type":"web_search_call"}]`, "", ""},
		{`"input":[{"type":"compaction","encrypted_content":"x"},{"type":"context_compaction"}]`, "", ""},
		{`"input":[{"type":"function_call_output","name":"f","output":"x"}]`, "", ""},
		{`"input":[{"type":"function_call_output","output":"x"}]`, contract.CodeMissingParameter, "input[0].call_id"},
		{`"input":[{"type":"function_call_output","name":"","output":"x"}]`, contract.CodeInvalidValue, "input[0].name"},
		{`"input":[{"type":"function_call_output","name":"f","namespace":7,"output":"x"}]`, contract.CodeInvalidType,
			"input[0].namespace"},
		{`"input":[{"type":"function_call_output","call_id":"c","name":7,"output":"x"}]`, contract.CodeInvalidType,
			"input[0].name"},
		{`"input":[{"type":"function_call_output","name":"f"}]`, contract.CodeMissingParameter, "input[0].output"},
		{`"input":[{"role":"user","content":"x"},{"type":"configuration_update","reasoning":{"effort":"low"}}]`, "", ""},
		{`"input":[{"type":"configuration_update","reasoning":{"effort":"utmost"}}]`, contract.CodeInvalidValue,
			"input[0].reasoning.effort"},
		{`"input":[{"type":"configuration_update","text":{"format":{"type":"xml"}}}]`, contract.CodeInvalidValue,
			"input[0].text.format.type"},
		{`"input":[{"type":"configuration_update","reasoning":1}]`, contract.CodeInvalidType, "input[0].reasoning"},
		{`"input":[{"type":"computer_call_output","call_id":"c","output":{}}]`, contract.CodeUnsupportedParameter,
			"input[0]"},
		{`"input":[{"type":"web_search_call","action":1}]`, contract.CodeInvalidType, "input[0].action"},
		{`"input":[{"type":"shell_call","call_id":"c"}]`, contract.CodeMissingParameter, "input[0].action"},
		{`"input":[{"type":"shell_call","action":{}}]`, contract.CodeMissingParameter, "input[0].call_id"},
		{`"input":[{"type":"shell_call_output","output":[]}]`, contract.CodeMissingParameter, "input[0].call_id"},
		{`"input":[{"type":"shell_call_output","call_id":1,"output":[]}]`, contract.CodeInvalidType, "input[0].call_id"},
		{`"input":[{"type":"shell_call_output","call_id":"c","output":7}]`, contract.CodeInvalidType, "input[0].output"},
		{`"input":[{"type":"apply_patch_call_output","call_id":"c","status":7}]`, contract.CodeInvalidType,
			"input[0].status"},
		{`"input":[{"type":"local_shell_call","id":1,"action":{}}]`, contract.CodeInvalidType, "input[0].id"},
		{`"input":[{"type":"mcp_call","name":"a b","arguments":"{}"}]`, contract.CodeInvalidValue, "input[0].name"},
		{`"input":[{"type":"mcp_call","name":"f"}]`, contract.CodeMissingParameter, "input[0].arguments"},
		{`"input":[{"type":"mcp_call","name":"f","arguments":"{}","error":false}]`, contract.CodeInvalidType,
			"input[0].error"},
		{`"input":[{"type":"function_call","name":"f","arguments":"{}"}]`, contract.CodeMissingParameter, "input[0].call_id"},
		{`"input":[{"type":"function_call","call_id":"c","arguments":"{}"}]`, contract.CodeMissingParameter, "input[0].name"},
		{`"input":[{"type":"function_call","call_id":"c","name":"f"}]`, contract.CodeMissingParameter, "input[0].arguments"},
		{`"input":[{"type":"function_call_output","output":"x"}]`, contract.CodeMissingParameter, "input[0].call_id"},
		{`"input":[{"type":"function_call_output","call_id":"c"}]`, contract.CodeMissingParameter, "input[0].output"},
		{`"input":[{"type":"reasoning","summary":[{"type":"x","text":"y"}]}]`, contract.CodeInvalidValue,
			"input[0].summary[0]"},
		{`"instructions":[]`, contract.CodeInvalidType, "instructions"},
		{`"tools":[{"type":"custom","name":"x"},{"type":"custom","name":"y","format":{"type":"text"}}]`, "", ""},
		{`"tools":[{"type":"custom"}]`, contract.CodeMissingParameter, "tools[0].name"},
		{`"tools":[{"type":"custom","name":"a b"}]`, contract.CodeInvalidValue, "tools[0].name"},
		{`"tools":[{"type":"custom","name":"x","description":1}]`, contract.CodeInvalidType, "tools[0].description"},
		{`"tools":[{"type":"custom","name":"x","format":{"type":"grammar","syntax":"lark","definition":"a"}}]`, "", ""},
		{`"tools":[{"type":"custom","name":"x","format":{"type":""}}]`, contract.CodeInvalidValue, "tools[0].format.type"},
		{`"tools":[{"type":"custom","name":"x","format":{"type":"grammar","syntax":"lark"}}]`, contract.CodeMissingParameter,
			"tools[0].format.definition"},
		{`"tools":[{"type":"custom","name":"x","format":{"type":"grammar","definition":"a"}}]`, contract.CodeMissingParameter,
			"tools[0].format.syntax"},
		{`"tools":[{"type":"custom","name":"x","format":{"type":"grammar","syntax":"ebnf","definition":"a"}}]`,
			contract.CodeInvalidValue, "tools[0].format.syntax"},
		{`"tools":[{"type":"custom","name":"x","format":{"type":"grammar","syntax":"lark","definition":"` +
			strings.Repeat("a", maxGrammar+1) + `"}}]`, contract.CodeInvalidValue, "tools[0].format.definition"},
		{`"input":[{"type":"custom_tool_call","name":"f","input":"x"}]`, contract.CodeMissingParameter, "input[0].call_id"},
		{`"input":[{"type":"custom_tool_call","call_id":"c","name":"f","arguments":"x"}]`, contract.CodeMissingParameter,
			"input[0].input"},
		{`"input":[{"type":"custom_tool_call_output","call_id":"c"}]`, contract.CodeMissingParameter, "input[0].output"},
		{`"tools":[{"name":"x"}]`, contract.CodeMissingParameter, "tools[0].type"},
		{`"tools":[{"type":"function","name":"a b"}]`, contract.CodeInvalidValue, "tools[0].name"},
		{`"tools":[{"type":"function","name":"a","strict":"x"}]`, contract.CodeInvalidType, "tools[0].strict"},
		{`"tools":[{"type":"namespace","name":"a"}]`, contract.CodeMissingParameter, "tools[0].tools"},
		{`"tools":[{"type":"namespace","name":"a","tools":[{"type":"custom"}]}]`, contract.CodeMissingParameter,
			"tools[0].tools[0].name"},
		{`"tools":[{"type":"namespace","name":"a","tools":[{"type":"mcp"}]}]`, contract.CodeInvalidValue,
			"tools[0].tools[0].type"},
		{`"tools":[{"type":"web_search","external_web_access":true}]`, "", ""},
		{`"background":true`, contract.CodeUnsupportedParameter, "background"},
		{`"background":false`, "", ""},
		{`"conversation":"c"`, contract.CodeUnsupportedParameter, "conversation"},
		{`"prompt":{"id":"p"}`, contract.CodeUnsupportedParameter, "prompt"},
		{`"top_logprobs":2`, "", ""},
		{`"top_logprobs":21`, contract.CodeInvalidValue, "top_logprobs"},
		{`"truncation":"middle"`, contract.CodeInvalidValue, "truncation"},
		{`"service_tier":"ultrafast","stream_options":{"include_obfuscation":true}`, "", ""},
		{`"service_tier":"slow"`, contract.CodeInvalidValue, "service_tier"},
		{`"stream_options":{"include_obfuscation":1}`, contract.CodeInvalidType, "stream_options.include_obfuscation"},
		{`"moderation":{"model":"m"}`, contract.CodeUnsupportedParameter, "moderation"},
		{`"moderation":null`, "", ""},
		{`"prompt_cache_retention":"24h","prompt_cache_options":{"mode":"explicit","ttl":"30m"}`, "", ""},
		{`"prompt_cache_options":{"ttl":"1h"}`, contract.CodeInvalidValue, "prompt_cache_options.ttl"},
		{`"prompt_cache_options":{"ttl":"12h","comparison_response_id":"resp_1"}`, "", ""},
		{`"prompt_cache_options":{"comparison_response_id":1}`, contract.CodeInvalidType,
			"prompt_cache_options.comparison_response_id"},
		{`"access_programs":{"cyber":{"enabled":true}}`, contract.CodeUnsupportedParameter, "access_programs.cyber"},
		{`"access_programs":{"cyber":null},"prewarm":false`, "", ""},
		{`"access_programs":"cyber"`, contract.CodeInvalidType, "access_programs"},
		{`"prewarm":true`, contract.CodeUnsupportedParameter, "prewarm"},
		{`"background_options":{"completion_window":"8h"}`, "", ""},
		{`"background_options":{"completion_window":"1h"}`, contract.CodeInvalidValue,
			"background_options.completion_window"},
		{`"background_options":{"continuation_id":"x"}`, contract.CodeUnsupportedParameter,
			"background_options.continuation_id"},
		{`"context_management":[{"type":"compaction","compact_threshold":5000}]`, "", ""},
		{`"context_management":[{"compact_threshold":5000}]`, contract.CodeMissingParameter, "context_management[0].type"},
		{`"context_management":[]`, contract.CodeInvalidValue, "context_management"},
		{`"reasoning":{"context":"all_turns","mode":"pro","generate_summary":"auto"}`, "", ""},
		{`"reasoning":{"context":"no_turns"}`, contract.CodeInvalidValue, "reasoning.context"},
		{`"reasoning":{"mode":1}`, contract.CodeInvalidType, "reasoning.mode"},
		{`"previous_response_id":null`, "", ""},
		{`"reasoning":{"effort":"utmost"}`, contract.CodeInvalidValue, "reasoning.effort"},
		{`"reasoning":{"summary":"loud"}`, contract.CodeInvalidValue, "reasoning.summary"},
		{`"text":{"verbosity":"none"}`, contract.CodeInvalidValue, "text.verbosity"},
		{`"metadata":{"a":1}`, contract.CodeInvalidType, "metadata.a"},
		{`"max_output_tokens":15`, contract.CodeInvalidValue, "max_output_tokens"},
		{`"previous_response_id":"r","conversation":"c"`, contract.CodeMutuallyExclusive, "conversation"},
		{`"conversation":{"id":"c"},"previous_response_id":"r"`, contract.CodeMutuallyExclusive, "conversation"},
		{`"stop":"a"`, contract.CodeUnsupportedParameter, "stop"},
		{`"include_reasoning":false`, contract.CodeUnsupportedParameter, "include_reasoning"},
		{`"regex":"a","text":{"format":{"type":"json_object"}}`, contract.CodeMutuallyExclusive, "regex"},
		{`"store":1`, contract.CodeInvalidType, "store"},
		{`"parallel_tool_calls":1`, contract.CodeInvalidType, "parallel_tool_calls"},
	}
	for _, tt := range tests {
		body := `{"model":"m",` + tt.members
		if !strings.HasPrefix(tt.members, `"input"`) && tt.members != `"x":1` {
			body += `,"input":"hi"`
		}
		r, err := decodeResponses([]byte(body + "}"))
		if err == nil {
			err = r.Dropped.First
		}
		checkError(t, body, err, 400, tt.code, tt.param)
	}
	_, err := decodeResponses([]byte(`{"model":"m","input":"x","previous_response_id":"resp_1"}`))
	checkError(t, "previous", err, 400, contract.CodePreviousResponseNotFound, "previous_response_id")
}

func TestErrorJSON(t *testing.T) {
	got := string((&Error{Status: 500, Type: "server_error", Message: "a\"b"}).AppendJSON(nil))
	if want := `{"error":{"message":"a\"b","type":"server_error","param":null,"code":null}}`; got != want {
		t.Errorf("got %s", got)
	}
	if c := clip(strings.Repeat("é", 60)); len(c) > 70 || !json.Valid(append(append([]byte{'"'}, c...), '"')) {
		t.Errorf("clipped to %q", c)
	}
}

// TestOnlyTextsAreBorrowed overwrites the body after decoding. A host's buffer is valid only during the call, and only
// texts of the conversation may lie in it.
func TestOnlyTextsAreBorrowed(t *testing.T) {
	body := []byte(
		`{"model":"mmm","input":[{"role":"user","content":"hello"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],
		"temperature":0.5,"metadata":{ "k" : "a  b" },"instructions":"i","tools":[{"type":"function","name":"f","parameters":{"a" : [1, 2]}}]}`)
	fresh, err := decodeResponses(append([]byte(nil), body...))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeResponses(body)
	if err != nil {
		t.Fatal(err)
	}
	for i := range body {
		body[i] = 'X'
	}
	for _, r := range []*ResponsesRequest{got, fresh} {
		for i := range r.Input {
			r.Input[i].Content, r.Input[i].Arguments = nil, ""
		}
	}
	if !reflect.DeepEqual(got, fresh) {
		t.Errorf("got %+v\nwant %+v", got, fresh)
	}
	if got.Echo.Metadata != `{"k":"a  b"}` {
		t.Errorf("metadata %s", got.Echo.Metadata)
	}
	if want := `[{"type":"function","description":null,"name":"f","parameters":{"a":[1,2]},"strict":null}]`; got.Echo.Tools != want {
		t.Errorf("tools %s", got.Echo.Tools)
	}
}

// TestToolsAreBounded checks the limit of a request's tools. Schemas take many times their size in memory.
func TestToolsAreBounded(t *testing.T) {
	schema := `{"enum":[` + strings.TrimSuffix(strings.Repeat("0,", MaxTools/2), ",") + `]}`
	_, err := decodeChat([]byte(`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function",` +
		`"function":{"name":"f","parameters":` + schema + `}}]}`))
	if err == nil || err.Param != "tools" {
		t.Errorf("Chat: %v", err)
	}
	_, err = decodeResponses([]byte(`{"model":"m","input":"x","tools":[{"type":"function","name":"f","parameters":` +
		schema + `}]}`))
	if err == nil || err.Param != "tools" {
		t.Errorf("Responses: %v", err)
	}
}

// TestEchoIsBounded checks the limits of echoed members, which are held as long as the answer lasts.
func TestEchoIsBounded(t *testing.T) {
	long := strings.Repeat("x", maxInstructions+1)
	for _, field := range []string{
		`"tool_choice":{"type":"function","name":"` + long + `"}`,
		`"instructions":"` + long + `"`, `"metadata":{"a":"` + long + `"}`, `"user":"` + long + `"`,
		`"prompt_cache_key":"` + long + `"`, `"safety_identifier":"` + long + `"`,
		`"temperature":0.` + strings.Repeat("1", maxLabel),
	} {
		_, err := decodeResponses([]byte(`{"model":"m","input":"x",` + field + `}`))
		if err == nil || err.Status != 400 || !strings.HasPrefix(field, `"`+err.Param+`"`) {
			t.Errorf("%.30s: %v", field, err)
		}
	}
}

func TestTurnsAreBounded(t *testing.T) {
	repeat := func(piece string) string { return strings.TrimSuffix(strings.Repeat(piece+",", MaxEntries+1), ",") }
	_, message := decodeChat([]byte(`{"model":"m","messages":[` + repeat(`{"role":"user","content":""}`) + `]}`))
	_, call := decodeChat([]byte(`{"model":"m","messages":[{"role":"assistant","tool_calls":[` +
		repeat(`{"id":"a","function":{"name":"f","arguments":""}}`) + `]}]}`))
	_, item := decodeResponses([]byte(`{"model":"m","input":[` + repeat(`{"role":"user","content":""}`) + `]}`))
	_, part := decodeChat([]byte(`{"model":"m","messages":[{"role":"user","content":[` +
		repeat(`{"type":"text","text":"a"}`) + `]}]}`))
	halved := `[` + strings.TrimSuffix(strings.Repeat(`{"type":"input_text","text":"a"},`, MaxEntries/2), ",") + `]`
	_, parts := decodeResponses([]byte(`{"model":"m","input":[{"role":"user","content":` + halved +
		`},{"role":"user","content":` + halved + `},{"role":"user","content":"a"}]}`))
	for name, err := range map[string]*Error{
		"message": message, "call": call, "item": item, "part": part, "parts of two messages": parts} {
		if err == nil || err.Code != contract.CodeContextLengthExceeded {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValuesAreBounded(t *testing.T) {
	body, err := Open([]byte(`{"model":"m","input":"x","metadata":{"a":[` + strings.Repeat("0,", MaxValues-6) + `0]}}`))
	if err != nil {
		t.Fatal(err)
	}
	// The body, its three members, the array and its elements.
	if want := MaxValues; body.Values != want {
		t.Errorf("counted %d values, want %d", body.Values, want)
	}
	if err := body.Bounded(0); err != nil {
		t.Errorf("as many values as may be: %v", err)
	}
	body.Values++
	if err := body.Bounded(0); err == nil || err.Code != contract.CodeMaxValuesExceeded {
		t.Errorf("one value too many: %v", err)
	}
	if err := body.Bounded(1); err != nil {
		t.Errorf("one of which does not count: %v", err)
	}
}

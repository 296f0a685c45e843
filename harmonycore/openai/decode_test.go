package openai

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
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
		{``, "", CodeInvalidJSON, ""},
		{`{"model":"m"`, "", CodeInvalidJSON, ""},
		{"{\"model\":\"\xff\"}", "", CodeInvalidUTF8, "model"},
		{strings.Repeat("[", 200), "", CodeMaxDepthExceeded, ""},
		{`["model"]`, "", CodeInvalidType, ""},
		{`"model"`, "", CodeInvalidType, ""},
		{`{}`, "", CodeMissingParameter, "model"},
		{`{"model":null}`, "", CodeInvalidType, "model"},
		{`{"model":1}`, "", CodeInvalidType, "model"},
		{`{"model":""}`, "", CodeInvalidValue, "model"},
		{`{"model":"a","model":"b"}`, "", CodeDuplicateKey, "model"},
		{`{"model":"a","mod\u0065l":"b"}`, "", CodeDuplicateKey, "model"},
		{`{"model":"a","stream":true,"stre\u0061m":false}`, "", CodeDuplicateKey, "stream"},
		{`{"model":"a","messages":[],"messages":[]}`, "", CodeDuplicateKey, "messages"},
		{`{"model":"a","input":"","input":""}`, "", CodeDuplicateKey, "input"},
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
	case code != "" && (err == nil || err.Status != status || err.Type != InvalidRequestError || err.Code != code || err.Param != param):
		t.Errorf("%.120q: got %+v, want %d %s at %q", body, err, status, code, param)
	}
}

func TestDecodeChatErrors(t *testing.T) {
	user := `{"role":"user","content":"hi"}`
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }
	tests := []struct{ members, code, param string }{
		{`"messages":[` + user + `]`, "", ""},
		{`"x":1`, CodeMissingParameter, "messages"},
		{`"messages":null`, CodeMissingParameter, "messages"},
		{`"messages":[]`, CodeInvalidValue, "messages"},
		{`"messages":"hi"`, CodeInvalidType, "messages"},
		{`"messages":["hi"]`, CodeInvalidType, "messages[0]"},
		{`"messages":[{"content":"hi"}]`, CodeMissingParameter, "messages[0].role"},
		{`"messages":[` + user + `,{"role":"wizard","content":"hi"}]`, CodeUnknownRole, "messages[1].role"},
		{`"messages":[{"role":"function","name":"f","content":"hi"}]`, CodeUnknownRole, "messages[0].role"},
		{`"messages":[{"role":7}]`, CodeInvalidType, "messages[0].role"},
		{`"messages":[{"role":"user"}]`, CodeMissingParameter, "messages[0].content"},
		{`"messages":[{"role":"user","content":null}]`, CodeInvalidType, "messages[0].content"},
		{`"messages":[{"role":"user","content":{}}]`, CodeInvalidType, "messages[0].content"},
		{`"messages":[{"role":"user","content":[{"text":"x"}]}]`, CodeMissingParameter, "messages[0].content[0].type"},
		{`"messages":[{"role":"user","content":[{"type":"text"}]}]`, CodeMissingParameter, "messages[0].content[0].text"},
		{`"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"u"}}]}]`, CodeUnsupportedParameter, "messages[0].content[1]"},
		{`"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"","format":"wav"}}]}]`, CodeUnsupportedParameter, "messages[0].content[0]"},
		{`"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]`, CodeUnsupportedParameter, "messages[0].content[0]"},
		{`"messages":[{"role":"user","name":"a b","content":"hi"}]`, CodeInvalidValue, "messages[0].name"},
		{`"messages":[{"role":"user","name":"` + strings.Repeat("a", 65) + `","content":"hi"}]`, CodeInvalidValue, "messages[0].name"},
		{`"messages":[{"role":"user","name":"a<|end|>","content":"hi"}]`, CodeInvalidValue, "messages[0].name"},
		{`"messages":[{"role":"system","name":7,"content":"hi"}]`, CodeInvalidType, "messages[0].name"},
		{`"messages":[{"role":"system","name":"a b","content":"hi"}]`, "", ""},
		{`"messages":[{"role":"assistant","audio":{"id":"a"}}]`, CodeUnsupportedParameter, "messages[0].audio"},
		{`"messages":[{"role":"assistant","audio":null,"reasoning_details":"x","content":""}]`, "", ""},
		{`"messages":[{"role":"user","content":[{"type":"refusal","refusal":"x"}]}]`, CodeInvalidValue, "messages[0].content[0]"},
		{`"messages":[{"role":"tool","content":"x"}]`, CodeMissingParameter, "messages[0].tool_call_id"},
		{`"messages":[{"role":"assistant"}]`, "", ""},
		{`"messages":[{"role":"assistant","content":null,"reasoning":{"x":1},"refusal":null,"tool_calls":null}]`, "", ""},
		{`"messages":[{"role":"assistant","function_call":{"name":"f"}}]`, CodeUnsupportedParameter, "messages[0].function_call"},
		{`"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]`, CodeMissingParameter, "messages[0].tool_calls[0].id"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"arguments":"{}"}}]}]`, CodeMissingParameter, "messages[0].tool_calls[0].function.name"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f g","arguments":"{}"}}]}]`, CodeInvalidValue, "messages[0].tool_calls[0].function.name"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":{}}}]}]`, CodeInvalidType, "messages[0].tool_calls[0].function.arguments"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{}}]}]`, CodeMissingParameter, "messages[0].tool_calls[0].custom.name"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"f"}}]}]`, CodeMissingParameter, "messages[0].tool_calls[0].custom.input"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"custom"}]}]`, CodeMissingParameter, "messages[0].tool_calls[0].custom"},
		{`"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"mcp"}]}]`, CodeInvalidValue, "messages[0].tool_calls[0].type"},
		{`"tools":{}`, CodeInvalidType, "tools"},
		{`"tools":[{"function":{"name":"f"}}]`, CodeMissingParameter, "tools[0].type"},
		{`"tools":[{"type":"web_search"}]`, CodeInvalidValue, "tools[0].type"},
		{`"tools":[{"type":"custom","custom":{"name":"f"}}]`, "", ""},
		{`"tools":[{"type":"custom"}]`, CodeMissingParameter, "tools[0].custom"},
		{`"tools":[{"type":"custom","custom":{}}]`, CodeMissingParameter, "tools[0].custom.name"},
		{`"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"text"}}}]`, "", ""},
		{`"tools":[{"type":"custom","custom":{"name":"f","format":{}}}]`, CodeMissingParameter, "tools[0].custom.format.type"},
		{`"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"x"}}}]`, CodeInvalidValue, "tools[0].custom.format.type"},
		{`"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"grammar","grammar":{"definition":"a","syntax":"lark"}}}}]`, "", ""},
		{`"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"grammar","definition":"a","syntax":"lark"}}}]`, CodeMissingParameter, "tools[0].custom.format.grammar"},
		{`"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"grammar","grammar":{"definition":"","syntax":"regex"}}}}]`, CodeInvalidValue, "tools[0].custom.format.grammar.definition"},
		{`"tools":[{"type":"function","function":{"name":"f","strict":"yes"}}]`, CodeInvalidType, "tools[0].function.strict"},
		{`"tools":[{"type":"function"}]`, CodeMissingParameter, "tools[0].function"},
		{`"tools":[{"type":"function","function":{}}]`, CodeMissingParameter, "tools[0].function.name"},
		{`"tools":[{"type":"function","function":{"name":"<|end|>"}}]`, CodeInvalidValue, "tools[0].function.name"},
		{`"tools":[{"type":"function","function":{"name":"f","parameters":"x"}}]`, CodeInvalidType, "tools[0].function.parameters"},
		{`"tools":[{"type":"function","function":{"name":"f","parameters":` + nested(MaxSchemaDepth+1) + `}}]`, CodeMaxDepthExceeded, "tools[0].function.parameters"},
		{`"tools":[{"type":"function","function":{"name":"f","parameters":` + nested(MaxSchemaDepth) + `}}]`, "", ""},
		{`"functions":[]`, CodeUnsupportedParameter, "functions"},
		{`"function_call":"auto"`, CodeUnsupportedParameter, "function_call"},
		{`"parallel_tool_calls":"no"`, CodeInvalidType, "parallel_tool_calls"},
		{`"n":128`, "", ""},
		{`"n":null`, "", ""},
		{`"n":129`, CodeInvalidValue, "n"},
		{`"n":1.5`, CodeInvalidType, "n"},
		{`"n":"2"`, CodeInvalidType, "n"},
		{`"n":0`, CodeInvalidValue, "n"},
		{`"logit_bias":[]`, CodeInvalidType, "logit_bias"},
		{`"logit_bias":{"1":101}`, CodeInvalidValue, "logit_bias.1"},
		{`"logit_bias":{"1":null}`, CodeInvalidType, "logit_bias.1"},
		{`"logit_bias":{"x":1}`, CodeInvalidValue, "logit_bias.x"},
		{`"logit_bias":{"-1":1}`, CodeInvalidValue, "logit_bias.-1"},
		{`"logit_bias":{` + pairs(maxBiases, "1") + `}`, "", ""},
		{`"logit_bias":{` + pairs(maxBiases+1, "1") + `}`, CodeInvalidValue, "logit_bias"},
		{`"top_logprobs":3`, CodeInvalidValue, "top_logprobs"},
		{`"top_logprobs":3,"logprobs":false`, CodeInvalidValue, "top_logprobs"},
		{`"top_logprobs":0`, "", ""},
		{`"top_logprobs":20,"logprobs":true`, "", ""},
		{`"top_logprobs":21,"logprobs":true`, CodeInvalidValue, "top_logprobs"},
		{`"top_logprobs":-1,"logprobs":true`, CodeInvalidValue, "top_logprobs"},
		{`"top_logprobs":"3","logprobs":true`, CodeInvalidType, "top_logprobs"},
		{`"logprobs":1`, CodeInvalidType, "logprobs"},
		{`"stop":["a",7]`, CodeInvalidType, "stop[1]"},
		{`"stop":["a",null]`, CodeInvalidType, "stop[1]"},
		{`"stop":["a",""]`, CodeInvalidValue, "stop[1]"},
		{`"stop":["a","b","c","d","e"]`, CodeInvalidValue, "stop"},
		{`"stop":""`, CodeInvalidValue, "stop"},
		{`"stop":"` + strings.Repeat("a", maxStopLength+1) + `"`, CodeInvalidValue, "stop"},
		{`"thinking_token_budget":-2`, CodeInvalidValue, "thinking_token_budget"},
		{`"thinking_token_budget":1.5`, CodeInvalidType, "thinking_token_budget"},
		{`"stop":7`, CodeInvalidType, "stop"},
		{`"modalities":["text","audio"]`, CodeUnsupportedParameter, "modalities"},
		{`"modalities":["video"]`, CodeInvalidValue, "modalities[0]"},
		{`"modalities":[null]`, CodeInvalidType, "modalities[0]"},
		{`"audio":{"voice":"alloy","format":"mp3"}`, CodeUnsupportedParameter, "audio"},
		{`"web_search_options":{}`, CodeUnsupportedParameter, "web_search_options"},
		{`"moderation":{}`, CodeUnsupportedParameter, "moderation"},
		{`"audio":null,"web_search_options":null,"moderation":null,"functions":null,"function_call":null`, "", ""},
		{`"service_tier":"gold"`, CodeInvalidValue, "service_tier"},
		{`"verbosity":"loud"`, CodeInvalidValue, "verbosity"},
		{`"prompt_cache_key":1`, CodeInvalidType, "prompt_cache_key"},
		{`"prompt_cache_retention":"1h"`, CodeInvalidValue, "prompt_cache_retention"},
		{`"prompt_cache_options":1`, CodeInvalidType, "prompt_cache_options"},
		{`"safety_identifier":"` + strings.Repeat("a", 65) + `"`, CodeInvalidValue, "safety_identifier"},
		{`"user":{}`, CodeInvalidType, "user"},
		{`"store":"yes"`, CodeInvalidType, "store"},
		{`"metadata":[]`, CodeInvalidType, "metadata"},
		{`"metadata":{"a":1}`, CodeInvalidType, "metadata.a"},
		{`"metadata":{` + pairs(maxMetadataPairs+1, `"x"`) + `}`, CodeInvalidValue, "metadata"},
		{`"metadata":{"a":"` + strings.Repeat("é", maxMetadataValue) + `"}`, "", ""},
		{`"metadata":{"a":"` + strings.Repeat("é", maxMetadataValue+1) + `"}`, CodeInvalidValue, "metadata.a"},
		{`"metadata":{"` + strings.Repeat("k", maxMetadataKey+1) + `":""}`, CodeInvalidValue, "metadata." + clip(strings.Repeat("k", 65))},
		{`"prediction":{"type":"content","content":[{"type":"text","text":"x"}]}`, "", ""},
		{`"prediction":{"type":"content","content":[{"type":"text"}]}`, CodeMissingParameter, "prediction.content[0].text"},
		{`"prediction":{"type":"content","content":[{"type":"text","text":7}]}`, CodeInvalidType, "prediction.content[0].text"},
		{`"prediction":{"type":"content","content":[{"type":"image_url"}]}`, CodeInvalidValue, "prediction.content[0].type"},
		{`"prediction":{"type":"content","content":[{"text":"x"}]}`, CodeMissingParameter, "prediction.content[0].type"},
		{`"user":"` + strings.Repeat("a", maxLabel+1) + `"`, CodeInvalidValue, "user"},
		{`"user":"` + strings.Repeat(`\u00e9`, maxLabel) + `"`, CodeInvalidValue, "user"},
		{`"prediction":{"type":"content"}`, CodeMissingParameter, "prediction.content"},
		{`"prediction":{"content":"x"}`, CodeMissingParameter, "prediction.type"},
		{`"prediction":{"type":"x","content":"x"}`, CodeInvalidValue, "prediction.type"},
		{`"prediction":{"type":"content","content":7}`, CodeInvalidType, "prediction.content"},
		{`"temperature":2.5`, CodeInvalidValue, "temperature"},
		{`"temperature":"1"`, CodeInvalidType, "temperature"},
		{`"temperature":1e999`, CodeInvalidValue, "temperature"},
		{`"top_p":-0.1`, CodeInvalidValue, "top_p"},
		{`"presence_penalty":3`, CodeInvalidValue, "presence_penalty"},
		{`"frequency_penalty":-3`, CodeInvalidValue, "frequency_penalty"},
		{`"seed":1.5`, CodeInvalidType, "seed"},
		{`"seed":99999999999999999999`, CodeInvalidValue, "seed"},
		{`"max_tokens":0`, CodeInvalidValue, "max_tokens"},
		{`"max_completion_tokens":"9"`, CodeInvalidType, "max_completion_tokens"},
		{`"stream":"yes"`, CodeInvalidType, "stream"},
		{`"stream_options":{"include_usage":1}`, CodeInvalidType, "stream_options.include_usage"},
		{`"stream_options":{"include_usage":true}`, CodeInvalidValue, "stream_options"},
		{`"stream":true,"stream_options":{"include_obfuscation":false}`, "", ""},
		{`"stream":true,"stream_options":{"include_obfuscation":true}`, CodeUnsupportedParameter, "stream_options.include_obfuscation"},
		{`"stream":true,"stream_options":[]`, CodeInvalidType, "stream_options"},
		{`"reasoning_effort":"none"`, "", ""},
		{`"reasoning_effort":"utmost"`, CodeInvalidValue, "reasoning_effort"},
		{`"reasoning_effort":3`, CodeInvalidType, "reasoning_effort"},
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

// pairs are so many members of an object.
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
		Model: "m", Stream: true, IncludeUsage: true, Choices: 1, Effort: "minimal", Choice: ToolChoice{none: true}, TierAsked: true, Stop: []string{"\n", "b"},
		Sampling: Sampling{Temperature: "0.50", PresencePenalty: "-1", Seed: "-3", MaxTokens: 7},
		Messages: []ChatMessage{
			{Role: "system", Content: []string{"a", "b"}},
			{Role: "user", Name: "x", Content: []string{"hi"}},
			{Role: "assistant", Content: []string{"c", "no"}, Reasoning: "rc", ToolCalls: []ToolCall{{ID: "c1", Name: "f", Arguments: `{"a": 1}`}}},
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
		{`"x":1`, CodeMissingParameter, "input"},
		{`"input":7`, CodeInvalidType, "input"},
		{`"input":[]`, CodeInvalidValue, "input"},
		{`"input":["hi"]`, CodeInvalidType, "input[0]"},
		{`"input":[{}]`, CodeMissingParameter, "input[0].type"},
		{`"input":[{"type":"message","content":"x"}]`, CodeMissingParameter, "input[0].role"},
		{`"input":[{"role":"tool","content":"x"}]`, CodeUnknownRole, "input[0].role"},
		{`"input":[{"role":"user"}]`, CodeMissingParameter, "input[0].content"},
		{`"input":[{"role":"user","content":[{"type":"input_image","image_url":"u"}]}]`, CodeUnsupportedParameter, "input[0].content[0]"},
		{`"input":[{"role":"user","content":"x"},{"type":"item_reference","id":"i"}]`, CodeInvalidValue, "input[1]"},
		{`"input":[{"type":"item_reference"}]`, CodeMissingParameter, "input[0].id"},
		{`"input":[{"type":"item_reference","id":1}]`, CodeInvalidType, "input[0].id"},
		{`"input":[{"type":"some_other_item","content":1,"id":2,"role":[]}]`, "", ""},
		{`"input":[{"type":"mcp_list_tools","server_label":"l","tools":[]},{"type":"mcp_approval_request","name":"f"},{"type":"web_search_call"}]`, "", ""},
		{`"input":[{"type":"compaction","encrypted_content":"x"}]`, CodeUnsupportedParameter, "input[0]"},
		{`"input":[{"type":"computer_call_output","call_id":"c","output":{}}]`, CodeUnsupportedParameter, "input[0]"},
		{`"input":[{"type":"web_search_call","action":1}]`, CodeInvalidType, "input[0].action"},
		{`"input":[{"type":"shell_call","call_id":"c"}]`, CodeMissingParameter, "input[0].action"},
		{`"input":[{"type":"shell_call","action":{}}]`, CodeMissingParameter, "input[0].call_id"},
		{`"input":[{"type":"shell_call_output","output":[]}]`, CodeMissingParameter, "input[0].call_id"},
		{`"input":[{"type":"shell_call_output","call_id":1,"output":[]}]`, CodeInvalidType, "input[0].call_id"},
		{`"input":[{"type":"shell_call_output","call_id":"c","output":7}]`, CodeInvalidType, "input[0].output"},
		{`"input":[{"type":"apply_patch_call_output","call_id":"c","status":7}]`, CodeInvalidType, "input[0].status"},
		{`"input":[{"type":"local_shell_call","id":1,"action":{}}]`, CodeInvalidType, "input[0].id"},
		{`"input":[{"type":"mcp_call","name":"a b","arguments":"{}"}]`, CodeInvalidValue, "input[0].name"},
		{`"input":[{"type":"mcp_call","name":"f"}]`, CodeMissingParameter, "input[0].arguments"},
		{`"input":[{"type":"mcp_call","name":"f","arguments":"{}","error":false}]`, CodeInvalidType, "input[0].error"},
		{`"input":[{"type":"function_call","name":"f","arguments":"{}"}]`, CodeMissingParameter, "input[0].call_id"},
		{`"input":[{"type":"function_call","call_id":"c","arguments":"{}"}]`, CodeMissingParameter, "input[0].name"},
		{`"input":[{"type":"function_call","call_id":"c","name":"f"}]`, CodeMissingParameter, "input[0].arguments"},
		{`"input":[{"type":"function_call_output","output":"x"}]`, CodeMissingParameter, "input[0].call_id"},
		{`"input":[{"type":"function_call_output","call_id":"c"}]`, CodeMissingParameter, "input[0].output"},
		{`"input":[{"type":"reasoning","summary":[{"type":"x","text":"y"}]}]`, CodeInvalidValue, "input[0].summary[0]"},
		{`"instructions":[]`, CodeInvalidType, "instructions"},
		{`"tools":[{"type":"custom","name":"x"},{"type":"custom","name":"y","format":{"type":"text"}}]`, "", ""},
		{`"tools":[{"type":"custom"}]`, CodeMissingParameter, "tools[0].name"},
		{`"tools":[{"type":"custom","name":"a b"}]`, CodeInvalidValue, "tools[0].name"},
		{`"tools":[{"type":"custom","name":"x","description":1}]`, CodeInvalidType, "tools[0].description"},
		{`"tools":[{"type":"custom","name":"x","format":{"type":"grammar","syntax":"lark","definition":"a"}}]`, "", ""},
		{`"tools":[{"type":"custom","name":"x","format":{"type":""}}]`, CodeInvalidValue, "tools[0].format.type"},
		{`"tools":[{"type":"custom","name":"x","format":{"type":"grammar","syntax":"lark"}}]`, CodeMissingParameter, "tools[0].format.definition"},
		{`"tools":[{"type":"custom","name":"x","format":{"type":"grammar","definition":"a"}}]`, CodeMissingParameter, "tools[0].format.syntax"},
		{`"tools":[{"type":"custom","name":"x","format":{"type":"grammar","syntax":"ebnf","definition":"a"}}]`, CodeInvalidValue, "tools[0].format.syntax"},
		{`"tools":[{"type":"custom","name":"x","format":{"type":"grammar","syntax":"lark","definition":"` + strings.Repeat("a", maxGrammar+1) + `"}}]`, CodeInvalidValue, "tools[0].format.definition"},
		{`"input":[{"type":"custom_tool_call","name":"f","input":"x"}]`, CodeMissingParameter, "input[0].call_id"},
		{`"input":[{"type":"custom_tool_call","call_id":"c","name":"f","arguments":"x"}]`, CodeMissingParameter, "input[0].input"},
		{`"input":[{"type":"custom_tool_call_output","call_id":"c"}]`, CodeMissingParameter, "input[0].output"},
		{`"tools":[{"name":"x"}]`, CodeMissingParameter, "tools[0].type"},
		{`"tools":[{"type":"function","name":"a b"}]`, CodeInvalidValue, "tools[0].name"},
		{`"tools":[{"type":"function","name":"a","strict":"x"}]`, CodeInvalidType, "tools[0].strict"},
		{`"tools":[{"type":"namespace","name":"a"}]`, CodeMissingParameter, "tools[0].tools"},
		{`"tools":[{"type":"namespace","name":"a","tools":[{"type":"custom"}]}]`, CodeMissingParameter, "tools[0].tools[0].name"},
		{`"tools":[{"type":"namespace","name":"a","tools":[{"type":"mcp"}]}]`, CodeInvalidValue, "tools[0].tools[0].type"},
		{`"tools":[{"type":"web_search","external_web_access":true}]`, "", ""},
		{`"background":true`, CodeUnsupportedParameter, "background"},
		{`"background":false`, "", ""},
		{`"conversation":"c"`, CodeUnsupportedParameter, "conversation"},
		{`"prompt":{"id":"p"}`, CodeUnsupportedParameter, "prompt"},
		{`"top_logprobs":2`, "", ""},
		{`"top_logprobs":21`, CodeInvalidValue, "top_logprobs"},
		{`"truncation":"middle"`, CodeInvalidValue, "truncation"},
		{`"service_tier":"ultrafast","stream_options":{"include_obfuscation":true}`, "", ""},
		{`"service_tier":"slow"`, CodeInvalidValue, "service_tier"},
		{`"stream_options":{"include_obfuscation":1}`, CodeInvalidType, "stream_options.include_obfuscation"},
		{`"moderation":{"model":"m"}`, CodeUnsupportedParameter, "moderation"},
		{`"moderation":null`, "", ""},
		{`"prompt_cache_retention":"24h","prompt_cache_options":{"mode":"explicit","ttl":"30m"}`, "", ""},
		{`"prompt_cache_options":{"ttl":"1h"}`, CodeInvalidValue, "prompt_cache_options.ttl"},
		{`"context_management":[{"type":"compaction","compact_threshold":5000}]`, "", ""},
		{`"context_management":[{"compact_threshold":5000}]`, CodeMissingParameter, "context_management[0].type"},
		{`"context_management":[]`, CodeInvalidValue, "context_management"},
		{`"reasoning":{"context":"all_turns","mode":"pro","generate_summary":"auto"}`, "", ""},
		{`"reasoning":{"context":"no_turns"}`, CodeInvalidValue, "reasoning.context"},
		{`"reasoning":{"mode":1}`, CodeInvalidType, "reasoning.mode"},
		{`"previous_response_id":null`, "", ""},
		{`"reasoning":{"effort":"utmost"}`, CodeInvalidValue, "reasoning.effort"},
		{`"reasoning":{"summary":"loud"}`, CodeInvalidValue, "reasoning.summary"},
		{`"text":{"verbosity":"none"}`, CodeInvalidValue, "text.verbosity"},
		{`"metadata":{"a":1}`, CodeInvalidType, "metadata.a"},
		{`"max_output_tokens":15`, CodeInvalidValue, "max_output_tokens"},
		{`"previous_response_id":"r","conversation":"c"`, CodeMutuallyExclusive, "conversation"},
		{`"conversation":{"id":"c"},"previous_response_id":"r"`, CodeMutuallyExclusive, "conversation"},
		{`"stop":"a"`, CodeUnsupportedParameter, "stop"},
		{`"include_reasoning":false`, CodeUnsupportedParameter, "include_reasoning"},
		{`"regex":"a","text":{"format":{"type":"json_object"}}`, CodeMutuallyExclusive, "regex"},
		{`"store":1`, CodeInvalidType, "store"},
		{`"parallel_tool_calls":1`, CodeInvalidType, "parallel_tool_calls"},
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
	checkError(t, "previous", err, 400, CodePreviousResponseNotFound, "previous_response_id")
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

// TestOnlyTextsAreBorrowed overwrites the body after decoding: a host's buffer is only valid for the call, and nothing
// but the conversation's texts may lie in it.
func TestOnlyTextsAreBorrowed(t *testing.T) {
	body := []byte(`{"model":"mmm","input":[{"role":"user","content":"hello"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],
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

// Schemas cost many times their size, so the tools of a request are bounded by themselves.
func TestToolsAreBounded(t *testing.T) {
	schema := `{"enum":[` + strings.TrimSuffix(strings.Repeat("0,", MaxTools/2), ",") + `]}`
	_, err := decodeChat([]byte(`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":` + schema + `}}]}`))
	if err == nil || err.Param != "tools" {
		t.Errorf("Chat: %v", err)
	}
	_, err = decodeResponses([]byte(`{"model":"m","input":"x","tools":[{"type":"function","name":"f","parameters":` + schema + `}]}`))
	if err == nil || err.Param != "tools" {
		t.Errorf("Responses: %v", err)
	}
}

// What is repeated in the answer is held as long as the answer lasts, so it is bounded by itself.
func TestEchoIsBounded(t *testing.T) {
	long := strings.Repeat("x", maxInstructions+1)
	for _, field := range []string{
		`"tool_choice":{"type":"function","name":"` + long + `"}`,
		`"instructions":"` + long + `"`, `"metadata":{"a":"` + long + `"}`, `"user":"` + long + `"`,
		`"prompt_cache_key":"` + long + `"`, `"safety_identifier":"` + long + `"`, `"temperature":0.` + strings.Repeat("1", maxLabel),
	} {
		_, err := decodeResponses([]byte(`{"model":"m","input":"x",` + field + `}`))
		if err == nil || err.Status != 400 || !strings.HasPrefix(field, `"`+err.Param+`"`) {
			t.Errorf("%.30s: %v", field, err)
		}
	}
}

func TestTurnsAreBounded(t *testing.T) {
	repeat := func(piece string) string { return strings.TrimSuffix(strings.Repeat(piece+",", maxTurns+1), ",") }
	_, message := decodeChat([]byte(`{"model":"m","messages":[` + repeat(`{"role":"user","content":""}`) + `]}`))
	_, call := decodeChat([]byte(`{"model":"m","messages":[{"role":"assistant","tool_calls":[` +
		repeat(`{"id":"a","function":{"name":"f","arguments":""}}`) + `]}]}`))
	_, item := decodeResponses([]byte(`{"model":"m","input":[` + repeat(`{"role":"user","content":""}`) + `]}`))
	_, part := decodeChat([]byte(`{"model":"m","messages":[{"role":"user","content":[` + repeat(`{"type":"text","text":"a"}`) + `]}]}`))
	half := `[` + strings.TrimSuffix(strings.Repeat(`{"type":"input_text","text":"a"},`, maxTurns/2), ",") + `]`
	_, parts := decodeResponses([]byte(`{"model":"m","input":[{"role":"user","content":` + half + `},{"role":"user","content":` + half + `},{"role":"user","content":"a"}]}`))
	for name, err := range map[string]*Error{"message": message, "call": call, "item": item, "part": part, "parts of two messages": parts} {
		if err == nil || err.Code != CodeContextLengthExceeded {
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
	if err := body.Bounded(0); err == nil || err.Code != CodeMaxValuesExceeded {
		t.Errorf("one value too many: %v", err)
	}
	if err := body.Bounded(1); err != nil {
		t.Errorf("one of which does not count: %v", err)
	}
}

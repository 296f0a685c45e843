//go:build e2e

package fields

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// byExtras is the verdict on a parameter that the operator allows or not.
const byExtras = "by `server_extras`"

// asking are values of servers' parameters by which a client asks for something.
var asking = map[string]string{
	"structured_outputs": `{"choice":["a","b"]}`, "guided_json": `{"type":"object"}`, "json_schema": `"{}"`,
	"guided_json_object": "true",
	"guided_choice":      `["a"]`, "guided_regex": `"a+"`, "regex": `"a+"`, "guided_grammar": `"root ::= \"a\""`,
	"ebnf": `"root ::= \"a\""`, "grammar": `"root ::= \"a\""`,
	"include_reasoning": "false", "thinking_token_budget": "5", "logit_bias": `{"64":1}`, "stop": `"a"`,
	"best_of": "2", "continue_final_message": "true", "add_generation_prompt": "false", "echo": "true",
	"ignore_eos":                 "true",
	"include_stop_str_in_output": "true", "no_stop_trim": "true", "separate_reasoning": "false", "use_beam_search": "true",
	"bad_words": `["a"]`, "allowed_token_ids": "[64]", "stop_regex": `"a"`, "logits_processors": `["a"]`,
	"custom_logit_processor": `"a"`,
	"vllm_xargs":             `{"a":1}`, "repetition_detection": `{"max_pattern_size":4}`, "truncate_prompt_tokens": "10",
	"documents":     `[{"text":"a"}]`,
	"chat_template": `"a"`, "lora_path": `"a"`, "session_params": `{"id":"a"}`, "structural_tag": `"{}"`,
	"guided_whitespace_pattern": `" "`,
	"top_k":                     "5", "min_p": "0.1", "repetition_penalty": "1.1", "min_tokens": "2",
	"stop_token_ids": "[64]", "priority": "1", "cache_salt": `"a"`,
	"chat_template_kwargs": `{"reasoning_effort":"high"}`,
	"reasoning":            `{"effort":"high"}`, "return_token_ids": "true", "enable_response_messages": "true",
	"max_output_tokens": "16", "text": `{"verbosity":"low"}`, "instructions": `"a"`, "previous_response_id": `"a"`,
	"conversation": `"a"`, "response_format": `{"type":"json_object"}`, "max_tokens": "16", "max_completion_tokens": "16",
	"reasoning_effort": `"low"`, "verbosity": `"low"`, "logprobs": "true", "functions": `[{"name":"f"}]`,
	"function_call": `"auto"`, "n": "2",
}

// leftInAnswer are honoured parameters that are not sent to the server.
var leftInAnswer = map[string]bool{"include_reasoning": true, "thinking_token_budget": true}

// TestServerFields holds the second tables of docs/chat-fields.md and docs/responses-fields.md against what the core
// knows of the servers' parameters, and against what the gateway does with each.
func TestServerFields(t *testing.T) {
	for _, api := range []*fieldAPI{chatAPI, responsesAPI} {
		_, rows := api.readTables(t)
		g, tests := caseGateway(t), testNames(t)
		plain := func(more map[string]any) []byte { return body(t, api.surround(more)) }
		known := openai.ServerParams()
		if api == responsesAPI {
			known = append(append(known, "logit_bias"), openai.MisplacedInResponses()...)
		} else {
			known = slices.DeleteFunc(known, func(name string) bool { return name == "stop" })
			known = append(append(known, "reasoning"), openai.MisplacedInChat()...)
		}
		for _, name := range known {
			if _, ok := rows[name]; !ok {
				t.Errorf("%s has no row for %s", api.table, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			row := rows[name]
			if !slices.Contains(known, name) {
				t.Errorf("%s: the core does not know %s", api.table, name)
				continue
			}
			value, ok := asking[name]
			if !ok {
				t.Fatalf("no value by which a client asks for %s", name)
			}
			asked := plain(map[string]any{name: json.RawMessage(value)})
			refusal, without := refusalOf(t, g, api.path, asked), plain(map[string]any{})
			switch {
			case row.verdict == isRefused:
				if refusal == nil || refusal.Code != row.code || refusal.Param != name {
					t.Errorf("%s: refused with %q, says the table; got %+v for %s", name, row.code, refusal, asked)
				}
			case row.verdict != isHonoured && row.verdict != byExtras:
				t.Errorf("%s: %q is no verdict", name, row.verdict)
			case refusal != nil:
				t.Errorf("%s: %s, says the table; got %+v for %s", name, row.verdict, refusal, asked)
			case row.verdict == isHonoured && !leftInAnswer[name] &&
				bytes.Equal(sent(g, api.path, asked), sent(g, api.path, without)):
				t.Errorf("%s: honoured, says the table, but the server hears nothing of it", name)
			}
			absent := plain(map[string]any{name: nil})
			if refusal := refusalOf(t, g, api.path, absent); refusal != nil ||
				!bytes.Equal(sent(g, api.path, absent), sent(g, api.path, without)) {
				t.Errorf("%s: null is not as if it were absent: %+v", name, refusal)
			}
			for _, test := range row.shown {
				if request, ok := tests[test]; !ok {
					t.Errorf("%s: there is no case and no test %q", name, test)
				} else if request != "" && !strings.Contains(request, lab.Quote(name)) {
					t.Errorf("%s: the case %s does not send it", name, test)
				}
			}
		}
	}
}

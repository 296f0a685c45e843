package openai

import (
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

func decodeMembers(members string) (*ChatRequest, *Error) {
	return decodeChat([]byte(`{"model":"m","messages":[{"role":"user","content":"hi"}],` + members + `}`))
}

// TestGuided checks the constraints that the servers' own parameters put on an answer.
func TestGuided(t *testing.T) {
	schema := func(at string) TextFormat { return TextFormat{Name: "json", Schema: `{"type":"object"}`, StrictAt: at} }
	object := func(at string) TextFormat {
		return TextFormat{Name: "json_object", Schema: `{"type":"object"}`, StrictAt: at}
	}
	for members, want := range map[string]TextFormat{
		`"structured_outputs":{"json":{ "type" : "object" }}`:    schema("structured_outputs.json"),
		`"structured_outputs":{"json":" {\"type\":\"object\"}"}`: schema("structured_outputs.json"),
		`"guided_json":{"type":"object"}`:                        schema("guided_json"),
		`"json_schema":"{\"type\":\"object\"}"`:                  schema("json_schema"),
		`"structured_outputs":{"json_object":true,"regex":null}`: object("structured_outputs.json_object"),
		`"guided_json_object":true`:                              object("guided_json_object"),
		`"structured_outputs":{"regex":"a+"}`: {
			Pattern: "a+", StrictAt: "structured_outputs.regex"},
		`"guided_regex":"a+","regex":null`:               {Pattern: "a+", StrictAt: "guided_regex"},
		`"regex":"a+","response_format":{"type":"text"}`: {Pattern: "a+", StrictAt: "regex"},
		`"structured_outputs":{"choice":["a","\u00e9"],"_backend":"x"}`: {
			Choices: []string{"a", "é"}, StrictAt: "structured_outputs.choice"},
		`"guided_choice":["a"],"guided_decoding_backend":"outlines"`: {
			Choices: []string{"a"}, StrictAt: "guided_choice"},
		`"grammar":"x ::= \"a\"\nroot::=x"`: {
			Grammar: "x ::= \"a\"\nroot::=x", StrictAt: "grammar"},
		`"ebnf":"root  ::= x"`: {Grammar: "root  ::= x", StrictAt: "ebnf"},
		`"guided_json":{},"regex":"","guided_choice":[],"grammar":""`: {
			Name: "json", Schema: "{}", StrictAt: "guided_json"},
		`"structured_outputs":{"grammar":"root ::= \"a\""}`: {
			Grammar: `root ::= "a"`, StrictAt: "structured_outputs.grammar"},
		`"guided_grammar":"root ::= x"`: {
			Grammar: "root ::= x", StrictAt: "guided_grammar"},
		`"ebnf":"root ::= x"`:    {Grammar: "root ::= x", StrictAt: "ebnf"},
		`"grammar":"root ::= x"`: {Grammar: "root ::= x", StrictAt: "grammar"},
		`"structured_outputs":null,"guided_json":null,"regex":null`:    {},
		`"guided_json_object":false`:                                   {},
		`"guided_json_object":false,"response_format":{"type":"text"}`: {},
		`"structured_outputs":{"json":{},"disable_any_whitespace":false}`: {
			Name: "json", Schema: "{}", StrictAt: "structured_outputs.json"},
		`"response_format":{"type":"json_object"},"structured_outputs":null`: {
			Name: "json_object", Schema: `{"type":"object"}`},
	} {
		r, err := decodeMembers(members)
		if err != nil || !reflect.DeepEqual(r.Format, want) {
			t.Errorf("%s: got %+v, %v", members, r, err)
		}
	}
	long := strings.Repeat("a", maxGrammar+1)
	for _, tt := range []struct{ members, code, param string }{
		{`"structured_outputs":{}`, contract.CodeInvalidValue, "structured_outputs"},
		{`"structured_outputs":"json"`, contract.CodeInvalidType, "structured_outputs"},
		{`"structured_outputs":{"regex":"a","choice":["a"]}`, contract.CodeMutuallyExclusive, "structured_outputs.choice"},
		{`"guided_regex":"a","regex":"a"`, contract.CodeMutuallyExclusive, "regex"},
		{`"guided_regex":"a","response_format":{"type":"json_object"}`, contract.CodeMutuallyExclusive, "guided_regex"},
		{`"structured_outputs":{"structural_tag":"{}"}`, contract.CodeUnsupportedParameter,
			"structured_outputs.structural_tag"},
		{`"structured_outputs":{"json":{},"whitespace_pattern":" "}`, contract.CodeUnsupportedParameter,
			"structured_outputs.whitespace_pattern"},
		{`"structured_outputs":{"json":{},"disable_any_whitespace":true}`, contract.CodeUnsupportedParameter,
			"structured_outputs.disable_any_whitespace"},
		{`"guided_json":[1]`, contract.CodeInvalidType, "guided_json"},
		{`"guided_json":"[]"`, contract.CodeInvalidValue, "guided_json"},
		{`"guided_json":"{"`, contract.CodeInvalidJSON, "guided_json"},
		{`"guided_json":` + strings.Repeat(`{"a":`, MaxSchemaDepth+1) + "1" + strings.Repeat("}", MaxSchemaDepth+1),
			contract.CodeMaxDepthExceeded, "guided_json"},
		{`"guided_json":{"a":"` + strings.Repeat("a", maxFormat) + `"}`, contract.CodeInvalidValue, "guided_json"},
		{`"guided_json_object":1`, contract.CodeInvalidType, "guided_json_object"},
		{`"regex":1`, contract.CodeInvalidType, "regex"},
		{`"structured_outputs":{"regex":""}`, contract.CodeInvalidValue, "structured_outputs.regex"},
		{`"regex":"` + long + `"`, contract.CodeInvalidValue, "regex"},
		{`"structured_outputs":{"choice":[]}`, contract.CodeInvalidValue, "structured_outputs.choice"},
		{`"guided_choice":"a"`, contract.CodeInvalidType, "guided_choice"},
		{`"guided_choice":["a",1]`, contract.CodeInvalidType, "guided_choice[1]"},
		{`"guided_choice":[""]`, contract.CodeInvalidValue, "guided_choice[0]"},
		{`"guided_choice":[` + strings.Repeat(`"a",`, maxAnswers) + `"a"]`, contract.CodeInvalidValue, "guided_choice[1024]"},
		{`"guided_choice":["` + long + `"]`, contract.CodeInvalidValue, "guided_choice"},
		{`"guided_grammar":"start: x"`, contract.CodeUnsupportedParameter, "guided_grammar"},
		{`"guided_grammar":"taproot ::= x"`, contract.CodeUnsupportedParameter, "guided_grammar"},
		{`"guided_grammar":"a ::= root"`, contract.CodeUnsupportedParameter, "guided_grammar"},
	} {
		_, err := decodeMembers(tt.members)
		checkError(t, tt.members, err, 400, tt.code, tt.param)
	}
}

// TestServerParams checks that a parameter that is not supported is refused exactly when its value asks for an effect.
func TestServerParams(t *testing.T) {
	for i := range serverParams {
		p := &serverParams[i]
		if p.name == "stop" || p.name == "include_reasoning" {
			continue // Chat has it
		}
		active, inactive := []string{`["a"]`, `"a"`, `1`, `{"a":1}`}, []string{`null`, `[]`, `""`, `{ }`}
		switch p.activeWhen {
		case whenTrue:
			active, inactive = []string{`true`}, []string{`null`, `false`}
		case whenFalse:
			active, inactive = []string{`false`}, []string{`null`, `true`}
		}
		for _, v := range active {
			_, err := decodeMembers(`"` + p.name + `":` + v)
			checkError(t, p.name+" "+v, err, 400, contract.CodeUnsupportedParameter, p.name)
			if err != nil && (!strings.Contains(err.Message, "'"+p.name+"'") || !strings.HasSuffix(err.Message, ".")) {
				t.Errorf("%s: %s", p.name, err.Message)
			}
		}
		for _, v := range inactive {
			if _, err := decodeMembers(`"` + p.name + `":` + v); err != nil {
				t.Errorf("%s %s: %v", p.name, v, err)
			}
		}
		if p.activeWhen != anyValue {
			_, err := decodeMembers(`"` + p.name + `":1`)
			checkError(t, p.name, err, 400, contract.CodeInvalidType, p.name)
		}
	}
	for members, code := range map[string]string{
		`"best_of":1`: "", `"best_of":null`: "", `"best_of":2`: contract.CodeUnsupportedParameter,
		`"best_of":"2"`:         contract.CodeInvalidType,
		`"include_reasoning":1`: contract.CodeInvalidType, `"unknown":1`: "", `"skip_special_tokens":false`: "",
		`"separate_reasoning":true`: "",
	} {
		_, err := decodeMembers(members)
		param := ""
		if code != "" {
			param, _, _ = strings.Cut(members[1:], `"`)
		}
		checkError(t, members, err, 400, code, param)
	}
	for members, hidden := range map[string]bool{
		`"include_reasoning":false`: true, `"include_reasoning":true`: false, `"include_reasoning":null`: false} {
		if r, err := decodeMembers(members); err != nil || r.HideReasoning != hidden {
			t.Errorf("%s: %+v, %v", members, r, err)
		}
	}
}

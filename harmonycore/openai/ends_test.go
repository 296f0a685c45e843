package openai

import (
	"reflect"
	"strings"
	"testing"
)

// withoutEnds opens a body and forgets where its long values end.
func withoutEnds(t *testing.T, text string) *Body {
	t.Helper()
	body, failure := Open([]byte(text))
	if failure != nil {
		t.Fatalf("%s: %+v", text, failure)
	}
	body.root.ends = nil
	return body
}

// TestEndsChangeNothing: with the ends of long values, which are noted while a body is checked, a decoder reads what it
// reads without them, and errors are the same.
func TestEndsChangeNothing(t *testing.T) {
	long := strings.Repeat(`It is \"long\", {and} [has] \\ ends\n`, 10)
	huge := strings.Repeat(long, 100) // its memory is the body's
	schema := `{"type":"object","properties":{"a":{"type":"string","description":"` + long + `"}}}`
	for _, members := range []string{
		`"messages":[{"role":"user","content":"` + long + `"},{"role":"assistant","content":[{"type":"text","text":"` + long +
			`"}],"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"` + long + `"}}]},` +
			`{"role":"tool","tool_call_id":"c","content":"` + huge + `"},{"role":"user","content":"` + huge + `"}],` +
			`"tools":[{"type":"function","function":{"name":"f","description":"` + long + `","parameters":` + schema + `}}]`,
		`"messages":[{"role":"user","content":"` + long + `"},{"role":"` + long + `","content":"x"}]`,
		`"messages":[{"role":"user","content":"` + huge + `"},{"role":"tool","content":"` + long + `"}]`,
		`"instructions":"` + long + `","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"` +
			huge + `"}]},{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"` + long + `"}],` +
			`"encrypted_content":"` + long + `"},{"type":"function_call","call_id":"c","name":"f","arguments":"` + huge + `"},` +
			`{"type":"function_call_output","call_id":"c","output":"` + long + `"}],"tools":[{"type":"function",` +
			`"name":"f","description":"` + long + `","parameters":` + schema + `}],"metadata":{"a":"` + long[:200] + `"}`,
		`"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"` + long + `"},{"type":"x` + long +
			`"}]}]`,
		`"input":"` + huge + `","reasoning":{"effort":"` + long + `"}`,
	} {
		text := ` {"model":"m","stream":true,` + members + `}`
		if opened, failure := Open([]byte(text)); failure != nil || opened.root.ends == nil {
			t.Fatalf("%+v", failure)
		}
		for _, decode := range []func(*Body) (any, *Error){
			func(b *Body) (any, *Error) { return DecodeChatRequest(b) },
			func(b *Body) (any, *Error) { return DecodeResponsesRequest(b) },
			func(b *Body) (any, *Error) { return DecodeResponsesConversation(b) },
			func(b *Body) (any, *Error) { return b.ResponsesNeeds() },
		} {
			body, _ := Open([]byte(text))
			got, failure := decode(body)
			want, wantFailure := decode(withoutEnds(t, text))
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(failure, wantFailure) {
				t.Errorf("%.200s: got %+v, %+v, want %+v, %+v", text, got, failure, want, wantFailure)
			}
		}
	}
}

// TestTokenIDValuesByEnds: ids are counted in a long history as in a short one.
func TestTokenIDValuesByEnds(t *testing.T) {
	text := `{"model":"m","messages":[` + strings.Repeat(`{"role":"assistant","content":"a","prompt_token_ids":[1,2,3],`+
		`"generation_token_ids":[`+strings.Repeat("7,", 100)+`7],"token_logprobs":[0.5]},`, 5) + `1]}`
	text = strings.ReplaceAll(text, "token_logprobs", memberLogprobs)
	body, failure := Open([]byte(text))
	if failure != nil {
		t.Fatal(failure)
	}
	if got, want := body.TokenIDValues(), withoutEnds(t, text).TokenIDValues(); got != want || got != 5*105 {
		t.Errorf("got %d, want %d", got, want)
	}
}

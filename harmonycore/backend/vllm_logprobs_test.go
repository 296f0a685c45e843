package backend

import (
	"fmt"
	"strings"
	"testing"
)

func TestVLLMAsksForChoicesAndLogprobs(t *testing.T) {
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{Request{}, ""}, {Request{Choices: 1}, ""}, {Request{Choices: 3}, `"n":3,`},
		{Request{Logprobs: true}, `"logprobs":0,"return_tokens_as_token_ids":true,`},
		{Request{Logprobs: true, TopLogprobs: 20, Choices: 2}, `"n":2,"logprobs":20,"return_tokens_as_token_ids":true,`},
	} {
		body := string(server(t).AppendRequest(nil, &tt.r))
		_, rest, _ := strings.Cut(body, `"max_tokens":0,`)
		if got, _, _ := strings.Cut(rest, `"stop_token_ids"`); got != tt.want {
			t.Errorf("%+v: got %q", tt.r, got)
		}
	}
}

func TestVLLMLogprobs(t *testing.T) {
	event := func(logprobs string) string {
		return `{"choices":[{"index":1,"token_ids":[7,8],"logprobs":` + logprobs + `}]}`
	}
	var e Event
	for _, tt := range []struct{ logprobs, want string }{
		{`null`, ""}, {`{}`, ""}, {`[]`, ""}, {`{"token_logprobs":null}`, ""}, {`{"token_logprobs":[]}`, ""},
		{`{"token_logprobs":[-0.1,-2.5e-07],"tokens":["token_id:7","token_id:8"],"text_offset":[0,10],` +
			`"top_logprobs":[{"token_id:7":-0.1,"token_id:200002":-9999.0},{"token_id:8":-2}]}`,
			"-0.1 7:-0.1 200002:-9999.0; -2.5e-07 8:-2; "},
		{`{"top_logprobs":[{"token_id:8":-2}],"token_logprobs":[-1,-2]}`, "-1 8:-2; -2; "},
		{`{"token_logprobs":[-1],"top_logprobs":[null,{"token_id:8":-2}]}`, "-1; "},
		// The list ends at an element that is not a number. A key that does not name an id is left out.
		{`{"token_logprobs":[-1,null,-3]}`, "-1; "},
		{
			`{"token_logprobs":[-1],"top_logprobs":[{"the":-1,"token_id:":-1,"token_id:x":-1,"token_id:-1":-1,` +
				`"token_id:99999999999":-1,"token_id:5":"x","token_id:6":-6}]}`, "-1 6:-6; ",
		},
	} {
		if !readVLLM([]byte(event(tt.logprobs)), &e) || e.Index != 1 || len(e.Tokens) != 2 {
			t.Fatalf("%s: %+v", tt.logprobs, e)
		}
		got := ""
		for _, l := range e.Logprobs {
			got += string(l.Logprob)
			for _, other := range l.Top {
				got += fmt.Sprintf(" %d:%s", other.ID, other.Logprob)
			}
			got += "; "
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.logprobs, got, tt.want)
		}
	}
}

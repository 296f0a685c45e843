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

// logprobsEvents returns, for kinds that send logprobs, the data of an event with this many tokens and alternatives of
// each.
var logprobsEvents = []struct {
	kind  Kind
	event func(tokens, alternatives int) string
}{
	{vllm{}, func(tokens, alternatives int) string {
		return fmt.Sprintf(`{"choices":[{"token_ids":[%s],"logprobs":{"token_logprobs":[%s],"top_logprobs":[%s]}}]}`,
			repeated("7", tokens), repeated("-1", tokens), repeated("{"+repeated(`"token_id:8":-2`, alternatives)+"}", tokens))
	}},
	{vllmGenerate{}, func(tokens, alternatives int) string {
		return fmt.Sprintf(`{"choices":[{"token_ids":[%s],"logprobs":{"content":[%s]}}]}`, repeated("7", tokens),
			repeated(`{"logprob":-1,"top_logprobs":[`+repeated(`{"token_id":8,"logprob":-2}`, alternatives)+`]}`, tokens))
	}},
	{sglang{}, func(tokens, alternatives int) string {
		return fmt.Sprintf(`{"output_ids":[%s],"meta_info":{"completion_tokens":10,"output_token_logprobs":[%s],`+
			`"output_top_logprobs":[%s]}}`, repeated("7", tokens), repeated("[-1,7,null]", tokens),
			repeated("["+repeated("[-2,8,null]", alternatives)+"]", tokens))
	}},
}

// repeated returns elements with commas between them.
func repeated(element string, n int) string {
	return strings.TrimSuffix(strings.Repeat(element+",", n), ",")
}

// TestManyAlternatives: a server that sends more alternatives than anyone can ask for takes no more memory or time.
func TestManyAlternatives(t *testing.T) {
	for _, tt := range logprobsEvents {
		for sent, want := range map[int]int{21: 21, maxAlternatives: maxAlternatives, 10_000: maxAlternatives} {
			r := tt.kind.NewReader()
			r.Write([]byte("data: " + tt.event(2, sent) + "\n\n"))
			var e Event
			if r.Next(&e) != Read || len(e.Logprobs) != 2 || len(e.Logprobs[0].Top) != want || len(e.Logprobs[1].Top) != want {
				t.Errorf("%s: of %d alternatives %d are read", tt.kind.Facts().Name, sent, len(e.Logprobs[0].Top))
			}
		}
	}
}

// TestLogprobsKeepNoEvent: the numbers of an event lie in its memory, which the next event must not keep.
func TestLogprobsKeepNoEvent(t *testing.T) {
	for _, tt := range logprobsEvents {
		r := tt.kind.NewReader()
		r.Write([]byte("data: " + tt.event(9, 3) + "\n\ndata: " + tt.event(1, 1) + "\n\n"))
		var e Event
		first, second := r.Next(&e), r.Next(&e)
		if first != Read || second != Read || len(e.Logprobs) != 1 || cap(e.Logprobs) < 9 {
			t.Fatalf("%s: %+v", tt.kind.Facts().Name, e)
		}
		for i, l := range e.Logprobs[:9] {
			top := l.Top[:cap(l.Top)]
			if i > 0 && l.Logprob != nil || top[2].Logprob != nil {
				t.Errorf("%s: place %d keeps %q and %+v", tt.kind.Facts().Name, i, l.Logprob, top)
			}
		}
	}
}

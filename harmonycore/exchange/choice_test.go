package exchange

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// serverChunk is an event of a server's stream with the ids of a Harmony text for one choice; finish may be empty.
func serverChunk(index int, text, finish string) string {
	ids, _ := json.Marshal(o200k.Tokenizer().AppendEncodeSpecial([]uint32{}, text))
	reason := "null"
	if finish != "" {
		reason = `"` + finish + `"`
	}
	return fmt.Sprintf("data: {\"choices\":[{\"index\":%d,\"text\":\"\",\"token_ids\":%s,\"finish_reason\":%s}]}\n\n",
		index, ids, reason)
}

const (
	serverUsage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":30}}\n\n"
	serverDone  = "data: [DONE]\n\n"
)

// answered is what an exchange gives the client for the server's stream.
func answered(t *testing.T, body, stream string) string {
	t.Helper()
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", body)
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
	a := x.ResponseBody([]byte(stream), false)
	if a.Reply != nil {
		return string(a.Reply.Body)
	}
	return string(a.Body)
}

const twoChoices = `{"model":"` + testModel + `","n":2,%s"messages":[{"role":"user","content":"Hi"}]}`

func TestChoicesInterleave(t *testing.T) {
	stream := serverChunk(1, "<|channel|>final<|message|>B", "") +
		serverChunk(0, "<|channel|>analysis<|message|>think", "") +
		serverChunk(1, "2", "length") + serverChunk(0, "<|end|><|start|>assistant<|channel|>final<|message|>A<|return|>",
		"stop") + serverUsage + serverDone
	whole := answered(t, fmt.Sprintf(twoChoices, ""), stream)
	var got struct {
		Choices []struct {
			Index        int
			Message      struct{ Content, Reasoning string }
			FinishReason string `json:"finish_reason"`
		}
		Usage struct {
			CompletionTokens int `json:"completion_tokens"`
			Details          struct {
				ReasoningTokens int `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
		}
	}
	if err := json.Unmarshal([]byte(whole), &got); err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprintf("%+v", got); s != "{Choices:[{Index:0 Message:{Content:A Reasoning:think} FinishReason:stop} "+
		"{Index:1 Message:{Content:B2 Reasoning:} FinishReason:length}] "+
		"Usage:{CompletionTokens:30 Details:{ReasoningTokens:1}}}" {
		t.Error(s)
	}
	streamed := answered(t, fmt.Sprintf(twoChoices, `"stream":true,`), stream)
	var order []string
	for event := range strings.SplitSeq(strings.TrimSpace(streamed), "\n\n") {
		_, delta, _ := strings.Cut(event, `"choices":[`)
		order = append(order, strings.NewReplacer(`,"logprobs":null`, "", `,"finish_reason":null`, "",
			`"reasoning_content":"think"`, "", `"reasoning":null,"reasoning_content":null`, "").Replace(strings.TrimSuffix(delta,
			"]}")))
	}
	want := []string{
		`{"index":0,"delta":{"role":"assistant","content":"",}}`, `{"index":1,"delta":{"role":"assistant","content":"",}}`,
		`{"index":1,"delta":{"content":"B",}}`, `{"index":0,"delta":{"reasoning":"think",}}`,
		`{"index":1,"delta":{"content":"2",}}`, `{"index":1,"delta":{"content":"",},"finish_reason":"length"}`,
		`{"index":0,"delta":{"content":"A",}}`, `{"index":0,"delta":{"content":"",},"finish_reason":"stop"}`, ``,
	}
	if strings.Join(order, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(order, "\n"))
	}
}

// TestWholeAnswerIsBounded: what must be held to the end is held to what a VM can hold; a stream is not.
func TestWholeAnswerIsBounded(t *testing.T) {
	wide := o200k.Tokenizer().AppendEncode(nil, strings.Repeat("=", 64))
	ids, err := json.Marshal(slices.Repeat(wide, 1000))
	if err != nil {
		t.Fatal(err)
	}
	event := fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"token_ids\":%s}]}\n\n", ids)
	g := testGateway(func(o *Options) { o.Models[0].ContextLength = 4 << 20 })
	for _, stream := range []bool{false, true} {
		if stream && testing.Short() {
			continue // nothing is held, and the garbage of 33 MiB would make TinyGo's heap large for every test that follows
		}
		x := forwarded(t, g, "/v1/chat/completions", chatBody(stream))
		x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
		x.ResponseBody([]byte(serverChunk(0, "<|channel|>final<|message|>", "")), false)
		got := ""
		for sent := 0; sent < 33<<20 && got == ""; sent += 64000 {
			if a := x.ResponseBody([]byte(event), false); a.Reply != nil {
				got = string(a.Reply.Body)
			}
		}
		if strings.Contains(got, `"code":"answer_too_large"`) == stream {
			t.Errorf("stream %v: %s", stream, got)
		}
	}
}

// TestChoicesAreConstrained covers a choice that was not requested, one that never ends, and one that continues after
// its end.
func TestChoicesAreConstrained(t *testing.T) {
	body := fmt.Sprintf(twoChoices, "")
	valid := serverChunk(0, "<|channel|>final<|message|>A<|return|>", "stop")
	second := serverChunk(1, "<|channel|>final<|message|>B<|return|>", "stop")
	for _, tt := range []struct{ name, stream, want string }{
		{"a third", valid + serverChunk(2, "x", "stop"), "could not be understood"},
		{"a negative one", valid + serverChunk(-1, "x", "stop"), "could not be understood"},
		{"one missing", valid + serverUsage + serverDone, "before it was finished"},
		{"one aborted", valid + serverChunk(1, "x", "abort") + serverDone, "before it was finished"},
		{
			"two in an event", `data: {"choices":[{"index":0,"token_ids":[1]},{"index":1,"token_ids":[1]}]}` + "\n\n",
			"several choices",
		},
		{"one after its end", valid + serverChunk(0, "more", "") + second + serverDone, `"content":"A"`},
	} {
		if got := answered(t, body, tt.stream); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s", tt.name, got)
		}
	}
}

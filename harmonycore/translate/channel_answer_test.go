package translate

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// channelAnswer returns an answer to a question, as channel events.
func channelAnswer(t *testing.T, question string, requireFinal bool) Answer {
	t.Helper()
	r, err := read(Chat, `{"model":"m","stream":true,"messages":[{"role":"user","content":"`+question+
		`"}],"tools":[{"type":"function","function":{"name":"f"}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	r.answers.RequireFinalChannel = requireFinal
	r.ByChannels(nil)
	r.Conversation = harmony.Conversation{}
	return r.NewAnswer()
}

// eventsOf returns the events of a stream, each as NAME DATA.
func eventsOf(stream string) (list []string) {
	for event := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		list = append(list, name+" "+data)
	}
	return list
}

func TestChannelStreamGolden(t *testing.T) {
	got := eventsOf(play(channelAnswer(t, "q", false), answerCases[1], never))
	const usage = `"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30,` +
		`"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}`
	call, conversation, _ := strings.Cut(got[2], `"conversation":`)
	got[2] = call
	want := []string{
		`analysis {"message":0,"text":"t"}`, `commentary {"message":1,"text":"I look."}`,
		`tool_call {"message":2,"index":0,"id":"call_0123456789abcdef01234567_0","type":"function","name":"f",` +
			`"arguments":"{\"a\":1}",`,
		`done {"id":"chatcmpl-0123456789abcdef01234567","created":1700000000,"model":"m","finish_reason":"tool_calls",` +
			usage + `}`,
	}
	if encode(t, got) != encode(t, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	for _, part := range []string{`{"messages":[{"role":"system",`,
		`{"role":"user","content":"q"},{"role":"assistant","content":"t","channel":"analysis"},` +
			`{"role":"assistant","content":"I look.","channel":"commentary"},{"role":"assistant","recipient":"functions.f",` +
			`"content":"{\"a\":1}","channel":"commentary","content_type":"json"}]}}`} {
		if !strings.Contains(conversation, part) {
			t.Errorf("%s is not in\n%s", part, conversation)
		}
	}
}

// TestChannelStreamEnds checks the end of each turn, with and without a required final message.
func TestChannelStreamEnds(t *testing.T) {
	for _, c := range answerCases {
		for _, required := range []bool{false, true} {
			events := eventsOf(play(channelAnswer(t, "q", required), c, never))
			chunks := play(answerTo(t, ChatAPI, `"stream":true,`), c, never)
			want := "done "
			if required && c.name == "nothing at all" {
				want = "error "
			}
			last := events[len(events)-1]
			if !strings.HasPrefix(last, want) {
				t.Errorf("%s, required %v: %s", c.name, required, last)
			}
			_, reason, _ := strings.Cut(last, `"finish_reason":`)
			if reason, _, _ = strings.Cut(reason, ","); reason != "" && !strings.Contains(chunks, `"finish_reason":`+reason) {
				t.Errorf("%s: %s, and chunks say otherwise", c.name, last)
			}
		}
	}
}

// TestChannelStreamTakenOften checks that the bytes do not depend on how often they are taken.
func TestChannelStreamTakenOften(t *testing.T) {
	for _, c := range answerCases {
		whole := play(channelAnswer(t, "q", false), c, never)
		rng := rand.New(rand.NewPCG(1, 1))
		if got := play(channelAnswer(t, "q", false), c, func() bool { return rng.IntN(2) == 0 }); got != whole {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, whole)
		}
	}
}

// TestChannelStreamFails checks that the error is the last event and that an open call is not sent.
func TestChannelStreamFails(t *testing.T) {
	a := channelAnswer(t, "q", false)
	a.Begin()
	c := a.Choices()[0]
	c.Open(harmony.Header{Channel: harmony.Analysis})
	c.Content([]byte("Hm"), 1)
	c.Close(harmony.EndedByEnd)
	c.Open(harmony.Header{Recipient: "functions.f", Channel: harmony.Commentary})
	c.Content([]byte("{"), 1)
	c.Close(harmony.Cut)
	a.Fail(&openai.Error{Type: contract.ServerErrorType, Code: contract.CodeServerError, Message: "m"})
	a.Fail(&openai.Error{})
	c.Open(harmony.Header{Channel: harmony.Final})
	c.Content([]byte("late"), 1)
	c.Close(harmony.EndedByEnd)
	c.End(Stop)
	a.Finish(Usage{}, 0)
	want := []string{`analysis {"message":0,"text":"Hm"}`, `error {"error":{"message":"m","type":"server_error",` +
		`"param":null,"code":"server_error"},"usage":null}`}
	if got := eventsOf(string(a.Ready().Take(nil))); encode(t, got) != encode(t, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestChannelStreamIsBounded checks that a conversation that is too long is null, and so are the conversations of calls
// after many others.
func TestChannelStreamIsBounded(t *testing.T) {
	long := strings.Repeat("x", conversationLimit)
	if got := play(channelAnswer(t, long, false), answerCases[1], never); !strings.Contains(got, `"conversation":null}`) ||
		len(got) > 2000 {
		t.Errorf("a long question: %d bytes", len(got))
	}
	a := channelAnswer(t, long[:conversationLimit/2], false)
	a.Begin()
	c := a.Choices()[0]
	for range 1000 {
		c.Open(harmony.Header{Recipient: "functions.f", Channel: harmony.Commentary})
		c.Close(harmony.EndedByEnd)
	}
	got := string(a.Ready().Take(nil))
	if n := strings.Count(got, "event: tool_call"); n != 1000 || len(got) > carriedLimit+conversationLimit+1000*200 {
		t.Errorf("%d calls, %d bytes", n, len(got))
	}
	if whole := strings.Count(got, `"conversation":{`); whole < 4 {
		t.Errorf("only %d conversations", whole)
	}
}

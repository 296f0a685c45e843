package exchange

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// markedGateway is a gateway whose servers answer in text with the ids of control tokens.
func markedGateway() *Gateway {
	return testGateway(func(o *Options) { o.Kind, _ = backend.Named(contract.LlamaCPP) })
}

// markedEvent is an event of such a server. predicted is how many tokens the answer has with it.
func markedEvent(text string, id uint32, predicted int) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf("data: {\"index\":0,\"content\":%s,\"tokens\":[%d],\"stop\":false,\"tokens_predicted\":%d}\n\n",
		quoted, id, predicted)
}

// markedEnd is the last event of an answer.
func markedEnd(stopType string, predicted int) string {
	return fmt.Sprintf("data: {\"index\":0,\"content\":\"\",\"tokens\":[],\"stop\":true,\"stop_type\":%q,"+
		"\"tokens_predicted\":%d,\"tokens_evaluated\":7}\n\n", stopType, predicted)
}

// markedAnswer is the stream of an answer: no event while the text ends within a character, and then one with the last
// id.
func markedAnswer(answer string) string {
	var b strings.Builder
	var d tokenizer.Decoder
	ids := o200k.Tokenizer().AppendEncodeSpecial(nil, answer)
	for i, id := range ids {
		text, special := tokenizer.SpecialName(id)
		if !special {
			text = string(d.Append(nil, o200k.Tokenizer(), id))
		}
		if text != "" {
			b.WriteString(markedEvent(text, id, i+1))
		}
	}
	return b.String() + markedEnd("eos", len(ids))
}

// TestMarkedEveryCut: text with the ids of control tokens gives the client what ids do, in both APIs and shapes,
// wherever the network cuts it. The counts are exact.
func TestMarkedEveryCut(t *testing.T) {
	for _, answer := range textAnswers {
		stream := markedAnswer(answer)
		for name, body := range bodies("") {
			path, _, _ := strings.Cut(name, " ")
			want := outcome(t, forwarded(t, testGateway(nil), path, body), []string{answerOf(answer), ""})
			got := outcome(t, forwarded(t, markedGateway(), path, body), []string{stream, ""})
			if folded(t, got) != folded(t, want) {
				t.Fatalf("%s, %s:\n got %s\nwant %s", answer, name, got, want)
			}
			if !strings.Contains(body, `"stream":true`) && counts(got) != counts(want) {
				t.Errorf("%s, %s: %s, want %s", answer, name, counts(got), counts(want))
			}
			step := 1
			if testing.Short() {
				step = 61
			}
			for at := 0; at < len(stream); at += step {
				if cut := outcome(t, forwarded(t, markedGateway(), path, body),
					[]string{stream[:at], stream[at:], ""}); cut != got {
					t.Fatalf("%s, %s, cut at %d:\n got %s\nwant %s", answer, name, at, cut, got)
				}
			}
		}
	}
}

// counts returns what an answer says of its own tokens.
func counts(answer string) string {
	all := ""
	for _, name := range []string{"completion_tokens", "output_tokens", "reasoning_tokens"} {
		if _, rest, ok := strings.Cut(answer, `"`+name+`":`); ok {
			all += " " + name + " " + rest[:strings.IndexAny(rest, ",}")]
		}
	}
	return all
}

// TestMarkedSpelling: the spelling of a control token is text where its id does not say otherwise.
func TestMarkedSpelling(t *testing.T) {
	stream := markedEvent("<|channel|>", tokenizer.Channel, 1) + markedEvent("final", 17196, 2) +
		markedEvent("<|message|>", tokenizer.Message, 3) + markedEvent("It is <|end|>", 91, 9) +
		markedEvent(" or <|return|><|return|>", tokenizer.Return, 16) + markedEnd("eos", 16)
	got := outcome(t, forwarded(t, markedGateway(), "/v1/chat/completions", chatBody(false)), []string{stream, ""})
	if !strings.Contains(got, `"content":"It is <|end|> or <|return|>"`) ||
		!strings.Contains(got, `"completion_tokens":16`) {
		t.Errorf("got %s", got)
	}
}

// TestMarkedIsBounded: a server that goes on behind the tokens that it was asked for is stopped, and one whose text is
// longer than its tokens can be.
func TestMarkedIsBounded(t *testing.T) {
	body := chatWith(true, `"max_tokens":100`)
	start := markedEvent("<|message|>", tokenizer.Message, 1)
	longest := strings.Repeat(" ", maxTokenBytes)
	for name, tt := range map[string]struct {
		text      string
		predicted int
		within    bool
	}{
		"as many tokens as there may be": {" ", 100 + maxOvershoot, true},
		"one more":                       {" ", 101 + maxOvershoot, false},
		"text as long as may be":         {longest, 2, true},
		"one byte more":                  {longest + " ", 2, false},
	} {
		stream := start + markedEvent(tt.text, 220, tt.predicted) + markedEnd("limit", tt.predicted)
		got := outcome(t, forwarded(t, markedGateway(), "/v1/chat/completions", body), []string{stream, ""})
		if strings.Contains(got, `"finish_reason":"length"`) != tt.within ||
			strings.Contains(got, "could not be understood") == tt.within {
			t.Errorf("%s: got %.300s", name, got)
		}
	}
}

package translate

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// msg is one message of a model: its header, its text in pieces, and its end.
type msg struct {
	recipient, channel string
	pieces             []string
	end                harmony.End
}

// answerCase is a turn of a model and the reason why it ended.
type answerCase struct {
	name   string
	turn   []msg
	finish Finish
}

var answerCases = []answerCase{
	{"an answer", []msg{
		{"", "analysis", []string{"let ", "me \"see\"\n"}, harmony.EndedByEnd},
		{"", "final", []string{"Hé", "", "llo 😀"}, harmony.EndedByReturn},
	}, Stop},
	{"a call after a preamble", []msg{
		{"", "analysis", []string{"t"}, harmony.EndedByEnd},
		{"", "commentary", []string{"I look."}, harmony.EndedByEnd},
		{"functions.f", "commentary", []string{`{"a`, `":1}`}, harmony.EndedByCall},
	}, Stop},
	{"calls everywhere", []msg{
		{"f", "analysis", []string{"{}"}, harmony.EndedByCall},
		{"functions.fjson", "final", nil, harmony.EndedByCall},
	}, Stop},
	{"nothing undeclared is called", []msg{
		{"browser.search", "commentary", []string{"x"}, harmony.EndedByCall},
		{"functions.other", "commentary", []string{"y"}, harmony.EndedByCall},
		{"assistant", "final", []string{"z"}, harmony.EndedByReturn},
	}, Stop},
	{"a lost format", []msg{
		{"", "", []string{"no "}, harmony.Cut},
		{"all", "final", []string{"answer"}, harmony.Cut},
		{"", "comment?", []string{"odd"}, harmony.Cut},
	}, Stop},
	{"a call cut at the limit", []msg{
		{"", "analysis", []string{"t"}, harmony.EndedByEnd},
		{"functions.f", "commentary", []string{`{"a`}, harmony.Cut},
	}, Length},
	{"the limit in the reasoning", []msg{{"", "analysis", []string{"t"}, harmony.Cut}}, Length},
	{"empty messages", []msg{
		{"", "analysis", nil, harmony.EndedByEnd},
		{"", "final", nil, harmony.EndedByReturn},
	}, Stop},
	{"nothing at all", nil, Stop},
	{"custom calls", []msg{
		{"", "analysis", []string{"t"}, harmony.EndedByEnd},
		{"functions.run", "commentary", []string{"print(\"", "é\n"}, harmony.EndedByCall},
		{"functions.f", "commentary", []string{"{}"}, harmony.EndedByCall},
		{"run", "analysis", nil, harmony.EndedByCall},
	}, Stop},
	{"a custom call cut at the limit", []msg{{"functions.run", "commentary", []string{"pri"}, harmony.Cut}}, Length},
}

// play runs a turn through an answer. It takes the answer's bytes whenever takes returns true.
func play(a Answer, c answerCase, takes func() bool) string {
	var out []byte
	a.Begin()
	choice := a.Choices()[0]
	for _, m := range c.turn {
		choice.Open(harmony.Header{Role: harmony.Assistant, Recipient: m.recipient, Channel: m.channel})
		for _, p := range m.pieces {
			choice.Content([]byte(p), 1)
			if takes() {
				out = append(out, a.Ready().Take(nil)...)
			}
		}
		choice.Close(m.end)
	}
	choice.End(c.finish)
	a.Finish(Usage{PromptTokens: 10, CachedTokens: 4, CompletionTokens: 20, CachedKnown: true}, 1700000009)
	return string(append(out, a.Ready().Take(nil)...))
}

func never() bool { return false }

// read opens a body and reads it with api.
func read(api func(*openai.Body, *contract.Model, Env) (*Request, *openai.Error), body string) (
	*Request, *openai.Error) {
	b, err := openai.Open([]byte(body))
	if err != nil {
		return nil, err
	}
	return api(b, testModel, testEnv)
}

func answerTo(t *testing.T, api API, options string) Answer {
	t.Helper()
	if api == MessagesAPI {
		return messagesTo(t, options != "", anthropic.ThinkingShown, Sealing{})
	}
	var r *Request
	var err *openai.Error
	if api == ChatAPI {
		r, err = read(Chat, `{"model":"m",`+options+`"messages":[{"role":"user","content":"q"}],`+
			`"tools":[{"type":"function","function":{"name":"f"}}]}`)
	} else {
		r, err = read(Responses, `{"model":"m",`+options+`"input":"q","tools":[{"type":"function","name":"f"},`+
			`{"type":"custom","name":"run"}]}`)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.NewAnswer()
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTakingOftenChangesNothing checks that the bytes do not depend on how often they are taken, and that each part has
// whole events.
func TestTakingOftenChangesNothing(t *testing.T) {
	for _, api := range []API{ChatAPI, ResponsesAPI, MessagesAPI} {
		for _, c := range answerCases {
			whole := play(answerTo(t, api, `"stream":true,`), c, never)
			for seed := range uint64(5) {
				rng := rand.New(rand.NewPCG(seed, 1))
				if got := play(answerTo(t, api, `"stream":true,`), c, func() bool { return rng.IntN(2) == 0 }); got != whole {
					t.Fatalf("%s: got\n%s\nwant\n%s", c.name, got, whole)
				}
			}
		}
	}
}

func TestNothingBeforeTheEndOfAWholeAnswer(t *testing.T) {
	for _, api := range []API{ChatAPI, ResponsesAPI, MessagesAPI} {
		a := answerTo(t, api, "")
		a.Begin()
		a.Choices()[0].Open(harmony.Header{Channel: harmony.Final})
		a.Choices()[0].Content([]byte("x"), 1)
		if got := a.Ready().Take(nil); len(got) > 0 || a.ContentType() != "application/json" {
			t.Errorf("api %d: %s %s", api, a.ContentType(), got)
		}
		a.Fail(&openai.Error{Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerError})
		e, ok := decode(t, string(a.Ready().Take(nil)))["error"].(map[string]any)
		if !ok || e["code"] != "server_error" && e["type"] != "api_error" {
			t.Errorf("api %d: %v", api, e)
		}
		a.Choices()[0].End(Stop)
		a.Finish(Usage{}, 0)
		if got := a.Ready().Take(nil); len(got) > 0 {
			t.Errorf("an answer ends once: %s", got)
		}
	}
}

// TestLend checks that an answer writes into memory that it was lent, and keeps no large buffer, that one included.
func TestLend(t *testing.T) {
	stream := newChatStream(&Request{API: ChatAPI, Stream: true})
	stream.Begin()
	first := len(stream.out)
	memory := make([]byte, 1, 2*MaxKeptBuffer)
	if !stream.Lend(memory) || len(stream.out) != first || &stream.out[0] != &memory[0] {
		t.Fatal("bytes that were ready are lost, or not in the memory that was lent")
	}
	for range 2 {
		stream.Take(nil)
		stream.Lend(memory)
		if stream.Lend(nil) || stream.Lend(memory) {
			t.Error("less memory was taken")
		}
		stream.Choices()[0].Content([]byte("x"), 1)
		if got := stream.Take(nil); len(got) < 50 || &got[0] != &memory[0] || stream.out != nil {
			t.Errorf("%q is not in the memory that was lent, or %d bytes are kept", got, cap(stream.out))
		}
		stream.Choices()[0].Content(make([]byte, 2*MaxKeptBuffer), 1)
		if got := len(stream.Take(nil)); got < 2*MaxKeptBuffer || stream.out != nil {
			t.Errorf("%d bytes are kept after %d", cap(stream.out), got)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte("\x00analysis\x01x\x05\x00final\x02y\x06"), true)
	recipients := []string{"", "functions.f", "functions.run", "f", "fjson", "python", "assistant", "functions.\n\"",
		"\xff"}
	channels := []string{"analysis", "final", "commentary", "", "\"odd"}
	f.Fuzz(func(t *testing.T, script []byte, limit bool) {
		c := answerCase{name: "fuzz", finish: Stop}
		if limit {
			c.finish = Length
		}
		for len(script) > 2 {
			m := msg{
				recipient: recipients[int(script[0]>>3)%len(recipients)], channel: channels[int(script[0])%len(channels)],
				end: harmony.End(script[1] % 4),
			}
			n := min(int(script[2]%16), len(script)-3)
			m.pieces = strings.SplitAfter(string(script[3:3+n]), "a")
			script = script[3+n:]
			c.turn = append(c.turn, m)
		}
		checkChat(t, c)
		checkResponses(t, c)
		checkParity(t, c)
	})
}

package harmonytest

import (
	"encoding/json"
	"math/rand"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

func read[T any](t *testing.T, line string) *T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		t.Fatal(err)
	}
	return &v
}

// A stream as the reference reads it: <|channel|>final<|message|>Hi<|end|><|end|>.
const stream = `{"tokens":[200005,17196,200008,12194,200007,200007],"role":"assistant","strict":true,"resume":true,` +
	`"ended":true,` +
	`"steps":[[1,"assistant",null,null,null,null],1,[2,"assistant","final",null,null,null],"Hi",[0,null,null,null,null,` +
	`null],` +
	`{"error":"Unexpected token 200007 while expecting start token 200006"},1],` +
	`"messages":[{"role":"assistant","content":"Hi","channel":"final"}]}`

const conversation = `{"conversation":{"messages":[{"role":"user","content":"Hi"},{"role":"tool","content":"x"}]},` +
	`"next_role":"assistant",` +
	`"auto_drop_analysis":null,"completion":{"error":{"class":"HarmonyError","message":"Tools should have a name!"}},` +
	`"training":"same",` +
	`"plain":"same","message_json":"{\"role\":\"user\",\"content\":\"Hi\"}","message":[0,[200006,1428,200008,12194,` +
	`200007]]}`

// TestEveryDifferenceIsFound shows that any change in a recorded result is found.
func TestEveryDifferenceIsFound(t *testing.T) {
	tk := o200k.Tokenizer()
	check := map[string]func(line string) error{
		stream:       func(line string) error { return CheckStream(tk, read[vectors.Stream](t, line), nil) },
		conversation: func(line string) error { return CheckConversation(tk, read[vectors.Conversation](t, line)) },
	}
	for line, check := range check {
		if err := check(line); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ line, old, new string }{
		{stream, `[1,"assistant"`, `[1,"user"`}, {stream, `[2,"assistant","final"`, `[2,"assistant",null`},
		{stream, `[0,null`, `[1,null`},
		{stream, `"Hi",[0`, `"Ho",[0`}, {stream, `"Hi",[0`, `[2,"assistant","final","x",null,"Hi"],[0`},
		{stream, `"Hi",[0`, `[2,"assistant","final",null,"x","Hi"],[0`},
		{stream, `while`, `when`}, {stream, `{"error":"Unexpected token 200007 while expecting start token 200006"}`, `1`},
		{stream, `"content":"Hi"`, `"content":"Ho"`}, {stream, `,"channel":"final"}`, `}`},
		{stream, `},1],`, `}],`}, {stream, `"ended":true`, `"ended":false`},
		{stream, `"role":"assistant","strict"`, `"role":null,"strict"`},
		{conversation, `should`, `must`}, {conversation, `"same"`, `[0,[1]]`},
		{conversation, `12194,200007]]`, `12194,200012]]`},
		{conversation, `[0,[200006,1428,200008,12194,200007]]`, `{"error":{"class":"HarmonyError","message":"no"}}`},
	} {
		changed := strings.Replace(tt.line, tt.old, tt.new, 1)
		if changed == tt.line {
			t.Errorf("nothing is changed by %s", tt.new)
		}
		if check[tt.line](changed) == nil {
			t.Errorf("%s instead of %s is not found", tt.new, tt.old)
		}
	}
}

// TestTolerantComparesWhatItShould shows that a stream is left out only for the reasons in wellFormed and isQuirk.
func TestTolerantComparesWhatItShould(t *testing.T) {
	for text, want := range map[string]bool{
		"<|channel|>final<|message|>Hi<|end|>":                                        true,
		" to=functions.f<|channel|>commentary <|constrain|>json<|message|>{}<|call|>": true,
		"<|channel|>final<|message|>Hi":                                               true,
		"<|channel|>final<|message|>a<|start|>b<|end|>":                               false,
		"<|channel|>final<|channel|>final<|message|>b<|end|>":                         false,
		"<|channel|>other<|message|>b<|end|>":                                         false,
		"functions.f<|message|>b<|end|>":                                              false,
		"\u00a0<|channel|>final<|message|>b<|end|>":                                   false,
	} {
		role := "assistant"
		v := &vectors.Stream{Role: &role, Strict: true, Ended: true}
		for _, id := range o200k.Tokenizer().AppendEncodeSpecial(nil, text) {
			v.Tokens = append(v.Tokens, int64(id))
		}
		if got, err := CheckTolerant(o200k.Tokenizer(), v, rand.New(rand.NewSource(1))); got != want || err != nil {
			t.Errorf("%q: compared %v, want %v: %v", text, got, want, err)
		}
	}
}

package translate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// sentEvents is a [Choice] that writes down its calls.
type sentEvents struct{ strings.Builder }

func (h *sentEvents) Open(header harmony.Header) {
	fmt.Fprintf(h, "[%s%s ", header.Channel, header.Recipient)
}
func (h *sentEvents) Content(text []byte, tokens int) {
	if len(text) > 0 || tokens > 0 {
		fmt.Fprintf(h, "%s/%d ", text, tokens)
	}
}
func (h *sentEvents) Close(harmony.End) { h.WriteString("] ") }
func (h *sentEvents) End(Finish)        { h.WriteString("end") }

func (h *sentEvents) CallID([]byte)   {}
func (h *sentEvents) Reasoning() bool { return false }

func (h *sentEvents) Logprob(l *openai.Logprob) { fmt.Fprintf(h, "(%s) ", l.Token) }

func TestGate(t *testing.T) {
	analysis := msg{"", "analysis", []string{"a", "STOP", "b"}, harmony.EndedByEnd}
	final := msg{"", "final", []string{"x ", "S", "TO", "P", " y"}, harmony.EndedByReturn}
	call := msg{"f", "commentary", []string{"STOP"}, harmony.EndedByCall}
	preamble := msg{"", "commentary", []string{"STOP"}, harmony.EndedByEnd}
	for _, tt := range []struct {
		name, options string
		turn          []msg
		want          string
		ended         Finish
	}{
		{
			"a stop sequence over tokens", `"stop":"STOP",`, []msg{analysis, final, final},
			"[analysis a/1 STOP/1 b/1 ] [final x /1 /1 /1 /1 ] ", Stop,
		},
		{
			"not in a preamble, nor in a call", `"stop":["STOP"],`, []msg{preamble, call},
			"[commentary STOP/1 ] [commentaryf STOP/1 ] ", 0,
		},
		{
			"held back until it cannot match", `"stop":["x S!","TOPP"],`, []msg{final},
			"[final /1 /1 x S/1 /1 TOP y/1 ] ", 0,
		},
		{
			"held back until the message ends", `"stop":[" y!"],`,
			[]msg{final, {"", "final", []string{"!"}, harmony.EndedByReturn}},
			"[final x/1  S/1 TO/1 P/1 /1  y/0 ] [final !/1 ] ", 0,
		},
		{
			"no channel is the final one", `"stop":["STOP"],`, []msg{{"", "", []string{"STOP"}, harmony.Cut}},
			"[ /1 ] ", Stop,
		},
		{
			"the cap", `"thinking_token_budget":2,`, []msg{analysis, final},
			"[analysis a/1 STOP/1 ] ", Length,
		},
		{
			"the cap over messages", `"thinking_token_budget":4,`, []msg{analysis, analysis, final},
			"[analysis a/1 STOP/1 b/1 ] [analysis a/1 ] ", Length,
		},
		{
			"at the limit, not over it", `"thinking_token_budget":3,`, []msg{analysis, final},
			"[analysis a/1 STOP/1 b/1 ] [final x /1 S/1 TO/1 P/1  y/1 ] ", 0,
		},
		{
			"a second call, where one is wanted", `"parallel_tool_calls":false,`, []msg{analysis, preamble, call, call},
			"[analysis a/1 STOP/1 b/1 ] [commentary STOP/1 ] [commentaryf STOP/1 ] ", Stop,
		},
		{
			"an answer after the one call", `"parallel_tool_calls":false,`, []msg{call, final}, "[commentaryf STOP/1 ] ", Stop,
		},
		{
			"one call", `"parallel_tool_calls":false,`, []msg{analysis, call},
			"[analysis a/1 STOP/1 b/1 ] [commentaryf STOP/1 ] ", 0,
		},
		{
			"no reasoning at all", `"thinking_token_budget":0,`, []msg{analysis},
			"[analysis ] ", Length,
		},
	} {
		r, err := read(Chat, `{"model":"m",`+tt.options+`"messages":[{"role":"user","content":"q"}],`+
			`"tools":[{"type":"function","function":{"name":"f"}}]}`)
		if err != nil {
			t.Fatal(err)
		}
		h := &sentEvents{}
		g := r.Gate(h)
		for _, m := range tt.turn {
			g.Open(harmony.Header{Role: harmony.Assistant, Recipient: m.recipient, Channel: m.channel})
			for _, p := range m.pieces {
				g.Content([]byte(p), 1)
			}
			g.Close(m.end)
		}
		if h.String() != tt.want || g.Ended() != tt.ended {
			t.Errorf("%s: %d\n%s\nwant %d\n%s", tt.name, g.Ended(), h.String(), tt.ended, tt.want)
		}
	}
}

func TestReasoningLimit(t *testing.T) {
	for _, tt := range []struct {
		model   int
		options string
		want    string
	}{
		{0, ``, "none"}, {5, ``, "5"}, {5, `"thinking_token_budget":7,`, "5"}, {5, `"thinking_token_budget":3,`, "3"},
		{5, `"thinking_token_budget":-1,`, "5"}, {0, `"thinking_token_budget":0,`, "0"},
		{0, `"thinking_token_budget":-1,`, "none"},
	} {
		m := *testModel
		m.MaxReasoningTokens = tt.model
		for api, input := range map[API]string{
			ChatAPI: `"messages":[{"role":"user","content":"q"}]`, ResponsesAPI: `"input":"q"`} {
			r, err := readFor(api, `{"model":"m",`+tt.options+input+`}`, &m)
			if err != nil {
				t.Fatal(err)
			}
			got := "none"
			if r.MaxReasoning != nil {
				got = fmt.Sprint(*r.MaxReasoning)
			}
			if got != tt.want || (r.Gate(&sentEvents{}) == nil) != (tt.want == "none") {
				t.Errorf("model %d, %s: %s, want %s", tt.model, tt.options, got, tt.want)
			}
		}
	}
}

func readFor(api API, body string, m *contract.Model) (*Request, *openai.Error) {
	b, err := openai.Open([]byte(body))
	if err != nil {
		return nil, err
	}
	if api == ChatAPI {
		return Chat(b, m, testEnv)
	}
	return Responses(b, m, testEnv)
}

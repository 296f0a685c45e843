package translate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// withMessages returns the whole answer to a request that includes the messages, and the prompt of that request.
func withMessages(t *testing.T, answers contract.Answers, input string, c answerCase) (
	response map[string]json.RawMessage, prompt []uint32) {
	t.Helper()
	body, err := openai.Open([]byte(`{"model":"m","include":["harmony.messages"],"tools":[{"type":"function",` +
		`"name":"f"}],"input":` + input + `}`))
	if err != nil {
		t.Fatal(err)
	}
	m := *testModel
	m.Answers = answers
	r, err := Responses(body, &m, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	r.KeepMessages(nil)
	prompt = rendered(t, &r.Conversation, harmony.DropBeforeLastFinal)
	if err := json.Unmarshal([]byte(play(r.NewAnswer(), c, never)), &response); err != nil {
		t.Fatal(err)
	}
	return response, prompt
}

func rendered(t *testing.T, c *harmony.Conversation, p harmony.AnalysisPolicy) []uint32 {
	t.Helper()
	ids, err := harmony.NewRenderer(o200k.Tokenizer()).AppendConversation(nil, c, p)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestHarmonyMessages checks that the included input renders as the prompt, and that the output has what the model
// wrote.
func TestHarmonyMessages(t *testing.T) {
	input := `[{"role":"developer","content":"Be \"brief\"."},{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"é"}]},
		{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"old"}]},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`
	c := answerCase{turn: []msg{
		{"", "analysis", []string{"think", "ing"}, harmony.EndedByEnd},
		{"functions.f", "analysis", []string{`{"a":1}`}, harmony.EndedByCall},
	}, finish: Stop}
	response, prompt := withMessages(t, contract.Answers{HarmonyMessages: true}, input, c)
	read, err := harmony.DecodeConversation(fmt.Appendf(nil, `{"messages":%s}`, response["input_messages"]))
	if err != nil {
		t.Fatal(err)
	}
	if got := rendered(t, read, harmony.KeepAnalysis); fmt.Sprint(got) != fmt.Sprint(prompt) ||
		strings.Contains(string(response["input_messages"]), "old") {
		t.Errorf("not the prompt: %s", response["input_messages"])
	}
	const want = `[{"role":"assistant","content":"thinking","channel":"analysis"},` +
		`{"role":"assistant","recipient":"functions.f","content":"{\"a\":1}","channel":"commentary","content_type":"json"}]`
	if got := string(response["output_messages"]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestHarmonyMessagesEnd checks that an open message is included, and that messages are null if they are too long or
// hidden.
func TestHarmonyMessagesEnd(t *testing.T) {
	cut := answerCase{turn: []msg{{"", "analysis", []string{"half"}, harmony.Cut}}, finish: Length}
	const partial = `[{"role":"assistant","content":"half","channel":"analysis"}]`
	long := answerCase{turn: []msg{{"", "final", []string{strings.Repeat("x", conversationLimit)},
		harmony.EndedByReturn}}, finish: Stop}
	for _, tt := range []struct {
		name        string
		answers     contract.Answers
		input       string
		c           answerCase
		read, wrote string // "" means any text
	}{
		{"cut", contract.Answers{HarmonyMessages: true}, `"q"`, cut, "", partial},
		{"hidden", contract.Answers{HarmonyMessages: true, HideReasoning: true}, `"q"`, cut, "null", "null"},
		{"a long input", contract.Answers{HarmonyMessages: true}, `"` + strings.Repeat("x", conversationLimit) + `"`, cut,
			"null", partial},
		{"a long answer", contract.Answers{HarmonyMessages: true}, `"q"`, long, "", "null"},
	} {
		response, _ := withMessages(t, tt.answers, tt.input, tt.c)
		if got := string(response["input_messages"]); tt.read != "" && got != tt.read || tt.read == "" && len(got) < 10 {
			t.Errorf("%s: has read %.80q", tt.name, got)
		}
		if got := string(response["output_messages"]); got != tt.wrote {
			t.Errorf("%s: has written %.80q", tt.name, got)
		}
	}
	body, _ := openai.Open(
		[]byte(`{"model":"m","input":"q","include":["reasoning.encrypted_content","harmony.messages"]}`))
	if _, err := Responses(body, testModel, testEnv); err == nil || err.Param != "include[1]" || err.Status != 400 {
		t.Errorf("not configured: %v", err)
	}
}

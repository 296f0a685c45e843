package translate

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

func sealing(t *testing.T, lifetime int64) Sealing {
	t.Helper()
	keys, err := seal.ParseKeys("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	return Sealing{Keys: keys, Lifetime: lifetime}
}

// readSealed reads a Responses body with keys, now seconds after the test's time.
func readSealed(t *testing.T, s Sealing, now int64, hide bool, body string) (*Request, *openai.Error) {
	t.Helper()
	opened, err := openai.Open([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	m, env := *testModel, testEnv
	m.Answers.HideReasoning = hide
	env.Sealing, env.Now = s, env.Now+now
	return Responses(opened, &m, env)
}

// sealedAnswer returns the whole answer of a model that was cut in its reasoning or that ended regularly.
func sealedAnswer(t *testing.T, s Sealing, stream, hide bool, finish Finish) string {
	t.Helper()
	flag := ""
	if stream {
		flag = `,"stream":true`
	}
	r, err := readSealed(t, s, 0, hide, `{"model":"m","input":"q","include":["reasoning.encrypted_content"]`+flag+`}`)
	if err != nil {
		t.Fatal(err)
	}
	end := harmony.EndedByEnd
	if finish == Length {
		end = harmony.Cut
	}
	return play(r.NewAnswer(), answerCase{turn: []msg{{"", "analysis", []string{"a ", `"thought"`}, end}},
		finish: finish}, never)
}

func sealedOf(t *testing.T, response map[string]any) string {
	t.Helper()
	output, _ := response["output"].([]any)
	if len(output) != 1 {
		t.Fatalf("got %v", response)
	}
	text, _ := output[0].(map[string]any)["encrypted_content"].(string)
	return text
}

func TestSealedText(t *testing.T) {
	for _, finish := range []Finish{Stop, Length} {
		for _, hide := range []bool{false, true} {
			s := sealing(t, 60)
			whole := sealedOf(t, decode(t, sealedAnswer(t, s, false, hide, finish)))
			streamed := sealedOf(t, checkGrammar(t, parseEvents(t, sealedAnswer(t, s, true, hide, finish))))
			for _, text := range []string{whole, streamed} {
				r, err := readSealed(t, s, 59, hide, `{"model":"m","input":[{"role":"user","content":"q"},{"type":"reasoning",`+
					`"summary":[],"content":[{"type":"reasoning_text","text":"forged"}],"encrypted_content":"`+text+`"}]}`)
				if err != nil {
					t.Fatal(err)
				}
				last := r.Conversation.Messages[len(r.Conversation.Messages)-1]
				if got := last.Content[0].Text; got != `a "thought"` || last.Channel != harmony.Some(harmony.Analysis) {
					t.Errorf("came back as %q on %v", got, last.Channel)
				}
			}
			_, err := readSealed(t, s, 60, hide, `{"model":"m","input":[{"type":"reasoning","summary":[],"encrypted_content":"`+
				whole+`"}]}`)
			if err == nil || err.Code != contract.CodeInvalidEncryptedContent || err.Param != "input[0].encrypted_content" ||
				!strings.Contains(err.Message, "expired") {
				t.Errorf("after its time: %v", err)
			}
		}
	}
}

// TestSealedElsewhere: reasoning that does not open is its text. Without any, what another service has sealed is
// nothing and counted, and what this gateway has sealed is an error: its client must learn that it is lost.
func TestSealedElsewhere(t *testing.T) {
	const foreign = "gAAAAABotdZ0Sz7yPXXpQl5Q"
	expired := sealedHere(t)
	for _, tt := range []struct {
		sealed, text, want string
		ignored            int
		fails              bool
	}{
		{foreign, `"content":[{"type":"reasoning_text","text":"thought"}]`, "thought", 0, false},
		{foreign, `"summary":[{"type":"summary_text","text":"thought"}]`, "thought", 0, false},
		{foreign, `"content":[],"summary":[]`, "", 1, false},
		{foreign, `"content":[{"type":"reasoning_text","text":""}]`, "", 1, false},
		{expired, `"content":[{"type":"reasoning_text","text":"thought"}]`, "thought", 0, false},
		{expired, `"content":[]`, "", 0, true},
		{foreign[:3], `"content":[]`, "", 1, false},
		{strings.Repeat("A", 300), `"content":[]`, "", 1, false},
	} {
		for _, s := range []Sealing{{}, sealing(t, 60)} {
			body := `{"model":"m","input":[{"role":"user","content":"q"},{"type":"reasoning",` + tt.text +
				`,"encrypted_content":"` + tt.sealed + `"}]}`
			r, err := readSealed(t, s, 60, false, body)
			if tt.fails {
				if err == nil || err.Code != contract.CodeInvalidEncryptedContent {
					t.Errorf("%s: %v", body, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", body, err)
				continue
			}
			got := ""
			if last := r.Conversation.Messages[len(r.Conversation.Messages)-1]; last.Role == harmony.Assistant {
				got = last.Content[0].Text
			}
			ignored := tt.ignored
			if s.Keys == nil && strings.Contains(tt.text, `"text":""`) {
				ignored = 0 // without keys nothing is opened beside a content
			}
			if got != tt.want || r.Ignored[openai.IgnoredReasoning] != ignored {
				t.Errorf("%s: %q, %v", body, got, r.Ignored)
			}
		}
	}
}

func TestHiddenReasoning(t *testing.T) {
	for _, stream := range []bool{false, true} {
		got := sealedAnswer(t, sealing(t, 60), stream, true, Stop)
		if strings.Contains(got, "thought") || !strings.Contains(got, `"content":[],"encrypted_content":"`) {
			t.Errorf("got %s", got)
		}
	}
}

func TestUnknownInclude(t *testing.T) {
	_, err := readSealed(t, Sealing{}, 0, false,
		`{"model":"m","input":"q","include":["reasoning.encrypted_content","reasoning"]}`)
	if err == nil || err.Code != contract.CodeInvalidValue || err.Param != "include[1]" {
		t.Errorf("got %v", err)
	}
}

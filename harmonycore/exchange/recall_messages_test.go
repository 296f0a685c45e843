package exchange

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// messagesSession makes a session of Claude Code's: requests that go on, with tools that are found on the way.
type messagesSession struct {
	*rand.Rand
	messages []string
	calls    int
	// head and tail are the members around the messages. marks reports whether the mark of the cache moves with them.
	head, tail string
	marks      bool
}

const messagesTool = `{"name":"%s","description":"Does %s.","input_schema":{"type":"object"}%s}`

func newMessagesSession(seed uint64) *messagesSession {
	s := &messagesSession{Rand: rand.New(rand.NewPCG(9, seed)), marks: seed%2 == 0}
	tools := []string{fmt.Sprintf(messagesTool, "f", "f", ""), fmt.Sprintf(messagesTool, "ToolSearch", "search", "")}
	for i := range 3 {
		name := fmt.Sprintf("late%d", i)
		tools = append(tools, fmt.Sprintf(messagesTool, name, name, `,"defer_loading":true`))
	}
	rest := `"max_tokens":100,"thinking":{"type":"adaptive"},"unheard":[1],"system":[{"type":"text","text":` +
		`"x-anthropic-billing-header: a"},{"type":"text","text":"You are Claude Code."}],"tools":[` +
		strings.Join(tools, ",") + `]`
	s.head, s.tail = `{"model":"`+testModel+`",`+rest+`,"messages":[`, `]}`
	if s.IntN(2) == 0 {
		s.head, s.tail = `{"messages":[`, `],"model":"`+testModel+`",`+rest+`}`
	}
	return s
}

func (s *messagesSession) text() string {
	return strings.Repeat([]string{"alpha ", "beta. ", "gamma\\n", "é "}[s.IntN(4)], 1+s.IntN(60))
}

// step adds what comes next.
func (s *messagesSession) step() {
	add := func(message string) { s.messages = append(s.messages, message) }
	switch kind := s.IntN(20); {
	case len(s.messages) == 0 && kind < 4:
		add(`{"role":"system","content":"` + s.text() + `"}`)
	case len(s.messages) == 0 || kind < 3:
		add(`{"role":"user","content":[{"type":"text","text":"` + s.text() +
			`"},{"type":"image","source":{"type":"url","url":"u"}}]}`)
	case kind < 4:
		add(`{"role":"user","content":"` + s.text() + `"}`)
	case kind < 6:
		add(`{"role":"system","content":"` + s.text() + `"}`)
	case kind < 7:
		add(`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"late2"}},` +
			`{"type":"text","text":"` + s.text() + `"}]}`)
	case kind < 8 && s.IntN(2) == 0:
		add(`{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"` +
			[]string{"f", "late0", "late1", "late2", "none"}[s.IntN(5)] + `"}}]}`)
	case kind < 8 && s.IntN(3) == 0:
		add(`{"role":"system","content":"s","output_config":{"effort":"` + []string{"low", "high"}[s.IntN(2)] + `"}}`)
	case kind < 9:
		add(`{"role":"assistant","content":[{"type":"thinking","thinking":"` + s.text() + `","signature":"Ev9"},` +
			`{"type":"server_tool_use","id":"x"},{"type":"text","text":"` + s.text() + `"}]}`)
		add(`{"role":"user","content":"` + s.text() + `"}`)
	default:
		s.call(kind > 16)
	}
}

// call adds calls and their results, in another order.
func (s *messagesSession) call(searches bool) {
	var uses, results []string
	for range 1 + s.IntN(2) {
		s.calls++
		id, name, content := fmt.Sprintf("toolu_%d", s.calls), "f", `"`+s.text()+`"`
		if searches && s.IntN(4) > 0 {
			name, content = "ToolSearch", fmt.Sprintf(`[{"type":"tool_reference","tool_name":"late%d"}]`, s.IntN(4))
		}
		uses = append(uses, `{"type":"tool_use","id":"`+id+`","name":"`+name+`","input":{"a": "`+s.text()+`"}}`)
		results = append([]string{`{"type":"tool_result","tool_use_id":"` + id + `","content":` + content + `}`},
			results...)
	}
	s.messages = append(s.messages, `{"role":"assistant","content":[{"type":"thinking","thinking":"`+s.text()+
		`","signature":""},`+strings.Join(uses, ",")+`]}`, `{"role":"user","content":[`+strings.Join(results, ",")+`]}`)
}

func (s *messagesSession) body() string {
	last := len(s.messages) - 1
	if !s.marks {
		return s.head + strings.Join(s.messages, ",") + s.tail
	}
	const user, mark = `{"role":"user","content":"`, `,"cache_control":{"type":"ephemeral"}}]}`
	newest := s.messages[last]
	if text, ok := strings.CutPrefix(newest, user); ok {
		newest = `{"role":"user","content":[{"type":"text","text":"` + strings.TrimSuffix(text, "}") + mark
	} else if blocks, ok := strings.CutSuffix(newest, "}]}"); ok {
		newest = blocks + mark
	}
	return s.head + strings.Join(append(s.messages[:last:last], newest), ",") + s.tail
}

// edited returns the body with some bytes changed, left out or repeated.
func (s *messagesSession) edited(body string) string {
	at := s.IntN(len(body))
	switch end := min(at+1+s.IntN(40), len(body)); s.IntN(3) {
	case 0:
		return body[:at] + string(body[at]^1) + body[at+1:]
	case 1:
		return body[:at] + body[end:]
	default:
		return body[:end] + body[at:]
	}
}

// TestRecallMessages plays sessions of Messages with a memory and without one: both send the same, and report the same.
func TestRecallMessages(t *testing.T) {
	requests, hits := 0, 0
	for seed := range uint64(40) {
		drop := func(o *Options) { o.Models[0].UnsupportedContent = contract.ContentDrop }
		with, without := recallGateway(t, 1<<20, drop), recallGateway(t, 0, drop)
		s, p := newMessagesSession(seed), &played{messages: true, model: testModel}
		var scratches [2]Scratch
		same := func(body string) (status int) {
			t.Helper()
			want, _ := askRecalling(without, &scratches[0], p, body, testNow, "")
			got, recall := askRecalling(with, &scratches[1], p, body, testNow, "")
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("session %d, %d messages, %s: %s\n%s", seed, len(s.messages), recall, body, difference(got,
					want))
			}
			if requests++; recall == RecallHit {
				hits++
			}
			return want.Status
		}
		for range 25 {
			if n := len(s.messages); n > 0 && s.IntN(10) == 0 {
				s.messages = s.messages[:1+s.IntN(n)] // the user goes back
			}
			before := len(s.messages)
			s.step()
			if same(s.body()) != 0 {
				s.messages = s.messages[:before] // it does not fit
			} else if s.IntN(4) == 0 {
				same(s.edited(s.body()))
			}
		}
	}
	t.Logf("%d of %d requests were recalled", hits, requests)
	if hits < requests/2 {
		t.Errorf("%d of %d requests were recalled", hits, requests)
	}
}

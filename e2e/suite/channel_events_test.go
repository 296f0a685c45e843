//go:build e2e

package suite

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// channelCases are the cases with a stream of channel events that came to its end.
func channelCases(t *testing.T) map[string]*cases.Case {
	t.Helper()
	found := map[string]*cases.Case{}
	for _, c := range cases.All(t) {
		if c.ByChannels() && strings.Contains(c.Member("want"), "\nevent: ") {
			found[c.Name] = c
		}
	}
	if len(found) < 15 {
		t.Fatalf("only %d cases have channel events", len(found))
	}
	return found
}

// wantedEvents are the channel events that a case expects.
func wantedEvents(t *testing.T, c *cases.Case) []grammar.ChannelEvent {
	t.Helper()
	_, body, _ := strings.Cut(c.Member("want"), "\n\n")
	events, err := grammar.ReadChannelEvents(body)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return events
}

// TestChannelEventsSayWhatChunksSay plays the server's answer to each case as channel events and as chunks. Both have
// the same content.
func TestChannelEventsSayWhatChunksSay(t *testing.T) {
	for name, c := range channelCases(t) {
		config, err := c.Config("http://127.0.0.1:9") // never reached
		if err != nil {
			t.Fatal(err)
		}
		g := exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary})
		action, _ := c.Begin(g)
		answer := askServer(t, c, action.Forward.Body, 0)
		_, body, _ := strings.Cut(play(g, c, answer, len(answer.body)), "\n")
		events, err := grammar.ReadChannelEvents(body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c.Header.Set(contract.EventsHeader, "chunks")
		_, body, _ = strings.Cut(play(g, c, answer, len(answer.body)), "\n")
		got, want := toldByEvents(events), toldByChunks(t, body)
		if want.reason == openAILength {
			// Of a call that was cut, only chunks have the pieces.
			want.calls = want.calls[:min(len(want.calls), len(got.calls))]
		}
		if want.reason == "stop" && got.failure == "no_final_channel" {
			want.failure, want.reason = got.failure, ""
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: by events\n%+v\nby chunks\n%+v", name, got, want)
		}
	}
}

// TestChannelEventsOfNoise: whatever a model writes, its events keep every promise, and end as the server does.
func TestChannelEventsOfNoise(t *testing.T) {
	c := channelCases(t)["events_preamble_call"]
	config, err := c.Config("http://127.0.0.1:9") // never reached
	if err != nil {
		t.Fatal(err)
	}
	g := exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary})
	pieces := []string{
		"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>", "assistant", "user",
		"tool", "analysis", "commentary",
		"final", "commentary?", " to=functions.get_weather", " to=python", "json", "{\"city\":\"Rome\"}", "Hello", " ", "\n",
		"👩‍👧", "é",
		"<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>",
		"<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
	}
	random := rand.New(rand.NewPCG(1, 1))
	calls := 0
	for range 2000 {
		text := ""
		for range 1 + random.IntN(20) {
			text += pieces[random.IntN(len(pieces))]
		}
		ids, err := json.Marshal(lab.Vocabulary.AppendEncodeSpecial(nil, text))
		if err != nil {
			t.Fatal(err)
		}
		finish := []string{"stop", "length"}[random.IntN(2)]
		answer := serverAnswer{head: exchange.ResponseHead{Status: 200, ContentType: "text/event-stream"}, ended: true}
		answer.body = fmt.Appendf(nil, `data: {"choices":[{"index":0,"text":"","token_ids":%s,"finish_reason":%q}]}`+
			"\n\ndata: [DONE]\n\n", ids, finish)
		_, body, _ := strings.Cut(play(g, c, answer, len(answer.body)), "\n")
		events, err := grammar.ReadChannelEvents(body)
		if err != nil {
			t.Fatalf("%q: %v\n%s", text, err, body)
		}
		told := toldByEvents(events)
		if told.failure != "" || told.reason == openAILength != (finish == openAILength) {
			t.Fatalf("%q, %s: %s", text, finish, body)
		}
		calls += len(told.calls)
	}
	if calls < 100 {
		t.Errorf("only %d calls", calls)
	}
}

const openAILength = "length"

// told is the content of a stream.
type told struct {
	reasoning, content string
	calls              []string
	reason, failure    string
}

func toldByEvents(events []grammar.ChannelEvent) (all told) {
	for _, e := range events {
		switch e.Name {
		case "analysis":
			all.reasoning += e.Text
		case "commentary", "token":
			all.content += e.Text
		case "tool_call":
			all.calls = append(all.calls, e.Call.ID+" "+e.Call.Name+" "+e.Call.Arguments)
		case "done":
			all.reason = e.Reason
		case "error":
			all.failure = e.Code
		}
	}
	return all
}

func toldByChunks(t *testing.T, body string) (all told) {
	t.Helper()
	for event := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		data := strings.TrimPrefix(event, "data: ")
		if data == "[DONE]" {
			continue
		}
		if data == "reset" { // without an event before it if the server has ended its answer
			all.failure = cmp.Or(all.failure, contract.CodeServerError)
			continue
		}
		var chunk struct {
			Error   *struct{ Code string }
			Choices []struct {
				Delta struct {
					Content, Reasoning string
					ToolCalls          []struct {
						ID               string
						Function, Custom struct{ Name, Arguments, Input string }
					} `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if chunk.Error != nil {
			all.failure = chunk.Error.Code
		}
		for _, c := range chunk.Choices {
			all.reasoning += c.Delta.Reasoning
			all.content += c.Delta.Content
			all.reason += c.FinishReason
			for _, call := range c.Delta.ToolCalls {
				if call.ID != "" {
					all.calls = append(all.calls, call.ID+" "+call.Function.Name+call.Custom.Name+" ")
				}
				all.calls[len(all.calls)-1] += call.Function.Arguments + call.Custom.Input
			}
		}
	}
	return all
}

// TestChannelEventsConversations: what a call says of the conversation so far is what the model has seen, to the token,
// by our own renderer and by the reference's.
func TestChannelEventsConversations(t *testing.T) {
	var asked []lab.OracleRequest
	var want [][]uint32
	for name, c := range channelCases(t) {
		for _, e := range wantedEvents(t, c) {
			if e.Name != "tool_call" || e.Call.Conversation == nil {
				continue
			}
			// Less what the model has said itself.
			messages := e.Call.Conversation.Messages
			messages = messages[:len(messages)-e.Message-1]
			text, err := json.Marshal(map[string]any{"messages": messages})
			if err != nil {
				t.Fatal(err)
			}
			ids := promptOf(t, c)
			if got := renderJSON(t, text); !slices.Equal(got, ids) {
				t.Errorf("%s: %v", name, lab.SameIDs(got, ids))
			}
			asked = append(asked, lab.OracleRequest{API: "conversation", Body: text, History: sampledCalls})
			want = append(want, ids)
		}
	}
	if len(asked) < 5 {
		t.Fatalf("only %d calls", len(asked))
	}
	for i, answer := range lab.AskOracle(t, asked) {
		if err := lab.SameIDs(want[i], answer.IDs); err != nil {
			t.Error(err)
		}
	}
}

// TestChannelEventsLoop runs the loop of an agent that keeps the events. The conversation of a call, followed by the
// tool's result, must equal the prompt of the next request.
func TestChannelEventsLoop(t *testing.T) {
	cases := channelCases(t)
	for turn, result := range []string{"18 degrees", "24 degrees"} {
		c, next := cases[fmt.Sprintf("events_loop_%d", turn+1)], cases[fmt.Sprintf("events_loop_%d", turn+2)]
		if c == nil || next == nil {
			t.Fatal("a turn is not there")
		}
		events := wantedEvents(t, c)
		call := events[len(events)-2].Call
		messages := append(call.Conversation.Messages, grammar.Message{
			"role": "tool", "name": "functions." + call.Name, "recipient": "assistant", "channel": "commentary",
			"content": result,
		})
		text, err := json.Marshal(map[string]any{"messages": messages})
		if err != nil {
			t.Fatal(err)
		}
		if err := lab.SameIDs(promptOf(t, next), renderJSON(t, text)); err != nil {
			t.Error(err)
		}
	}
}

// promptOf is the prompt that the case's server gets.
func promptOf(t *testing.T, c *cases.Case) []uint32 {
	t.Helper()
	config, err := c.Config("http://127.0.0.1:9") // never reached
	if err != nil {
		t.Fatal(err)
	}
	action, _ := c.Begin(exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary}))
	var sent struct{ Prompt []uint32 }
	if err := json.Unmarshal(action.Forward.Body, &sent); err != nil {
		t.Fatal(err)
	}
	return sent.Prompt
}

// sampledCalls are the forms of calls and results by default.
var sampledCalls = lab.OracleHistory{Calls: contract.HistorySampled, Results: contract.HistoryTemplate}

// renderJSON renders a conversation with the calls as the model writes them. The JSON does not say where a recipient
// stands, nor that a content type has a control token.
func renderJSON(t *testing.T, conversation []byte) []uint32 {
	t.Helper()
	c, err := harmony.DecodeConversation(conversation)
	if err != nil {
		t.Fatalf("%v in %s", err, conversation)
	}
	for i := range c.Messages {
		m := &c.Messages[i]
		m.RecipientLast = m.Role == harmony.Assistant && m.Recipient.Set
		if m.RecipientLast && m.ContentType.Value == "json" {
			m.ContentType.Value = "<|constrain|>json"
		}
	}
	ids, err := harmony.NewRenderer(lab.Vocabulary).AppendCompletion(nil, c, harmony.Assistant, harmony.KeepAnalysis)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

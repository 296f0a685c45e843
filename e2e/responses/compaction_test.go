//go:build e2e

package responses

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// summarized is a script that also answers the service's request for a summary.
func summarized() *sim.Script {
	say := func(match, text string) sim.Line {
		return sim.Line{Match: match, Tokens: lab.Tokens("<|channel|>final<|message|>" + text + "<|return|>")}
	}
	return sim.NewScript(say("The conversation so far is about to be removed", "summary one"),
		say("third question", "answer three"), say("second question", "answer two"), say("first question", "answer one"))
}

// marshalled is an item as JSON.
func marshalled(t *testing.T, i any) string {
	t.Helper()
	b, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wantPrompt wants texts in the last prompt, and others not.
func (g *gateway) wantPrompt(has []string, hasNot ...string) {
	g.T.Helper()
	prompt := g.LastPrompt()
	for _, part := range has {
		if !strings.Contains(prompt, part) {
			g.T.Errorf("the prompt has no %q: %s", part, prompt)
		}
	}
	for _, part := range hasNot {
		if strings.Contains(prompt, part) {
			g.T.Errorf("the prompt has %q: %s", part, prompt)
		}
	}
}

// TestCompact compacts on request, by an item, and beyond a threshold; and goes on with what is left.
func TestCompact(t *testing.T) {
	onAll(t, func(t *testing.T, host, database string) {
		g := start(t, host, database, "", sim.Options{Keep: 100, Script: summarized()})
		one := g.Create(`"input":"first question"`)

		// The endpoint keeps the user's messages.
		var compacted struct {
			Object string
			Output []json.RawMessage
			Usage  struct {
				Total int `json:"total_tokens"`
			}
		}
		g.Object("CompactResource", g.Do("POST", "responses/compact",
			g.Body(`"input":"second question","previous_response_id":"`+one.ID+`"`), 200), &compacted)
		if len(compacted.Output) != 3 || compacted.Usage.Total == 0 {
			t.Fatalf("%+v", compacted)
		}
		g.wantPrompt([]string{"first question", "answer one", "second question"})
		two := g.Create(`"store":false,"input":[` + string(compacted.Output[0]) + `,` + string(compacted.Output[1]) + `,` +
			string(compacted.Output[2]) + `,{"role":"user","content":"third question"}]`)
		if two.Text() != "answer three" {
			t.Errorf("%+v", two)
		}
		g.wantPrompt([]string{"first question", "second question", "summary one"}, "answer one")

		// The item asks for a compaction and nothing else.
		trigger := `"previous_response_id":"` + one.ID + `","input":[{"role":"user","content":"second question"},` +
			`{"type":"compaction_trigger"}]`
		whole := g.Create(trigger)
		streamed, _ := g.Stream(trigger)
		for _, r := range []*response{whole, streamed} {
			if len(r.Output) != 1 || r.Output[0].Type != "compaction" || r.Status != "completed" {
				t.Fatalf("%+v", r)
			}
		}
		three := g.Create(`"input":"third question","previous_response_id":"` + streamed.ID + `"`)
		if three.Text() != "answer three" {
			t.Errorf("%+v", three)
		}
		g.wantPrompt([]string{"summary one", "third question"}, "first question", "answer one", "second question")

		// An agent sends its whole conversation, and stores nothing. The form of its answers is not the summary's.
		agents, _ := g.Stream(`"store":false,"input":[{"role":"user","content":"first question"},` +
			`{"type":"configuration_update","text":{"format":{"type":"json_object"}}},{"type":"compaction_trigger"}]`)
		if len(agents.Output) != 1 || agents.Output[0].Type != "compaction" || agents.Status != "completed" {
			t.Fatalf("%+v", agents)
		}
		g.wantPrompt([]string{"first question", "is about to be removed"}, "Response Formats")

		// What another service has compacted, the model is told to be missing.
		for _, sealed := range []string{"gAAAAABotdZ0Sz7yPXXpQl5Q", "clear.bm8"} {
			r := g.Create(`"store":false,"input":[{"role":"user","content":"first question"},{"type":"compaction",` +
				`"encrypted_content":"` + sealed + `"},{"role":"user","content":"third question"}]`)
			if r.Text() != "answer three" {
				t.Errorf("%+v", r)
			}
			g.wantPrompt([]string{"first question", "cannot be read here", "third question"})
		}

		// Beyond a threshold the item comes before the answer.
		long := strings.Repeat("long text ", 1500)
		first := g.Create(`"input":"first question ` + long + `"`)
		manage := `"context_management":[{"type":"compaction","compact_threshold":1000}],`
		second, _ := g.Stream(manage + `"input":"second question","previous_response_id":"` + first.ID + `"`)
		if len(second.Output) != 2 || second.Output[0].Type != "compaction" || second.Text() != "answer two" {
			t.Fatalf("%+v", second)
		}
		g.wantPrompt([]string{"summary one", "second question"}, "first question", "answer one")
		read := &response{}
		g.Object("Response", g.Do("GET", "responses/"+second.ID, "", 200), read)
		if len(read.Output) != 2 || read.Output[0].EncryptedContent == "" || strings.Contains(marshalled(t, read),
			"harmony_text") {
			t.Errorf("%+v", read)
		}
		third := g.Create(manage + `"input":"third question","background":true,"previous_response_id":"` + second.ID + `"`)
		if r := g.Await(third.ID); len(r.Output) != 1 || r.Text() != "answer three" {
			t.Errorf("%+v", r) // it is short now
		}
		g.wantPrompt([]string{"summary one", "second question", "answer two", "third question"}, "first question",
			"answer one")
		l := &list{}
		g.Object("ResponseItemList", g.Do("GET", "responses/"+third.ID+"/input_items?order=asc", "", 200), l)
		if len(l.Data) != 6 || l.Data[0].Type != "message" || l.Data[3].Type != "compaction" {
			t.Errorf("%s", l.Texts())
		}

		for _, tt := range []struct{ body, code string }{
			{`"input":[{"type":"compaction_trigger"},{"role":"user","content":"x"}]`, "invalid_value"},
			{`"input":[{"type":"compaction","encrypted_content":7}]`, "invalid_type"},
			{`"input":"x","context_management":[{"type":"compaction","compact_threshold":10}]`, "invalid_value"},
		} {
			g.Refused("POST", "responses", g.Body(tt.body), 400, tt.code)
		}
		g.Refused("POST", "responses/compact", g.Body(`"previous_response_id":"resp_unknown"`), 400,
			"previous_response_not_found")
		g.Refused("POST", "responses/compact", `{"input":"x","model":"`+lab.Model+`","conversation":7}`, 400, "invalid_type")
	})
}

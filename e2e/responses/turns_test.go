//go:build e2e

package responses

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// answers is a script whose answers tell the turns apart.
func answers() *sim.Script {
	say := func(match, thought, text string) sim.Line {
		return sim.Line{Match: match, Tokens: lab.Tokens("<|channel|>analysis<|message|>" + thought +
			"<|end|><|start|>assistant<|channel|>final<|message|>" + text + "<|return|>")}
	}
	return sim.NewScript(say("third question", "thought three", "answer three"),
		say("second question", "thought two", "answer two"), say("first question", "thought one", "answer one"))
}

// TestChain continues responses by their ids, whole and streamed.
func TestChain(t *testing.T) {
	onAll(t, func(t *testing.T, host, database string) {
		g := start(t, host, database, "", sim.Options{Keep: 100, Script: answers()})
		one := g.create(`"input":"first question","instructions":"Be brief."`)
		if !one.Store || one.Status != "completed" || one.text() != "answer one" || one.PreviousResponseID != nil {
			t.Errorf("%+v", one)
		}
		two, _ := g.stream(`"input":"second question","previous_response_id":"` + one.ID + `"`)
		if two.text() != "answer two" || two.PreviousResponseID == nil || *two.PreviousResponseID != one.ID {
			t.Errorf("%+v", two)
		}
		prompt := g.lastPrompt()
		for _, part := range []string{"first question", "answer one", "second question"} {
			if !strings.Contains(prompt, part) {
				t.Errorf("the prompt has no %q: %s", part, prompt)
			}
		}
		// The instructions are not carried over.
		if strings.Contains(prompt, "Be brief.") {
			t.Errorf("the old instructions are in the prompt: %s", prompt)
		}
		if two.Usage == nil || two.Usage.InputTokens <= one.Usage.InputTokens-10 {
			t.Errorf("usage %+v after %+v", two.Usage, one.Usage)
		}
		three := g.create(`"input":[{"role":"user","content":"third question"}],"previous_response_id":"` + two.ID + `"`)
		for _, part := range []string{"first question", "answer one", "second question", "answer two", "third question"} {
			if !strings.Contains(g.lastPrompt(), part) {
				t.Errorf("the prompt has no %q: %s", part, g.lastPrompt())
			}
		}
		again := &response{}
		g.object("Response", g.do("GET", "responses/"+three.ID, "", 200), again)
		if again.text() != "answer three" || again.Status != "completed" || again.ID != three.ID {
			t.Errorf("%+v", again)
		}
		l := &list{}
		g.object("ResponseItemList", g.do("GET", "responses/"+two.ID+"/input_items?order=asc", "", 200), l)
		if l.texts() != "first question|thought one|answer one|second question" || l.HasMore {
			t.Errorf("%s", l.texts())
		}
		g.object("ResponseItemList", g.do("GET", "responses/"+two.ID+"/input_items?limit=1", "", 200), l)
		if l.texts() != "second question" || !l.HasMore || l.FirstID != l.LastID {
			t.Errorf("%+v", l)
		}
		g.object("ResponseItemList", g.do("GET", "responses/"+two.ID+"/input_items?limit=2&after="+l.LastID, "", 200), l)
		if l.texts() != "answer one|thought one" {
			t.Errorf("%+v", l)
		}
		// Nothing is stored of a request that says so, also if it continues a stored one.
		unstored := g.create(`"input":"second question","store":false,"previous_response_id":"` + one.ID + `"`)
		if unstored.Store || !strings.Contains(g.lastPrompt(), "answer one") {
			t.Errorf("%+v", unstored)
		}
		g.refused("GET", "responses/"+unstored.ID, "", 404, "")
		g.refused("POST", "responses", g.body(`"input":"x","previous_response_id":"`+unstored.ID+`"`), 400,
			"previous_response_not_found")
		// A deleted response is a gap that is told.
		g.do("DELETE", "responses/"+two.ID, "", 200)
		g.refused("GET", "responses/"+two.ID, "", 404, "")
		g.refused("POST", "responses", g.body(`"input":"x","previous_response_id":"`+three.ID+`"`), 400,
			"previous_response_not_found")
		// Tokens are counted with the chain.
		count := g.do("POST", "responses/input_tokens", g.body(`"input":"second question","previous_response_id":"`+one.ID+`"`), 200)
		if !strings.Contains(count.Body, `"input_tokens":`) {
			t.Error(count.Body)
		}
	})
}

// TestConversation continues a conversation.
func TestConversation(t *testing.T) {
	onAll(t, func(t *testing.T, host, database string) {
		g := start(t, host, database, "", sim.Options{Keep: 100, Script: answers()})
		var c struct {
			ID       string
			Metadata map[string]string
		}
		g.object("ConversationResource", g.do("POST", "conversations",
			`{"metadata":{"topic":"x"},"items":[{"role":"user","content":"an item"}]}`, 200), &c)
		one := g.create(`"input":"first question","conversation":"` + c.ID + `"`)
		if one.Conversation == nil || one.Conversation.ID != c.ID {
			t.Errorf("%+v", one)
		}
		two, _ := g.stream(`"input":"second question","conversation":{"id":"` + c.ID + `"}`)
		if two.text() != "answer two" || !strings.Contains(g.lastPrompt(), "an item") ||
			!strings.Contains(g.lastPrompt(), "answer one") {
			t.Errorf("%+v: %s", two, g.lastPrompt())
		}
		l := &list{}
		g.object("ConversationItemList", g.do("GET", "conversations/"+c.ID+"/items?order=asc&limit=100", "", 200), l)
		if l.texts() != "an item|first question|thought one|answer one|second question|thought two|answer two" {
			t.Error(l.texts())
		}
		var i item
		g.object("ConversationItem", g.do("GET", "conversations/"+c.ID+"/items/"+l.Data[3].ID, "", 200), &i)
		if i.Content[0].Text != "answer one" {
			t.Errorf("%+v", i)
		}
		g.object("ConversationResource", g.do("DELETE", "conversations/"+c.ID+"/items/"+l.Data[0].ID, "", 200), &c)
		g.refused("GET", "conversations/"+c.ID+"/items/"+l.Data[0].ID, "", 404, "")
		g.object("ConversationResource", g.do("POST", "conversations/"+c.ID, `{"metadata":{"a":"b"}}`, 200), &c)
		if c.Metadata["a"] != "b" {
			t.Errorf("%+v", c)
		}
		g.object("ConversationItemList", g.do("POST", "conversations/"+c.ID+"/items",
			`{"items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"later"}]}]}`, 200), l)
		if l.texts() != "later" {
			t.Error(l.texts())
		}
		g.refused("POST", "responses", g.body(`"input":"x","conversation":"`+c.ID+`","previous_response_id":"`+one.ID+`"`), 400,
			"mutually_exclusive_parameters")
		g.object("DeletedConversationResource", g.do("DELETE", "conversations/"+c.ID, "", 200), &struct{}{})
		g.refused("GET", "conversations/"+c.ID, "", 404, "")
		g.do("GET", "responses/"+one.ID, "", 200)
	})
}

// TestConversationLocked asks twice for one conversation at once.
func TestConversationLocked(t *testing.T) {
	g := start(t, "wazero", "", "", sim.Options{HoldAfter: 3, Keep: 100, Script: answers()})
	var c struct{ ID string }
	g.object("ConversationResource", g.do("POST", "conversations", `{}`, 200), &c)
	done := make(chan *response)
	go func() { done <- g.create(`"input":"first question","conversation":"` + c.ID + `"`) }()
	g.asked(1)
	g.refused("POST", "responses", g.body(`"input":"second question","conversation":"`+c.ID+`"`), 400, "conversation_locked")
	g.sim.Release()
	if r := <-done; r.text() != "answer one" {
		t.Errorf("%+v", r)
	}
	if r := g.create(`"input":"second question","conversation":"` + c.ID + `"`); r.text() != "answer two" {
		t.Errorf("%+v", r)
	}
}

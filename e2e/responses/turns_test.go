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
		one := g.Create(`"input":"first question","instructions":"Be brief."`)
		if !one.Store || one.Status != "completed" || one.Text() != "answer one" || one.PreviousResponseID != nil {
			t.Errorf("%+v", one)
		}
		two, _ := g.Stream(`"input":"second question","previous_response_id":"` + one.ID + `"`)
		if two.Text() != "answer two" || two.PreviousResponseID == nil || *two.PreviousResponseID != one.ID {
			t.Errorf("%+v", two)
		}
		prompt := g.LastPrompt()
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
		three := g.Create(`"input":[{"role":"user","content":"third question"}],"previous_response_id":"` + two.ID + `"`)
		for _, part := range []string{"first question", "answer one", "second question", "answer two", "third question"} {
			if !strings.Contains(g.LastPrompt(), part) {
				t.Errorf("the prompt has no %q: %s", part, g.LastPrompt())
			}
		}
		again := &response{}
		g.Object("Response", g.Do("GET", "responses/"+three.ID, "", 200), again)
		if again.Text() != "answer three" || again.Status != "completed" || again.ID != three.ID {
			t.Errorf("%+v", again)
		}
		l := &list{}
		g.Object("ResponseItemList", g.Do("GET", "responses/"+two.ID+"/input_items?order=asc", "", 200), l)
		if l.Texts() != "first question|thought one|answer one|second question" || l.HasMore {
			t.Errorf("%s", l.Texts())
		}
		g.Object("ResponseItemList", g.Do("GET", "responses/"+two.ID+"/input_items?limit=1", "", 200), l)
		if l.Texts() != "second question" || !l.HasMore || l.FirstID != l.LastID {
			t.Errorf("%+v", l)
		}
		g.Object("ResponseItemList", g.Do("GET", "responses/"+two.ID+"/input_items?limit=2&after="+l.LastID, "", 200), l)
		if l.Texts() != "answer one|thought one" {
			t.Errorf("%+v", l)
		}
		// Nothing is stored of a request that says so, also if it continues a stored one.
		unstored := g.Create(`"input":"second question","store":false,"previous_response_id":"` + one.ID + `"`)
		if unstored.Store || !strings.Contains(g.LastPrompt(), "answer one") {
			t.Errorf("%+v", unstored)
		}
		g.Refused("GET", "responses/"+unstored.ID, "", 404, "")
		g.Refused("POST", "responses", g.Body(`"input":"x","previous_response_id":"`+unstored.ID+`"`), 400,
			"previous_response_not_found")
		// A deleted response is a gap that is told.
		g.Do("DELETE", "responses/"+two.ID, "", 200)
		g.Refused("GET", "responses/"+two.ID, "", 404, "")
		g.Refused("POST", "responses", g.Body(`"input":"x","previous_response_id":"`+three.ID+`"`), 400,
			"previous_response_not_found")
		// Tokens are counted with the chain.
		count := g.Do("POST", "responses/input_tokens",
			g.Body(`"input":"second question","previous_response_id":"`+one.ID+`"`), 200)
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
		g.Object("ConversationResource", g.Do("POST", "conversations",
			`{"metadata":{"topic":"x"},"items":[{"role":"user","content":"an item"}]}`, 200), &c)
		one := g.Create(`"input":"first question","conversation":"` + c.ID + `"`)
		if one.Conversation == nil || one.Conversation.ID != c.ID {
			t.Errorf("%+v", one)
		}
		two, _ := g.Stream(`"input":"second question","conversation":{"id":"` + c.ID + `"}`)
		if two.Text() != "answer two" || !strings.Contains(g.LastPrompt(), "an item") ||
			!strings.Contains(g.LastPrompt(), "answer one") {
			t.Errorf("%+v: %s", two, g.LastPrompt())
		}
		l := &list{}
		g.Object("ConversationItemList", g.Do("GET", "conversations/"+c.ID+"/items?order=asc&limit=100", "", 200), l)
		if l.Texts() != "an item|first question|thought one|answer one|second question|thought two|answer two" {
			t.Error(l.Texts())
		}
		var i item
		g.Object("ConversationItem", g.Do("GET", "conversations/"+c.ID+"/items/"+l.Data[3].ID, "", 200), &i)
		if i.Content[0].Text != "answer one" {
			t.Errorf("%+v", i)
		}
		g.Object("ConversationResource", g.Do("DELETE", "conversations/"+c.ID+"/items/"+l.Data[0].ID, "", 200), &c)
		g.Refused("GET", "conversations/"+c.ID+"/items/"+l.Data[0].ID, "", 404, "")
		g.Object("ConversationResource", g.Do("POST", "conversations/"+c.ID, `{"metadata":{"a":"b"}}`, 200), &c)
		if c.Metadata["a"] != "b" {
			t.Errorf("%+v", c)
		}
		g.Object("ConversationItemList", g.Do("POST", "conversations/"+c.ID+"/items",
			`{"items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"later"}]}]}`, 200), l)
		if l.Texts() != "later" {
			t.Error(l.Texts())
		}
		g.Refused("POST", "responses",
			g.Body(`"input":"x","conversation":"`+c.ID+`","previous_response_id":"`+one.ID+`"`), 400,
			"mutually_exclusive_parameters")
		g.Object("DeletedConversationResource", g.Do("DELETE", "conversations/"+c.ID, "", 200), &struct{}{})
		g.Refused("GET", "conversations/"+c.ID, "", 404, "")
		g.Do("GET", "responses/"+one.ID, "", 200)
	})
}

// TestConversationLocked asks twice for one conversation at once.
func TestConversationLocked(t *testing.T) {
	g := start(t, "wazero", "", "", sim.Options{HoldAfter: 3, Keep: 100, Script: answers()})
	var c struct{ ID string }
	g.Object("ConversationResource", g.Do("POST", "conversations", `{}`, 200), &c)
	done := make(chan *response)
	go func() { done <- g.Create(`"input":"first question","conversation":"` + c.ID + `"`) }()
	g.Asked(1)
	g.Refused("POST", "responses", g.Body(`"input":"second question","conversation":"`+c.ID+`"`), 400,
		"conversation_locked")
	g.Sim.Release()
	if r := <-done; r.Text() != "answer one" {
		t.Errorf("%+v", r)
	}
	if r := g.Create(`"input":"second question","conversation":"` + c.ID + `"`); r.Text() != "answer two" {
		t.Errorf("%+v", r)
	}
}

//go:build e2e

package faults

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// genuine is a whole answer of a server of some kind, as its simulator writes it.
type genuine struct {
	kind        *contract.Kind
	request     string
	contentType string
	// frames are the parts of the stream, each with its end. end is the end of a part with an event.
	frames []string
	end    string
}

// brokenScript is the answer that is broken. It has a character of four bytes.
const brokenScript = "<|channel|>final<|message|>one two 😀 four five six<|return|>"

// ask asks the simulator of a kind. fault is a fault as sim knows it.
func ask(kind *contract.Kind, body, fault string) *httptest.ResponseRecorder {
	s := sim.New(sim.Options{Kind: kind.Name, Models: []string{lab.Model}, AllowHeaders: true, TextSpecials: true,
		PrintSpecials: true,
		Script:        sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(brokenScript)})})
	r := httptest.NewRequest(http.MethodPost, kind.Path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Sim-Fault", fault)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// genuineAnswer returns the answer to a request for a stream.
func genuineAnswer(kind *contract.Kind, body string) genuine {
	w := ask(kind, body, "none")
	a := genuine{kind: kind, request: body, contentType: w.Header().Get("Content-Type"), end: "\n"}
	if strings.HasPrefix(a.contentType, "text/event-stream") {
		a.end = "\n\n"
	}
	a.frames = strings.SplitAfter(w.Body.String(), a.end)
	a.frames = a.frames[:len(a.frames)-1]
	return a
}

// event returns the object of the event in a place. It is nil if the place has none.
func (a *genuine) event(at int) map[string]any {
	var event map[string]any
	if json.Unmarshal([]byte(strings.TrimPrefix(strings.TrimSuffix(a.frames[at], a.end), "data: ")), &event) != nil {
		return nil
	}
	return event
}

// framed returns an event's text as the server frames it.
func (a *genuine) framed(text string) string {
	if a.end == "\n\n" {
		text = "data: " + text
	}
	return text + a.end
}

// with returns the stream with another text in place of the event in a place.
func (a *genuine) with(at int, text string) string {
	return strings.Join(a.frames[:at], "") + a.framed(text) + strings.Join(a.frames[at+1:], "")
}

// edited returns the stream where an event is changed. change gets each member of the event's objects, and returns its
// new value. ok reports whether change has changed something.
func (a *genuine) edited(at int, change func(name string, value any) any) (stream string, ok bool) {
	event := a.event(at)
	edited, ok := edit(event, change)
	return a.with(at, text(edited)), ok
}

func edit(value any, change func(name string, value any) any) (any, bool) {
	changed := false
	switch value := value.(type) {
	case map[string]any:
		for name, old := range value {
			inner, ok := edit(old, change)
			if !ok {
				inner = change(name, old)
				ok = text(inner) != text(old)
			}
			value[name] = inner
			changed = changed || ok
		}
	case []any:
		for i := range value {
			var ok bool
			value[i], ok = edit(value[i], change)
			changed = changed || ok
		}
	}
	return value, changed
}

func text(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Events call the ids and the text that were generated, and the number of tokens, by these names.
var (
	idMembers    = []string{"token_ids", "output_ids", "tokens"}
	textMembers  = []string{"text", "response", "content"}
	countMembers = []string{"completion_tokens", "tokens_predicted"}
)

// lastID changes the last id of an event.
func lastID(id any) func(name string, value any) any {
	return func(name string, value any) any {
		if list, ok := value.([]any); ok && slices.Contains(idMembers, name) && len(list) > 0 {
			return append(slices.Clone(list[:len(list)-1]), id)
		}
		return value
	}
}

// otherTypes changes the type of what was generated.
func otherTypes(name string, value any) any {
	switch value.(type) {
	case []any:
		if slices.Contains(idMembers, name) {
			return "x"
		}
	case string:
		if slices.Contains(textMembers, name) {
			return 7
		}
	}
	return value
}

// empty takes what was generated out of an event.
func empty(name string, value any) any {
	switch value.(type) {
	case []any:
		if slices.Contains(idMembers, name) {
			return []any{}
		}
	case string:
		if slices.Contains(textMembers, name) {
			return ""
		}
	case float64:
		if slices.Contains(countMembers, name) {
			return 0
		}
	}
	return value
}

func index(n any) func(name string, value any) any {
	return func(name string, value any) any {
		if name == "index" {
			return n
		}
		return value
	}
}

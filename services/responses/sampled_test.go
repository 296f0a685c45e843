package responses

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

const sealKeyA = "a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

func keysOf(t *testing.T, text string) *seal.Keys {
	t.Helper()
	keys, err := seal.ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// spells is a gateway that gives the ids of an answer if it is asked for them. One that is old does not know them.
type spells struct {
	script
	keys *seal.Keys
	ids  string
	old  bool
}

// ServeHTTP implements [http.Handler].
func (s *spells) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var o struct{ Include []string }
	_ = json.Unmarshal(body, &o)
	at := slices.Index(o.Include, items.IncludeSampled)
	if s.old && at >= 0 {
		s.mu.Lock()
		s.asked = append(s.asked, string(body))
		s.mu.Unlock()
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"Unknown.","type":"invalid_request_error","param":"include[%d]",`+
			`"code":"invalid_value"}}`, at)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	if at < 0 {
		s.script.ServeHTTP(w, r)
		return
	}
	given := "ids1:" + base64.RawURLEncoding.EncodeToString([]byte(s.ids))
	if s.keys != nil {
		b, err := s.keys.SealAs(seal.Turn, nil, []byte(s.ids), seal.Bound{Model: "m"}, time.Now().Add(time.Hour).Unix())
		if err != nil {
			panic(err)
		}
		given = string(b)
	}
	s.mu.Lock()
	s.asked = append(s.asked, string(body))
	answer := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	s.mu.Unlock()
	// The last item that is done has them.
	last := strings.LastIndex(answer, `"item":{`) + len(`"item":{`)
	w.Header().Set("content-type", "text/event-stream")
	fmt.Fprint(w, answer[:last]+`"sampled_ids":"`+given+`",`+answer[last:])
}

const plainOfIDs = `"sampled_ids":"ids1:AAECAwQF"`

// startSpells starts a service before such a gateway, with a model of the gateway's.
func startSpells(t *testing.T, o Options, g *spells) *fixture {
	t.Helper()
	g.ids = "\x00\x01\x02\x03\x04\x05"
	f := startAt(t, o, g)
	f.change(func(o *Settings) { o.Models = []contract.Model{contract.DefaultModel("m")} })
	return f
}

// TestSampledIDs: the ids of an answer are stored, hidden from clients who have not asked, and go back to the gateway
// with what continues the response: a chain, a conversation, a response in the background. They outlive the key by
// which they were sealed.
func TestSampledIDs(t *testing.T) {
	said := answerOf("completed", 10, 5, textItem("A thought that is long enough."))
	for name, keys := range map[string]*seal.Keys{"sealed": keysOf(t, sealKeyA), "clear": nil} {
		t.Run(name, func(t *testing.T) {
			g := &spells{script: script{answers: []string{said}}, keys: keys}
			f := startSpells(t, Options{SealKeys: keys}, g)
			hidden := func(what, body string) {
				if strings.Contains(body, items.MemberSampled) {
					t.Errorf("%s shows ids: %s", what, body)
				}
			}
			_, body := f.do("POST", "/v1/responses", `{"model":"m","input":"go","stream":true}`)
			hidden("a stream", body)
			if want := `"include":["turn.sampled_ids"]`; !strings.Contains(g.last(), want) {
				t.Fatalf("the gateway was asked %s", g.last())
			}
			id := body[strings.Index(body, "resp_"):]
			id = id[:strings.Index(id, `"`)]
			_, stored := f.do("GET", "/v1/responses/"+id, "")
			hidden("a response", stored)
			f.create(`"input":"on","previous_response_id":"` + id + `"`)
			if !strings.Contains(g.last(), plainOfIDs) || strings.Contains(g.last(), items.HiddenPrefix) {
				t.Errorf("the chain is asked for with %s", g.last())
			}
			_, listed := f.do("GET", "/v1/responses/"+id+"/input_items", "")
			hidden("a list", listed)
			_, asked := f.do("GET", "/v1/responses/"+id+"?include="+items.IncludeSampled, "")
			if strings.Count(asked, `"sampled_ids":"`) != 1 || strings.Contains(asked, items.HiddenPrefix) ||
				strings.Contains(asked, plainOfIDs) != (keys == nil) {
				t.Errorf("a client that asks gets %s", asked)
			}
			if keys != nil { // another key, some day
				f.s.options.SealKeys = keysOf(t, "b:"+strings.TrimPrefix(sealKeyA, "a:"))
				f.change(func(*Settings) {})
			}
			f.create(`"input":"on","background":true,"previous_response_id":"` + id + `"`)
			await(t, func() bool { return strings.Count(g.text(), plainOfIDs) == 2 })
			_, made := f.do("POST", "/v1/conversations", `{}`)
			var c struct{ ID string }
			_ = json.Unmarshal([]byte(made), &c)
			g.keys = f.s.options.SealKeys
			f.create(`"input":"go","conversation":"` + c.ID + `"`)
			f.create(`"input":"on","conversation":"` + c.ID + `"`)
			if !strings.Contains(g.last(), plainOfIDs) {
				t.Errorf("the conversation is asked for with %s", g.last())
			}
			_, listed = f.do("GET", "/v1/conversations/"+c.ID+"/items", "")
			hidden("a conversation", listed)
		})
	}
}

// TestSampledIDsAsked: a client that asks for the ids gets them as the gateway gives them, and can send them back.
func TestSampledIDsAsked(t *testing.T) {
	keys := keysOf(t, sealKeyA)
	g := &spells{script: script{answers: []string{answerOf("completed", 10, 5, textItem("Long enough."))}}, keys: keys}
	f := startSpells(t, Options{SealKeys: keys}, g)
	_, body := f.do("POST", "/v1/responses", `{"model":"m","input":"go","include":["turn.sampled_ids"]}`)
	var o struct{ Output []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &o); err != nil || len(o.Output) != 1 ||
		!strings.Contains(body, `"sampled_ids":"`) || strings.Contains(body, items.HiddenPrefix) {
		t.Fatal(body)
	}
	f.create(`"input":[` + string(o.Output[0]) + `,{"role":"user","content":"on"}]`)
	if !strings.Contains(g.last(), plainOfIDs) || strings.Count(g.last(), "include") != 1 {
		t.Errorf("the gateway was asked %s", g.last())
	}
	for _, ids := range []string{`"AAAA"`, `"ids1:!"`, `5`, `null`, `""`} { // damaged ids are passed over
		f.create(`"input":[{"role":"assistant","content":"A","sampled_ids":` + ids + `},{"role":"user","content":"on"}]`)
		if strings.Contains(g.last(), `"sampled_ids":`) {
			t.Errorf("%s: the gateway was asked %s", ids, g.last())
		}
	}
}

// TestSampledIDsOfCalls: within a response, and in the next one, the ids are on the call that they end with.
func TestSampledIDsOfCalls(t *testing.T) {
	keys := keysOf(t, sealKeyA)
	f, _, _ := startTools(t, ToolOptions{}, []string{""}, saying("hello"))
	g := &spells{keys: keys, ids: "\x00\x01\x02\x03\x04\x05"}
	g.answers = []string{answerOf("completed", 10, 5, callItem("t", "say_it", `{"a": 1}`)),
		answerOf("completed", 10, 5, textItem("Long enough."))}
	f.s.options.SealKeys = keys
	gateway := startGateway(t, g)
	f.change(func(o *Settings) { o.Gateway, o.Models = gateway, []contract.Model{contract.DefaultModel("m")} })
	id := f.create(`"input":"go",` + never)
	f.create(`"input":"on","previous_response_id":"` + id + `"`)
	if len(g.asked) != 3 {
		t.Fatalf("asked %d times", len(g.asked))
	}
	for at, want := range []int{0, 1, 2} {
		var o struct{ Input []map[string]any }
		if err := json.Unmarshal([]byte(g.asked[at]), &o); err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, item := range o.Input {
			if ids, has := item[items.MemberSampled]; has {
				found++
				if ids != "ids1:AAECAwQF" || item["type"] != "function_call" && item["role"] != "assistant" {
					t.Errorf("round %d: %v", at, item)
				}
			}
		}
		if found != want {
			t.Errorf("round %d has %d ids, want %d: %s", at, found, want, g.asked[at])
		}
	}
}

// TestSampledIDsOfApprovals: the ids of a call that waits for its client's word come back with its result, and with a
// denial too.
func TestSampledIDsOfApprovals(t *testing.T) {
	for _, approve := range []string{"true", "false"} {
		f, _, _ := startTools(t, ToolOptions{}, []string{""}, saying("hello"))
		g := &spells{ids: "\x00\x01\x02\x03\x04\x05"}
		g.answers = []string{answerOf("completed", 10, 5, callItem("t", "say_it", `{"a": 1}`)),
			answerOf("completed", 10, 5, textItem("Long enough."))}
		gateway := startGateway(t, g)
		f.change(func(o *Settings) { o.Gateway, o.Models = gateway, []contract.Model{contract.DefaultModel("m")} })
		const always = `"tools":[{"type":"mcp","server_label":"t"}]`
		asks := f.ask(`"input":"go",` + always)
		if asks.types() != "mcp_list_tools mcp_approval_request" || strings.Contains(fmt.Sprint(asks), items.MemberSampled) {
			t.Fatalf("%+v", asks)
		}
		f.ask(`"previous_response_id":"` + asks.ID + `","input":[{"type":"mcp_approval_response","approve":` + approve +
			`,"approval_request_id":"` + asks.Output[1]["id"].(string) + `"}],` + always)
		var o struct{ Input []map[string]any }
		if err := json.Unmarshal([]byte(g.last()), &o); err != nil || len(o.Input) != 3 ||
			o.Input[1]["type"] != "function_call" || o.Input[1][items.MemberSampled] != "ids1:AAECAwQF" {
			t.Errorf("approved %s: %v %s", approve, err, g.last())
		}
	}
}

// TestOlderGateway: a gateway that does not know the ids is asked without, and not asked for them again for a while.
func TestOlderGateway(t *testing.T) {
	g := &spells{script: script{answers: []string{answerOf("completed", 10, 5, textItem("A"))}}, old: true}
	f := startSpells(t, Options{}, g)
	for range 3 {
		f.create(`"input":"go"`)
	}
	if n := strings.Count(g.text(), items.IncludeSampled); n != 1 || len(g.asked) != 4 {
		t.Errorf("asked %d times, %d of them for ids", len(g.asked), n)
	}
	// What the client asks for itself is refused as before.
	status, body := f.do("POST", "/v1/responses", `{"model":"m","input":"go","include":["turn.sampled_ids"]}`)
	if status != 400 || !strings.Contains(body, "include[0]") {
		t.Errorf("%d %s", status, body)
	}
}

// TestSampledIDsLeftOut: ids spell all that a model has written. They are not stored where some of that is not, nor
// where they would be larger than it. They are not asked for where nothing is made of them.
func TestSampledIDsLeftOut(t *testing.T) {
	long := answerOf("completed", 10, 5, textItem("A"))
	ask := func(t *testing.T, ids string, change func(*Settings)) string {
		g := &spells{script: script{answers: []string{long}}}
		f := startSpells(t, Options{}, g)
		g.ids = ids
		f.change(change)
		f.create(`"input":"on","previous_response_id":"` + f.create(`"input":"go"`) + `"`)
		return g.last()
	}
	short := "\x01\x02"
	for name, change := range map[string]func(*Settings){
		"never":       func(o *Settings) { o.Reasoning = settings.KeepNone },
		"until_final": func(o *Settings) { o.Reasoning = settings.KeepUntilFinal },
		"commentary":  func(o *Settings) { o.DropCommentary = true },
		"template":    func(o *Settings) { o.Models[0].History.Calls = contract.HistoryTemplate },
		"chat":        func(o *Settings) { o.Models[0].Server = contract.Chat },
		"none":        func(o *Settings) { o.Models = nil },
	} {
		t.Run(name, func(t *testing.T) {
			if asked := ask(t, short, change); strings.Contains(asked, `"sampled_ids"`) {
				t.Errorf("asked %s", asked)
			}
		})
	}
	if asked := ask(t, short, func(*Settings) {}); !strings.Contains(asked, `"sampled_ids"`) {
		t.Errorf("asked %s", asked)
	}
	if asked := ask(t, strings.Repeat(short, 1000), func(*Settings) {}); strings.Contains(asked, `"sampled_ids"`) {
		t.Errorf("ids larger than their text are stored: %s", asked)
	}
}

// TestLongChainWithIDs: a conversation of 10,000 items whose texts fit is not refused for its ids, which are left out
// where the whole would be too large.
func TestLongChainWithIDs(t *testing.T) {
	g := &spells{script: script{answers: []string{answerOf("completed", 10, 5, textItem("A"))}}}
	f := startSpells(t, Options{}, g)
	g.ids = "\x01\x02"
	const limit = 2 << 20
	f.change(func(o *Settings) { o.BodyLimit = limit })
	list := func(ids string) string {
		return `"input":[` + strings.Repeat(`{"type":"function_call","call_id":"c","name":"f","arguments":"{}",`+
			`"sampled_ids":"ids1:`+ids+`"},{"type":"function_call_output","call_id":"c","output":"B"},`, 5000) + `{"role":"user","content":"C"}]`
	}
	for ids, want := range map[string]int{"AAEC": 5001, strings.Repeat("AAEC", 30): 0} {
		f.create(`"input":"on","previous_response_id":"` + f.create(list(ids)) + `"`)
		if n := strings.Count(g.last(), `"sampled_ids"`); n != want || strings.Count(g.last(), `"function_call"`) != 5000 {
			t.Errorf("%d ids go back in %d bytes, want %d", n, len(g.last()), want)
		}
	}
}

// TestDropIDs: ids that take more room than what they spell are left out, each for itself.
func TestDropIDs(t *testing.T) {
	item := func(text, ids string) store.Item {
		return items.Of(json.RawMessage(`{"type":"message","content":"` + text + `","harmony_sampled_ids":"` + ids + `"}`))
	}
	list := []store.Item{item("A", strings.Repeat("A", 100)), items.Of(json.RawMessage(`{"type":"reasoning"}`)),
		item("A", "AAAA")}
	items.DropIDs(list, false)
	for i, want := range []string{"", "", "AAAA"} {
		if _, ids := items.TakeSampled(list[i].Body); ids != want {
			t.Errorf("item %d: %q, want %q", i, ids, want)
		}
	}
	items.DropIDs(list, true)
	if _, ids := items.TakeSampled(list[2].Body); ids != "" {
		t.Errorf("%q is left", ids)
	}
}

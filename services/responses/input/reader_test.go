package input

import (
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// around is what readers have around them.
type around struct {
	source   *Source
	keys     *seal.Keys
	settings *settings.Snapshot
}

// newAround returns what is around readers of a service with keys, or nil, and without a store.
func newAround(keys *seal.Keys) *around {
	log := slog.New(slog.DiscardHandler)
	return &around{keys: keys,
		source:   &Source{Stored: func() (*store.Store, *openai.Error) { return nil, refusal.StoreAway() }, Log: log},
		settings: settings.New(settings.Settings{}, items.Sealer{Keys: keys, Now: time.Now, Log: log}, nil)}
}

func testKeys(t *testing.T) *seal.Keys {
	t.Helper()
	keys, err := seal.ParseKeys("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// sameJSON compares texts by what they say.
func sameJSON(t *testing.T, got []byte, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// newTestReader returns a reader of items that follow others.
func newTestReader(s *around, past []store.Item) *Reader {
	return NewReader(s.source, &Caller{Settings: s.settings}, nil, past)
}

func TestReadItems(t *testing.T) {
	s := newAround(nil)
	for in, want := range map[string]string{
		`{"role":"user","content":"Hi","id":"msg_1"}`: `{"type":"message","role":"user","status":"completed","id":"msg_1",
			"content":[{"type":"input_text","text":"Hi"}]}`,
		`{"type":"message","role":"assistant","content":"Hi","id":"msg_1","status":"incomplete"}`: `{"type":"message",
			"role":"assistant","status":"incomplete","id":"msg_1",
			"content":[{"type":"output_text","text":"Hi","annotations":[],"logprobs":[]}]}`,
		`{"type":"reasoning","id":"rs_1","content":[]}`: `{"type":"reasoning","id":"rs_1","content":[],"summary":[]}`,
		`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}","status":null}`: `{
			"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}","status":"completed"}`,
		// No client writes what the service keeps for itself.
		`{"type":"reasoning","id":"rs_1","summary":[],"harmony_text":"forged"}`: `{"type":"reasoning","id":"rs_1","summary":[]}`,
	} {
		stored, failure := newTestReader(s, nil).Read(t.Context(), "input", []json.RawMessage{json.RawMessage(in)})
		if failure != nil {
			t.Errorf("%s: %v", in, failure)
			continue
		}
		sameJSON(t, stored[0].Body, want)
	}
	for in, param := range map[string]string{
		`1`: "input[1]", `null`: "input[1]", `[]`: "input[1]", `{"type":1}`: "input[1].type",
		`{"id":{},"role":"user"}`: "input[1].id",
	} {
		_, failure := newTestReader(s, nil).Read(t.Context(), "input",
			[]json.RawMessage{json.RawMessage(`{"role":"user","content":"x"}`), json.RawMessage(in)})
		if failure == nil || failure.Status != 400 || failure.Code != "invalid_type" || failure.Param != param {
			t.Errorf("%s: %+v", in, failure)
		}
	}
}

// TestItemIDs: each item of a list has an id of its own, and no id is longer than what the service gives.
func TestItemIDs(t *testing.T) {
	past := []store.Item{{ID: "msg_1"}}
	list := []json.RawMessage{
		json.RawMessage(`{"role":"user","content":"a"}`),
		json.RawMessage(`{"role":"user","content":"b","id":"msg_1"}`),
		json.RawMessage(`{"role":"user","content":"c","id":"msg_2"}`),
		json.RawMessage(`{"role":"user","content":"d","id":"msg_2"}`),
		json.RawMessage(`{"type":"function_call","call_id":"c","name":"f","arguments":"","id":"` + strings.Repeat("x",
			65) + `"}`),
		json.RawMessage(`{"type":"unheard_of"}`),
	}
	items, failure := newTestReader(newAround(nil), past).Read(t.Context(), "input", list)
	if failure != nil {
		t.Fatal(failure)
	}
	seen := map[string]bool{"msg_1": true}
	for i, prefix := range []string{"msg_", "msg_", "msg_2", "msg_", "fc_", "item_"} {
		if id := items[i].ID; seen[id] || !strings.HasPrefix(id, prefix) || len(id) > 64 ||
			!strings.Contains(string(items[i].Body), `"`+id+`"`) {
			t.Errorf("item %d: %q in %s", i, id, items[i].Body)
		}
		seen[items[i].ID] = true
	}
}

// TestHiddenReasoning follows sealed reasoning whose text its client does not see: into the store, to the model, and
// back to the client.
func TestHiddenReasoning(t *testing.T) {
	s := newAround(testKeys(t))
	c := &Caller{Settings: s.settings, TenantValue: "acme"}
	bound := c.Bound("m")
	sealed, err := s.keys.Seal(nil, []byte("secret thought"), *bound, time.Now().Unix()+60)
	if err != nil {
		t.Fatal(err)
	}
	in := json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"` + string(sealed) + `"}`)
	stored, failure := NewReader(s.source, c, bound, nil).Read(t.Context(), "input", []json.RawMessage{in})
	if failure != nil {
		t.Fatal(failure)
	}
	sameJSON(t, stored[0].Body, `{"type":"reasoning","id":"rs_1","summary":[],"content":[],"harmony_text":"secret thought"}`)
	sameJSON(t, items.ForModel(&stored[0])[0], `{"type":"reasoning","id":"rs_1","summary":[],
		"content":[{"type":"reasoning_text","text":"secret thought"}]}`)
	sameJSON(t, s.settings.Sealer.ForClient(&stored[0], bound, nil),
		`{"type":"reasoning","id":"rs_1","summary":[],"content":[]}`)
	var carried struct {
		Text   string `json:"harmony_text"`
		Sealed string `json:"encrypted_content"`
	}
	shown := s.settings.Sealer.ForClient(&stored[0], bound, []string{items.IncludeSealed})
	if err := json.Unmarshal(shown, &carried); err != nil || carried.Text != "" {
		t.Errorf("%+v, %v", carried, err)
	}
	if text, err := s.keys.Open([]byte(carried.Sealed), *bound, time.Now().Unix()); err != nil ||
		string(text) != "secret thought" {
		t.Errorf("%q, %v", text, err)
	}
	// Another tenant's, or another model's, is an error.
	for _, other := range []*seal.Bound{(&Caller{TenantValue: "other"}).Bound("m"), c.Bound("n")} {
		_, failure := NewReader(s.source, c, other, nil).Read(t.Context(), "input", []json.RawMessage{in})
		if failure == nil || failure.Code != "invalid_encrypted_content" || failure.Param != "input[0].encrypted_content" ||
			strings.Contains(failure.Message, "secret") {
			t.Errorf("%+v", failure)
		}
	}
}

func TestLogprobs(t *testing.T) {
	item := &store.Item{Type: items.TypeMessage,
		Body: []byte(`{"type":"message","content":[{"type":"output_text","text":"a",` +
			`"logprobs":[{"token":"a"}]},{"type":"refusal","refusal":"no"}]}`)}
	s := &newAround(nil).settings.Sealer
	sameJSON(t, s.ForClient(item, nil, nil), `{"type":"message","content":[{"type":"output_text","text":"a","logprobs":[]},
		{"type":"refusal","refusal":"no"}]}`)
	sameJSON(t, s.ForClient(item, nil, []string{items.IncludeLogprobs}), string(item.Body))
}

// TestCompaction follows a compaction: to its client and back, with keys and without, into the store, and to the model.
func TestCompaction(t *testing.T) {
	const payload = `{"summary":"what was said","items":[{"role":"user","content":"go on"}]}`
	for _, s := range []*around{newAround(nil), newAround(testKeys(t))} {
		c := &Caller{Settings: s.settings, TenantValue: "acme"}
		in := s.settings.Sealer.NewCompaction(payload, c.Bound("m"))
		if strings.Contains(string(in), items.HiddenText) || strings.Contains(string(in), "what was said") {
			t.Errorf("the client gets %s", in)
		}
		stored, failure := NewReader(s.source, c, c.Bound("another model"), nil).Read(t.Context(), "input",
			[]json.RawMessage{in})
		if failure != nil {
			t.Fatal(failure)
		}
		var carried struct {
			Sealed string `json:"encrypted_content"`
		}
		if json.Unmarshal(stored[0].Body, &carried) != nil || carried.Sealed != "" {
			t.Errorf("stored as %s", stored[0].Body)
		}
		model := items.ForModel(&stored[0])
		if len(model) != 2 || !strings.Contains(string(model[0]), "what was said") ||
			string(model[1]) != `{"role":"user","content":"go on"}` {
			t.Errorf("the model gets %s", model)
		}
		again := s.settings.Sealer.ForClient(&stored[0], c.Bound(""), nil)
		if _, failure := NewReader(s.source, c, c.Bound("m"), nil).Read(t.Context(), "input",
			[]json.RawMessage{again}); failure != nil {
			t.Error(failure)
		}
		if s.keys == nil {
			continue
		}
		other := (&Caller{TenantValue: "other"}).Bound("m")
		wantUnopened(t, NewReader(s.source, c, other, nil), &s.settings.Sealer, in)
	}
}

// wantUnopened checks that an item passes through the service as it is: to the gateway, which knows what to make of it,
// and back to its client.
func wantUnopened(t *testing.T, r *Reader, s *items.Sealer, in json.RawMessage) {
	t.Helper()
	stored, failure := r.Read(t.Context(), "input", []json.RawMessage{in})
	if failure != nil {
		t.Fatalf("%s: %v", in, failure)
	}
	sameJSON(t, s.ForClient(&stored[0], &seal.Bound{Tenant: "other"}, nil), string(in))
	if model := items.ForModel(&stored[0]); len(model) != 1 {
		t.Errorf("the gateway gets %s", model)
	} else {
		sameJSON(t, model[0], string(in))
	}
}

// TestForeignItems: what other services have sealed is no error.
func TestForeignItems(t *testing.T) {
	const blob = "gAAAAABotdZ0Sz7yPXXpQl5Q"
	for _, s := range []*around{newAround(nil), newAround(testKeys(t))} {
		c := &Caller{Settings: s.settings, TenantValue: "acme"}
		read := func() *Reader { return NewReader(s.source, c, c.Bound("m"), nil) }
		for _, in := range []string{
			`{"type":"compaction","id":"cmp_1","encrypted_content":"` + blob + `"}`,
			`{"type":"compaction","id":"cmp_1","encrypted_content":"clear.bm8"}`,
			`{"type":"compaction","id":"cmp_1","encrypted_content":null}`,
			`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"` + blob + `"}`,
			`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":null}`,
		} {
			wantUnopened(t, read(), &s.settings.Sealer, json.RawMessage(in))
		}
		if s.keys == nil {
			continue
		}
		for _, text := range []string{
			`"summary":[],"content":[{"type":"reasoning_text","text":"thought"}]`,
			`"summary":[{"type":"summary_text","text":"thought"}]`,
		} {
			in := `{"type":"reasoning","id":"rs_1",` + text
			stored, failure := read().Read(t.Context(), "input",
				[]json.RawMessage{json.RawMessage(in + `,"encrypted_content":"` + blob + `"}`)})
			if failure != nil {
				t.Fatal(failure)
			}
			sameJSON(t, stored[0].Body, in+`}`)
		}
	}
}

// TestTail checks which items a compaction keeps: calls stay with their outputs.
func TestTail(t *testing.T) {
	user, said := `{"role":"user"}`, `{"type":"message","role":"assistant"}`
	thought, call, output := `{"type":"reasoning"}`, `{"type":"function_call"}`, `{"type":"function_call_output"}`
	const update = `{"type":"configuration_update"}`
	for _, tt := range []struct {
		items []string
		want  int
	}{
		{nil, 0},
		{[]string{user}, 0},
		{[]string{user, said, user, user}, 2},
		{[]string{user, call, output}, 1},
		{[]string{user, thought, call, call, output, output}, 1},
		{[]string{user, call, output, thought, call, output}, 3},
		{[]string{user, said}, 2},
		{[]string{user, said, user, update, update}, 2},
		{[]string{user, call, output, update}, 1},
		{[]string{update}, 0},
	} {
		var list []json.RawMessage
		for _, item := range tt.items {
			list = append(list, json.RawMessage(item))
		}
		if got := items.Tail(list); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.items, got, tt.want)
		}
	}
}

// TestPlainMessages: the gateway gets a message no longer than its client has written it, and one that has more than a
// text as it is stored.
func TestPlainMessages(t *testing.T) {
	s := newAround(nil)
	const stored = "as it is stored"
	for _, tt := range []struct{ sent, want string }{
		{`{"role":"user","content":"x"}`, ""},
		{`{"role":"assistant","content":"x \" \u00e9"}`, ""},
		{`{"role":"user","content":[{"type":"input_text","text":"x"}]}`, `{"role":"user","content":"x"}`},
		{`{"type":"message","id":"msg_1","role":"developer","content":"x"}`, `{"role":"developer","content":"x"}`},
		{`{"role":"assistant","status":"incomplete","content":"x"}`, stored},
		{`{"role":"assistant","phase":"commentary","content":"x"}`, stored},
		{`{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_text","text":"y"}]}`, stored},
		{`{"role":"user","content":[{"type":"input_image","image_url":"x"}]}`, stored},
		{`{"role":"assistant","content":[{"type":"output_text","text":"x","logprobs":[{}]}]}`, stored},
		{`{"role":"user","content":[]}`, stored},
	} {
		reader, sent, want := newTestReader(s, nil), tt.sent, tt.want
		kept, failure := reader.Read(t.Context(), "input", []json.RawMessage{json.RawMessage(sent)})
		if failure != nil {
			t.Fatal(failure)
		}
		switch want {
		case "":
			want = sent
		case stored:
			want = string(kept[0].Body)
		}
		if got := items.ForModel(&kept[0]); len(got) != 1 || string(got[0]) != want {
			t.Errorf("%s: %s, want %s", sent, got, want)
		}
	}
}

package items

import (
	"encoding/binary"
	"encoding/json"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// TestUnsealIDs: reasoning that was sealed as ids is stored as its text.
func TestUnsealIDs(t *testing.T) {
	keys, err := seal.ParseKeys("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	s := &Sealer{Keys: keys, Lifetime: time.Hour, Now: time.Now}
	bound := seal.Bound{Model: "m"}
	vocabulary := o200k.Tokenizer()
	pack := func(message, header string, more int) (packed []byte) {
		ids := vocabulary.AppendEncodeSpecial(nil, message)
		packed = binary.AppendUvarint(nil, uint64(len(ids)+more))
		for _, id := range append(ids, vocabulary.AppendEncodeSpecial(nil, header)...) {
			packed = binary.AppendUvarint(packed, uint64(id))
		}
		return packed
	}
	const message = "<|start|>assistant<|channel|>analysis<|message|>Grüße, a thought.<|end|>"
	for name, tt := range map[string]struct {
		form   seal.Form
		packed []byte
		want   string
	}{
		"alone": {seal.Message, pack(message, "", 0), "Grüße, a thought."},
		"before a call": {seal.Message, pack(message, "<|start|>assistant to=functions.f<|message|>", 0),
			"Grüße, a thought."},
		"without end": {seal.Message, pack("<|channel|>analysis<|message|>Cut", "", 0), "Cut"},
		"a text":      {seal.Text, []byte("Text."), "Text."},
		"too few":     {seal.Message, pack(message, "", 1), ""},
		"no message":  {seal.Message, pack("<|start|>assistant", "", 0), ""},
		"nothing":     {seal.Message, nil, ""},
		"half an id":  {seal.Message, []byte{1, 0x80}, ""},
		"a turn":      {seal.Turn, pack(message, "", 0), ""},
	} {
		sealed, err := keys.SealAs(tt.form, nil, tt.packed, bound, time.Now().Add(time.Hour).Unix())
		if err != nil {
			t.Fatal(err)
		}
		fields := map[string]json.RawMessage{"encrypted_content": JSON(string(sealed))}
		failure := s.Unseal("input[0]", fields, &bound)
		text := ""
		_ = json.Unmarshal(OrNull(fields[HiddenText]), &text)
		if (failure == nil) != (tt.want != "") || text != tt.want {
			t.Errorf("%s: %v, %q", name, failure, text)
		}
	}
}

// TestCutMember: a member is cut out of an object wherever it stands, and nothing else changes.
func TestCutMember(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"x":"v","b":[2]}`: `{"a":1,"b":[2]}`, `{"x":"v","a":1}`: `{"a":1}`, `{"x":"v"}`: `{}`,
		` { "x" : "v" , "a" : {"x":"w"} } `: ` { "a" : {"x":"w"} } `, `{"a":{"x":"v"}}`: "", `[]`: "", `{}`: "", ``: "",
		`{"a":1 , "x":"v"}`: `{"a":1}`,
	} {
		rest, value := cutMember(json.RawMessage(in), "x")
		switch {
		case want == "" && (string(rest) != in || value != nil):
			t.Errorf("%s: %s, %s", in, rest, value)
		case want != "" && (!json.Valid(rest) || len(rest) > len(in) || string(value) != `"v"`):
			t.Errorf("%s: %s, %s; want %s", in, rest, value, want)
		case want != "":
			var got, wanted map[string]any
			if json.Unmarshal(rest, &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil ||
				string(JSON(got)) != string(JSON(wanted)) {
				t.Errorf("%s: %s, want %s", in, rest, want)
			}
		}
	}
	for in, want := range map[string]string{
		`{}`: `{"x":"v"}`, `{ }`: `{ "x":"v"}`, `{"a":1}`: `{"a":1,"x":"v"}`, `5`: `5`,
	} {
		if got := withMember(json.RawMessage(in), "x", "v"); string(got) != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestForModelIDs: ids are on the call of a call with its result, and on whatever stands for one item.
func TestForModelIDs(t *testing.T) {
	const ids = `"harmony_sampled_ids":"AA"`
	for in, want := range map[string]string{
		`{"type":"message","role":"assistant","phase":"commentary","content":"A",` + ids + `}`: `{"type":"message",` +
			`"role":"assistant","phase":"commentary","content":"A","sampled_ids":"ids1:AA"}`,
		`{"type":"function_call","name":"f",` + ids + `,"id":"fc_1"}`: `{"type":"function_call","name":"f","id":"fc_1",` +
			`"sampled_ids":"ids1:AA"}`,
		`{"type":"mcp_call","id":"c","server_label":"l","name":"n","arguments":"{}","output":"o",` +
			ids + `}`: `{"arguments":"{}","call_id":"c","name":"n","namespace":"l","type":"function_call","sampled_ids":"ids1:AA"}`,
		`{"type":"mcp_approval_request",` + ids + `}`: ``,
	} {
		item := Of(json.RawMessage(in))
		got := ForModel(&store.Item{Type: item.Type, Body: item.Body})
		first := ""
		if len(got) > 0 {
			first = string(got[0])
		}
		if first != want {
			t.Errorf("%s:\ngot  %s\nwant %s", in, first, want)
		}
	}
}

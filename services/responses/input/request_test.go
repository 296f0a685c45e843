package input

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

func TestParseRequest(t *testing.T) {
	r, failure := Parse([]byte(`{"model":"m","input":"Hi","previous_response_id":"resp_1","stream":true,` +
		`"include":["reasoning.encrypted_content"],"temperature":0.5,"store":null,"background":false,"conversation":null}`))
	if failure != nil {
		t.Fatal(failure)
	}
	if r.Model != "m" || r.Previous != "resp_1" || r.Conversation != "" || !r.Stream || !r.Store || r.Background ||
		!r.includesValue(items.IncludeSealed) || len(r.Input) != 1 {
		t.Errorf("%+v", r)
	}
	want := `{"store":false,"stream":true,"include":["reasoning.encrypted_content"],"model":"m","temperature":0.5,` +
		`"input":[{"content":"Hi","role":"user","type":"message"}]}`
	if got := string(Plain(r.Fields, r.Input, true)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for body, id := range map[string]string{
		`{"conversation":"conv_1"}`:        "conv_1",
		`{"conversation":{"id":"conv_2"}}`: "conv_2",
	} {
		if r, failure := Parse([]byte(body)); failure != nil || r.Conversation != id {
			t.Errorf("%s: %+v, %v", body, r, failure)
		}
	}
	if r, failure := Parse([]byte(`{"input":[{"a":1}, {"b":2}]}`)); failure != nil ||
		string(Plain(r.Fields, r.Input, false)) != `{"store":false,"stream":false,"input":[{"a":1},{"b":2}]}` {
		t.Errorf("%+v, %v", r, failure)
	}
}

func TestParseRequestRefused(t *testing.T) {
	for body, want := range map[string]openai.Error{
		``:                                  {Code: "invalid_json"},
		`null`:                              {Code: "invalid_json"},
		`[]`:                                {Code: "invalid_json"},
		`{"model":"m"`:                      {Code: "invalid_json"},
		`{"previous_response_id":1}`:        {Code: "invalid_type", Param: "previous_response_id"},
		`{"stream":"true"}`:                 {Code: "invalid_type", Param: "stream"},
		`{"store":1}`:                       {Code: "invalid_type", Param: "store"},
		`{"background":"yes"}`:              {Code: "invalid_type", Param: "background"},
		`{"conversation":1}`:                {Code: "invalid_type", Param: "conversation"},
		`{"conversation":{}}`:               {Code: "invalid_type", Param: "conversation"},
		`{"conversation":{"id":1}}`:         {Code: "invalid_type", Param: "conversation"},
		`{"input":1}`:                       {Code: "invalid_type", Param: "input"},
		`{"input":{"role":"user"}}`:         {Code: "invalid_type", Param: "input"},
		`{"background":true,"store":false}`: {Code: "unsupported_parameter", Param: "background"},
		`{"previous_response_id":"resp_1","conversation":"conv_1"}`: {Code: "mutually_exclusive_parameters",
			Param: "previous_response_id"},
	} {
		_, failure := Parse([]byte(body))
		if failure == nil || failure.Status != 400 || failure.Type != "invalid_request_error" ||
			failure.Code != want.Code ||
			failure.Param != want.Param || failure.Message == "" {
			t.Errorf("%s: %+v", body, failure)
		}
	}
}

// FuzzParseRequest checks that whatever a request says, the plain one is not stored, continues nothing, and has every
// other field as it came.
func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","input":"Hi","previous_response_id":"resp_1","stream":true,"store":true}`))
	f.Add([]byte(`{"input":[{"role":"user","content":"x"},{"type":"item_reference","id":"msg_1"}],` +
		`"conversation":{"id":"c"}}`))
	f.Add([]byte(`{"store":true,"store":null,"Store":1,"a\"b":[1, 2],"background":true,"include":["a",1],"":{}}`))
	f.Add([]byte("{\"input\":\"\\ud800\xff\",\"metadata\":{\"a\":\"\\u0000\"},\"text\": null }"))
	own := []string{"store", "stream", "input"}
	gone := []string{"previous_response_id", "conversation", "background"}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, failure := Parse(body)
		if failure != nil {
			if failure.Status != 400 || failure.Code == "" || !json.Valid(failure.AppendJSON(nil)) {
				t.Fatalf("%q: %+v", body, failure)
			}
			return
		}
		if r.Previous != "" && r.Conversation != "" || r.Background && !r.Store {
			t.Fatalf("%q: %+v", body, r)
		}
		plain := Plain(r.Fields, r.Input, r.Stream)
		var before, after map[string]any
		if err := json.Unmarshal(plain, &after); err != nil {
			t.Fatalf("%q becomes %q: %v", body, plain, err)
		}
		if err := json.Unmarshal(body, &before); err != nil {
			t.Fatal(err)
		}
		items, isList := after["input"].([]any)
		if after["store"] != false || after["stream"] != r.Stream || !isList || len(items) != len(r.Input) ||
			strings.Count(string(plain), `"store":false`) == 0 {
			t.Fatalf("%q becomes %q", body, plain)
		}
		for _, name := range own {
			delete(before, name)
			delete(after, name)
		}
		for _, name := range gone {
			delete(before, name)
		}
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%q becomes %q", body, plain)
		}
	})
}

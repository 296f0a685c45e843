package anthropic

import (
	"encoding/json"
	"testing"
)

func TestAppendModels(t *testing.T) {
	const ours = `{"type":"model","id":"a \"b\"","display_name":"a \"b\"","created_at":"2025-08-05T00:00:00Z",` +
		`"lifecycle":"active",` +
		`"max_input_tokens":4096}`
	const other = `{"type":"model","id":"llama","display_name":"llama","created_at":"2025-08-05T00:00:00Z",` +
		`"lifecycle":"active"}`
	one := []ListedModel{{Name: `a "b"`, ContextLength: 4096}}
	for _, c := range []struct {
		name, others string
		own          []ListedModel
		want         string
	}{
		{"none", "", nil, `{"data":[],"has_more":false,"first_id":null,"last_id":null}`},
		{"ours", "", one, `{"data":[` + ours + `],"has_more":false,"first_id":"a \"b\"","last_id":"a \"b\""}`},
		{"OpenAI's", `{"object":"list","data":[{"id":"llama","object":"model"},{"id":"a \"b\""},1,{"id":2},{}]}`, one,
			`{"data":[` + ours + `,` + other + `],"has_more":false,"first_id":"a \"b\"","last_id":"llama"}`},
		{"only Anthropic's", `{"data":[{"type":"model","id":"llama"}],"has_more":true}`, nil,
			`{"data":[` + other + `],"has_more":false,"first_id":"llama","last_id":"llama"}`},
		{"no JSON", `{"data":[{"id":"llama"}`, nil, `{"data":[],"has_more":false,"first_id":null,"last_id":null}`},
		{"no list", `{"data":{"id":"llama"}}`, nil, `{"data":[],"has_more":false,"first_id":null,"last_id":null}`},
	} {
		all := AppendOthers(c.own, []byte(c.others), func(name string) bool { return name == `a "b"` })
		if got := string(AppendModels(nil, all)); got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
}

package backend

import (
	"encoding/json"
	"testing"
)

func TestTag(t *testing.T) {
	tag := NewTag(nil)
	tag.Sequence()
	tag.Star()
	tag.Or()
	tag.Const(`a"b`)
	tag.Tokens()
	tag.Close()
	tag.Close()
	tag.Optional()
	tag.Tokens(200007, 5)
	tag.Close()
	tag.Token(200008)
	tag.JSON(`{"type":"object"}`)
	tag.JSON(`{"b":[1.50,null,true,false,"é\n"],"a":{}}`)
	tag.Close()
	got := string(tag.Bytes())
	want := `{"type":"structural_tag","format":{"type":"sequence","elements":[` +
		`{"type":"star","content":{"type":"or","elements":[{"type":"const_string","value":"a\"b"},{"type":"any_tokens",` +
		`"exclude_tokens":[]}]}},` +
		`{"type":"optional","content":{"type":"any_tokens","exclude_tokens":[200007,5]}},{"type":"token","token":200008},` +
		`{"type":"json_schema","json_schema":{"type":"object"}},` +
		`{"type":"json_schema","json_schema":{"b":[1.50,null,true,false,"é\n"],"a":{}}}]}}`
	if got != want || !json.Valid([]byte(got)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

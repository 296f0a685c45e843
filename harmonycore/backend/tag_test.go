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
	tag.Text()
	tag.Close()
	tag.Close()
	tag.Optional()
	tag.Text("x", `"`)
	tag.Close()
	tag.JSON(`{"type":"object"}`)
	tag.JSON(`{"b":[1.50,null,true,false,"é\n"],"a":{}}`)
	tag.Close()
	got := string(tag.Bytes())
	want := `{"type":"structural_tag","format":{"type":"sequence","elements":[` +
		`{"type":"star","content":{"type":"or","elements":[{"type":"const_string","value":"a\"b"},{"type":"any_text",` +
		`"excludes":[]}]}},` +
		`{"type":"optional","content":{"type":"any_text","excludes":["x","\""]}},` +
		`{"type":"json_schema","json_schema":{"type":"object"}},` +
		`{"type":"json_schema","json_schema":{"b":[1.50,null,true,false,"é\n"],"a":{}}}]}}`
	if got != want || !json.Valid([]byte(got)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

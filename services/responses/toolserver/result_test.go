package toolserver

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReadResult(t *testing.T) {
	for name, c := range map[string]struct{ result, text string }{
		"nothing": {`{}`, ""},
		"null":    {`{"content":null,"structuredContent":null}`, ""},
		"texts": {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b\nc"},{"type":"text"}]}`,
			"a\nb\nc\n"},
		"an image": {`{"content":[{"type":"image","mimeType":"image/png","data":"AAECAw=="}]}`,
			`{"type":"image","mimeType":"image/png","bytes":4}`},
		"audio and a text": {`{"content":[{"type":"audio","mimeType":"audio/wav","data":"AAEC"},{"type":"text","text":"a"}]}`,
			`{"type":"audio","mimeType":"audio/wav","bytes":3}` + "\na"},
		"a link": {`{"content":[{"type":"resource_link","uri":"file:///a","name":"a","size":7}]}`,
			`{"type":"resource_link","uri":"file:///a","name":"a"}`},
		"a resource's text": {`{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"hello"}}]}`, "hello"},
		"a resource's data": {`{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"x/y","blob":"AAE="}}]}`,
			`{"type":"resource","uri":"file:///a","mimeType":"x/y","bytes":2}`},
		"another type": {`{"content":[{"type":"hologram","data":"AA==","secret":1}]}`, `{"type":"hologram","bytes":1}`},
		"not a content": {`{"content":[1,null,"a"]}`,
			`{"type":"unknown"}` + "\n" + `{"type":"unknown"}` + "\n" + `{"type":"unknown"}`},
		"structured": {`{"structuredContent":{ "b": 1, "a":[12345678901234567890] }}`,
			`{"b":1,"a":[12345678901234567890]}`},
		"structured beside": {`{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1}}`, "a"},
		"not UTF-8":         {"{\"content\":[{\"type\":\"text\",\"text\":\"a\xff\xfeb\"}]}", "a\uFFFD\uFFFDb"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := readResult([]byte(c.result), 1000)
			if err != nil || r.Truncated || r.Text != c.text || !json.Valid(r.Content) || r.Content[0] != '[' {
				t.Errorf("%+v (%s), %v", r, r.Content, err)
			}
		})
	}
	for _, bad := range []string{"", "1", "[]", `{"content":{}}`, `{"content":"a"}`, `{"isError":"yes"}`,
		`{"resultType":"input_required"}`} {
		if r, err := readResult([]byte(bad), 1000); err == nil {
			t.Errorf("%s is %+v", bad, r)
		}
	}
}

func TestLongResults(t *testing.T) {
	for _, text := range []string{strings.Repeat("a", 1001), strings.Repeat("ü", 5000), strings.Repeat("🦓", 300),
		strings.Repeat("a", 946) + strings.Repeat("🦓", 30)} {
		for limit := int64(990); limit < 1001; limit++ {
			content, _ := json.Marshal(text)
			r, err := readResult([]byte(`{"isError":true,"content":[{"type":"text","text":`+string(content)+`}]}`), limit)
			if err != nil || !r.Truncated || !r.IsError || int64(len(r.Text)) > limit || int64(len(r.Text)) < limit-3 ||
				!utf8.ValidString(r.Text) {
				t.Errorf("%d bytes of %d, %v", len(r.Text), limit, err)
			}
			if !strings.Contains(r.Text, "left out") || !strings.HasPrefix(r.Text, text[:900]) {
				t.Error(r.Text)
			}
			var contents []struct{ Type, Text string }
			if err := json.Unmarshal(r.Content, &contents); err != nil || len(contents) != 1 || contents[0].Type != "text" ||
				contents[0].Text != r.Text {
				t.Errorf("the content is %s, %v", r.Content, err)
			}
		}
	}
	r, err := readResult([]byte(`{"content":[`+strings.Repeat("1,", 5000)+`1]}`), 64<<10)
	if err != nil || strings.Count(r.Text, "\n") != maxContents || !strings.Contains(r.Text, "more than 1024") {
		t.Errorf("%+v, %v", r, err)
	}
}

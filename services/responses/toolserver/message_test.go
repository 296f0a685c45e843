package toolserver

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestIsMessage(t *testing.T) {
	for _, good := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, ` { "id" : "a" , "x":[[1]] } `, `{}`,
		`{"id":null}`} {
		if !isMessage([]byte(good)) {
			t.Errorf("%s is not a message", good)
		}
	}
	for _, bad := range []string{"", "1", "[]", `[{"id":1}]`, "{", "{}{}", "{}x", `{"id":[]}`, `{"id":{}}`, `{"ID":[]}`,
		`{"\u0069d":[]}`,
		`{"id":[],"id":1}`, `{"id":1,"id":{}}`, `{"a":1,}`, `{"a":"` + "\n" + `"}`, "null", "hello"} {
		if isMessage([]byte(bad)) {
			t.Errorf("%s is a message", bad)
		}
	}
}

// TestChecked: all bytes are handed on, however they are cut, up to the first message that is not one.
func TestChecked(t *testing.T) {
	long := strings.Repeat("a", 10_000)
	for _, c := range []struct {
		framing    framing
		in, out    string
		isMistaken bool
	}{
		{byLine, "{}\n{\"id\":1}\r\n\n{\"a\":\"" + long + "\"}\n", "{}\n{\"id\":1}\r\n\n{\"a\":\"" + long + "\"}\n", false},
		{byLine, "{}\n{\"id\":1}", "{}\n{\"id\":1}", false},
		{byLine, "{}\nhello\n{}\n", "{}\n", true},
		{byLine, "{}\n{\n}\n", "{}\n", true},
		{byLine, "{}\n{\"id\":[]}\n", "{}\n", true},
		{byEvent, "event: endpoint\ndata: /a\n\ndata: {}\n\nevent: message\ndata: 1\n\n",
			"event: endpoint\ndata: /a\n\ndata: {}\n\n", true},
		{byEvent, "data: /a\n\n", "", true},
		{afterEndpoint, ": x\n\nevent: endpoint\ndata: /a\n\ndata: {}\n\n",
			": x\n\nevent: endpoint\ndata: /a\n\ndata: {}\n\n", false},
		{afterEndpoint, "event: endpoint\ndata: /a\n\nevent: endpoint\ndata: {\"id\":[]}\n\n",
			"event: endpoint\ndata: /a\n\n", true},
		{byEvent, ": x\n\nevent: message\nid: 1\ndata: {\"a\":\ndata:1}\n\ndata: {}\r\n\r\n",
			": x\n\nevent: message\nid: 1\ndata: {\"a\":\ndata:1}\n\ndata: {}\r\n\r\n", false},
		{byEvent, "retry: 1\n\n\n\nid: 2\n\ndata:\n\n", "retry: 1\n\n\n\nid: 2\n\ndata:\n\n", false},
		{byEvent, "data: {}\n\ndata: {\"id\":\ndata: []}\n\ndata: {}\n\n", "data: {}\n\n", true},
		{byEvent, "data: {}\n\ndata: {\"id\":[]}", "data: {}\n\n", true},
		{byEvent, "data: {\"a\":\"" + long + "\"}\n\n", "data: {\"a\":\"" + long + "\"}\n\n", false},
	} {
		for name, cut := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "end": iotest.DataErrReader,
		} {
			mistaken := errors.New("mistaken")
			r := newChecked(io.NopCloser(cut(strings.NewReader(c.in))), c.framing, func(error) error { return mistaken })
			out, err := io.ReadAll(r)
			if string(out) != c.out || errors.Is(err, mistaken) != c.isMistaken || err != nil && !c.isMistaken {
				t.Errorf("%s of %.60q: %.60q, %v", name, c.in, out, err)
			}
		}
	}
}

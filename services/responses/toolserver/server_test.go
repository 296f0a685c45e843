package toolserver

import (
	"net/http"
	"testing"
)

func TestValidate(t *testing.T) {
	for _, s := range []Server{
		{URL: "https://a/mcp"},
		{URL: "http://127.0.0.1:8001", Transport: SSE, Headers: http.Header{"authorization": {"Bearer a"},
			"Cookie": {"a=b"}}},
		{Command: []string{"a", ""}, Environment: []string{"A=", "B=c=d"}, Transport: Stdio},
	} {
		if err := s.Validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	header := func(name string) Server { return Server{URL: "https://a", Headers: http.Header{name: {"secret"}}} }
	split := Server{URL: "https://a", Headers: http.Header{"a": {"secret\r\nb: c"}}}
	program := []string{"a"}
	for field, all := range map[string][]Server{
		"url": {{}, {URL: "a"}, {URL: "file:///a"}, {URL: "https://user:secret@a"}},
		"transport": {{URL: "https://a", Transport: "x"}, {URL: "https://a", Transport: Stdio},
			{Command: program, Transport: SSE}},
		"command": {{URL: "https://a", Command: program}, {Command: []string{""}}, {Command: []string{"a", "b\x00"}},
			{Command: program, Headers: http.Header{"A": {"secret"}}}},
		"environment": {{Command: program, Environment: []string{"A"}}, {Command: program, Environment: []string{"=secret"}}},
		"headers": {split, header("a b"), header(""), header("host"), header("MCP-SESSION-ID"), header("transfer-encoding"),
			header("Proxy-Authorization"), header("content-length")},
	} {
		for _, s := range all {
			if e := fails[*ServerError](t, s.Validate()); e != nil && e.Field != field {
				t.Errorf("%+v: the field is %s, want %s", s, e.Field, field)
			}
		}
	}
}

// Sessions are shared only where everything is the same.
func TestKeys(t *testing.T) {
	keys := map[key]int{}
	for i, s := range []Server{
		{URL: "https://a"}, {URL: "https://b"}, {URL: "https://a", Transport: SSE}, {URL: "https://a", Private: true},
		{URL: "https://a", Headers: http.Header{"A": {"b"}}}, {URL: "https://a", Headers: http.Header{"A": {"c"}}},
		{URL: "https://a", Headers: http.Header{"A": {"b", "c"}}},
		{URL: "https://a", Headers: http.Header{"A": {"b"}, "C": {}}},
		{URL: "https://a", Headers: http.Header{"A": {"b"}, "C": {"d"}}},
		{Command: []string{"a", "b"}}, {Command: []string{"a b"}}, {Command: []string{"a"}, Environment: []string{"b"}},
		{Command: []string{"ab"}},
	} {
		for _, tenant := range []string{"", "a", "b"} {
			k := s.session(tenant)
			if other, ok := keys[k]; ok {
				t.Errorf("servers %d and %d have one key", i, other)
			}
			keys[k] = i
			if again := s.clone().session(tenant); again != k {
				t.Errorf("server %d has two keys", i)
			}
		}
	}
	one, two := Server{URL: "https://a", Headers: http.Header{"A": {"b"}}}, Server{URL: "https://a", Label: "other"}
	if one.place() != two.place() {
		t.Error("a server is two places")
	}
}

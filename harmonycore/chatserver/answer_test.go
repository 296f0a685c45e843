package chatserver

import (
	"strings"
	"testing"
)

// TestRenamer: what a Renamer remembers of an object changes nothing of the next ones.
func TestRenamer(t *testing.T) {
	long := strings.Repeat("x", maxHead)
	objects := [][2]string{
		{`data: {"id":"a","model":"q","choices":[]}`, `data: {"id":"a","model":"n","choices":[]}`},
		{`data: {"id":"a","model":"q","choices":[{"model":"q"}]}`, `data: {"id":"a","model":"n","choices":[{"model":"q"}]}`},
		{`data: {"id":"a","model":"q2"}`, `data: {"id":"a","model":"n"}`},
		{`data: {"id":"a","mod`, `data: {"id":"a","mod`},
		{`data: {"id":"a","model":"q`, `data: {"id":"a","model":"q`},
		{`data: {"id":"ab","model":"q"}`, `data: {"id":"ab","model":"n"}`},
		{`{"id":"` + long + `","model":"q"}`, `{"id":"` + long + `","model":"n"}`},
		{`{"choices":[{"model":"q"}],"model":"q"}`, `{"choices":[{"model":"q"}],"model":"n"}`},
		{"{\n \"model\": \"q\",\n \"id\": \"a\"\n}", "{\n \"model\": \"n\",\n \"id\": \"a\"\n}"},
		{`: comment`, `: comment`}, {``, ``},
	}
	r := Renamer{Name: "n"}
	for _, first := range objects {
		for _, second := range objects {
			for _, o := range [][2]string{first, second} {
				if got := string(r.Append([]byte("."), []byte(o[0]))); got != "."+o[1] {
					t.Fatalf("%s: got %s, want .%s", o[0], got, o[1])
				}
			}
		}
	}
}

package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	got, err := parse(`reqh: pause; reqend: set reqh :path /b, write req 0 3 "a, \"b\";\n" ,continue;` +
		` done: ; tick: say ab*3, say "x y"*2, say *`)
	if err != nil {
		t.Fatal(err)
	}
	want := []step{
		{"reqh", [][]string{{"pause"}}},
		{"reqend", [][]string{{"set", "reqh", ":path", "/b"}, {"write", "req", "0", "3", "a, \"b\";\n"}, {"continue"}}},
		{"done", nil},
		{"tick", [][]string{{"say", "ababab"}, {"say", "x yx y"}, {"say", "*"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	for _, bad := range []string{"reqh", "reqh pause", "a b: c", `reqh: say "x`, `reqh: say "x"y`, `reqh: say "x"*y`,
		": pause"} {
		if got, err := parse(bad); err == nil {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

func TestShow(t *testing.T) {
	if got := show("a\x00é"); got != `"a\x00\u00e9"` {
		t.Error(got)
	}
	if got := show(strings.Repeat("x", 100)); got != `"xxxxxxxxxxxxxxxx"…"xxxxxxxxxxxxxxxx" (100 bytes)` {
		t.Error(got)
	}
	if got := showCommand([]string{"say", "a b", "", "c"}); got != `say "a b" "" c` {
		t.Error(got)
	}
}

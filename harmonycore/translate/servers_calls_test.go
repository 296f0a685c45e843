package translate

import (
	"strings"
	"testing"
)

// TestCustomInput: the input of a custom tool comes out of its arguments, whole or as much as there is.
func TestCustomInput(t *testing.T) {
	for _, tt := range []struct {
		arguments string
		cut       bool
		want      string
	}{
		{`{"input":"print(\"é\")"}`, false, `print("é")`},
		{`print("é")`, false, `print("é")`},
		{`{"code":"x"}`, false, `{"code":"x"}`},
		{`{"input":7}`, false, `{"input":7}`},
		{``, false, ``},
		{`{"input":"print(\"h`, true, `print("h`},
		{`{"input":"a\`, true, `a`},
		{`{"input":"a\u00e`, true, `a`},
		{`{"input":"a\ud83d`, true, `a`},
		{`{"input":"a\ud83d\ude0`, true, `a`},
		{`{"input":"a\ud83d\ude00`, true, `a😀`},
		{`{"input":"a"`, true, `a`},
		{`{"input":"a"}`, true, `a`},
		{`{"inp`, true, ``},
		{`{"input":`, true, ``},
		{`{`, true, ``},
		{``, true, ``},
		{`print(`, true, `print(`},
	} {
		if got := string(CustomInput([]byte(tt.arguments), tt.cut)); got != tt.want {
			t.Errorf("%s, cut %t: %q, want %q", tt.arguments, tt.cut, got, tt.want)
		}
	}
	// The text so far grows with the arguments.
	const whole = `{"input":"a \"b\" \u00e9 \ud83d\ude00 \\ c"}`
	last := ""
	for n := range len(whole) {
		got := string(CustomInput([]byte(whole[:n]), true))
		if !strings.HasPrefix(got, last) {
			t.Errorf("%s: %q after %q", whole[:n], got, last)
		}
		last = got
	}
	if last != `a "b" é 😀 \ c` {
		t.Errorf("%q", last)
	}
}

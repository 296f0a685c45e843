package mesh

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestMarshal checks that texts which a reader takes for something else are written with quotes, as values, keys and in
// lists, and that others are written as they are.
func TestMarshal(t *testing.T) {
	quoted := []string{"1e3", "12e03", "+1E+3", "9e+_1", ".inf", "-.inf", "+.INF", ".NaN", "09", "-09_", ".5", "5.", "? x",
		"?", "<<", "o<<", "...", "a\tb", "\ta", "a\r\nb", "\n", "\n o", "<\n \n", "x  \n", "\u0085", "\u2028", "\x7f", "\ufeffa",
		"yes", "null", "", "0x10", "1_000", " a"}
	plain := []string{"gpt-oss-120b", ".", "_", "10.0.0.7", "1.2.3", "e3", "61e9540a", "-.info", "a?", "<<a", "openai/x"}
	written := map[string]bool{}
	for _, s := range quoted {
		written[s] = true
	}
	for _, s := range append(quoted, plain...) {
		scalar := s
		if written[s] {
			scalar = strconv.Quote(s)
		}
		for want, value := range map[string]any{
			"k: " + scalar + "\n":      map[string]any{"k": s},
			scalar + ": v\n":           map[string]any{s: "v"},
			"k:\n  - " + scalar + "\n": map[string]any{"k": []any{s}},
		} {
			text, err := Marshal(value)
			if err != nil || string(text) != want {
				t.Errorf("%q is %q (%v), want %q", s, text, err, want)
			}
			var again map[string]any
			if err := yaml.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, value) {
				t.Errorf("%q reads as %q, %v", text, again, err)
			}
		}
	}
	if text, err := Marshal(map[string]string{"k": "a\nb\n"}); err != nil || string(text) != "k: |\n  a\n  b\n" {
		t.Errorf("several lines are %q, %v", text, err)
	}
	if text, err := Marshal(map[string]string{"a\nb": "v"}); err != nil || string(text) != `"a\nb": v`+"\n" {
		t.Errorf("a key of several lines is %q, %v", text, err)
	}
}

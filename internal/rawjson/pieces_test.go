package rawjson

import (
	"encoding/json"
	"testing"
)

// TestPieces: of each value, cut anywhere, only the whole text is whole.
func TestPieces(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `{"a":"x"}`, `{"a":"}]\"","b":[{"c":1}, null]}`, ` [1, "\\"]`, `"a"`, `"\""`, `true`, `false`, `null`,
		`{"a":"<|end|>é"}`,
	} {
		for cut := range len(text) + 1 {
			var p Pieces
			p.Add([]byte(text[:cut]))
			if want := json.Valid([]byte(text[:cut])); p.Whole() != want {
				t.Errorf("%q: whole %t", text[:cut], p.Whole())
			}
			p.Add([]byte(text[cut:]))
			if !p.Whole() {
				t.Errorf("%q cut at %d: not whole", text, cut)
			}
		}
	}
	for text, want := range map[string]bool{
		"": false, " ": false, "-1.5e+3": true, "12 ": true, "12 3": false, "12a": false, "hello": false, "trub": false,
		"{} ": true, "{}\n{}": false, "{} x": false, `{"a":1}}`: false, `"a"b`: false, "}": false, ",": false,
	} {
		var p Pieces
		p.Add([]byte(text))
		if p.Whole() != want {
			t.Errorf("%q: whole %t", text, !want)
		}
	}
}

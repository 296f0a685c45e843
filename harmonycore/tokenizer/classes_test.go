package tokenizer

import (
	"encoding/json"
	"os"
	"testing"
)

// TestClasses compares every code point with the ranges the table was made from.
func TestClasses(t *testing.T) {
	data, err := os.ReadFile("testdata/unicode16-classes.json")
	if err != nil {
		t.Fatal(err)
	}
	var ranges map[string][][2]int
	if err := json.Unmarshal(data, &ranges); err != nil {
		t.Fatal(err)
	}
	want := make([]class, 0x110000)
	for name, bit := range map[string]class{"L": letter, "N": number, "S": space, "UP": upper, "LOW": lower} {
		if len(ranges[name]) == 0 {
			t.Fatalf("class %s is missing", name)
		}
		for _, r := range ranges[name] {
			for c := r[0]; c <= r[1]; c++ {
				want[c] |= bit
			}
		}
	}
	want['\r'] |= newline
	want['\n'] |= newline
	for c, w := range want {
		if c < 0x80 {
			if got := asciiClass[c]; got != w {
				t.Errorf("U+%04X: class %#x, want %#x", c, got, w)
			}
		} else if c >= 0xD800 && c < 0xE000 {
			continue // cannot be encoded
		}
		if got := classOf(rune(c)); got != w&^newline {
			t.Errorf("U+%04X: class %#x, want %#x", c, got, w)
		}
		if c >= 0x80 {
			if got, size := classAt("x"+string(rune(c))+"y", 1); got != w || size != len(string(rune(c))) {
				t.Errorf("U+%04X: class %#x size %d, want %#x", c, got, size, w)
			}
		}
	}
	for _, r := range []rune{-1, 0x110000, 0x7fffffff} {
		if got := classOf(r); got != 0 {
			t.Errorf("rune %#x: class %#x", r, got)
		}
	}
}

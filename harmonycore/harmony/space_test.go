package harmony

import (
	"testing"
	"unicode"
)

func TestIsSpace(t *testing.T) {
	for r := rune(-1); r <= unicode.MaxRune+1; r++ {
		if isSpace(r) != unicode.IsSpace(r) {
			t.Errorf("%U: %t", r, isSpace(r))
		}
	}
}

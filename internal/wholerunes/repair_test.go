package wholerunes

import "testing"

func TestAppendRepaired(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		last     bool
		used     int
		parts    uint32
	}{
		{"aé😀", "aé😀", false, 7, 0},
		{"a\xf0\x9f", "a", false, 1, 0},
		{"a\xf0\x9f", "a\uFFFD", true, 3, 1},
		{"\xf0\x9fa", "\uFFFDa", false, 3, 1},
		{"\xe0\x80a", "\uFFFD\uFFFDa", false, 3, 2}, // no rune begins so, so each byte is a part
		{"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD", false, 3, 3},
		{"\xff\xf4\x90", "\uFFFD\uFFFD\uFFFD", false, 3, 3},
	} {
		out, repaired := AppendRepaired(nil, []byte(tt.in), tt.last)
		if string(out) != tt.want || repaired.Used != tt.used || repaired.Parts != tt.parts {
			t.Errorf("%q: got %q, %+v", tt.in, out, repaired)
		}
	}
}

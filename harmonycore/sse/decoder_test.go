package sse

import (
	"strings"
	"testing"
)

func decode(pieces ...string) []string {
	var d Decoder
	var events []string
	for _, p := range pieces {
		d.Write([]byte(p))
		for {
			data, ok := d.Next()
			if !ok {
				break
			}
			events = append(events, string(data))
		}
	}
	return events
}

func TestDecoder(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"data: a\n\n", []string{"a"}},
		{"data:a\n\ndata:  b\n\n", []string{"a", " b"}},
		{": ping\n\nevent: x\nid: 1\ndata: a\ndata: b\n\n", []string{"a\nb"}},
		{"data: a\r\n\r\ndata: b\r\r", []string{"a", "b"}},
		{"data\n\n", []string{""}},
		{"data: a\n", nil},
		{"database: a\n\ndatum: x\n\n", nil},
		{"\n\n\ndata: [DONE]\n\n", []string{"[DONE]"}},
	}
	for _, tt := range tests {
		if got := decode(tt.in); strings.Join(got, "|") != strings.Join(tt.want, "|") || len(got) != len(tt.want) {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestTooLarge(t *testing.T) {
	var d Decoder
	for range MaxEvent/(1<<20) + 1 {
		d.Write([]byte(strings.Repeat("x", 1<<20)))
	}
	if _, ok := d.Next(); ok || !d.Broken() {
		t.Fatal("an endless line must break the decoder")
	}
}

// FuzzAnySplit: whole and in pieces give the same events.
func FuzzAnySplit(f *testing.F) {
	f.Add("data: a\r\n\r\n: c\ndata: b\n\rdata: c\n\n", uint8(3))
	f.Add("event: x\ndata: {\"a\":1}\n\ndata: [DONE]\n\n", uint8(1))
	f.Fuzz(func(t *testing.T, in string, size uint8) {
		n := int(size)%7 + 1
		var pieces []string
		for rest := in; rest != ""; {
			k := min(n, len(rest))
			pieces = append(pieces, rest[:k])
			rest = rest[k:]
		}
		whole, cut := decode(in), decode(pieces...)
		if strings.Join(whole, "\x00") != strings.Join(cut, "\x00") || len(whole) != len(cut) {
			t.Fatalf("%q: whole %q, in pieces of %d %q", in, whole, n, cut)
		}
	})
}

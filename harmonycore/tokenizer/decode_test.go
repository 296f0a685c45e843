package tokenizer_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// referenceText replaces what is not UTF-8 by the definition: at each place the longest beginning of some character, of
// three bytes at most, or one byte.
func referenceText(b []byte) string {
	var s strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r != utf8.RuneError || size != 1 {
			s.Write(b[:size])
			b = b[size:]
			continue
		}
		for size = min(3, len(b)); size > 1; size-- {
			if utf8.RuneStart(b[0]) && !utf8.FullRune(b[:size]) {
				break
			}
		}
		s.WriteString("\uFFFD")
		b = b[size:]
	}
	return s.String()
}

// checkDecode compares DecodeString, the decoder fed id by id, and the twin.
func checkDecode(t *testing.T, ids []uint32) {
	t.Helper()
	tok := o200k.Tokenizer()
	var want strings.Builder
	var run []byte
	for _, id := range ids {
		b, ok := tok.TokenBytes(id)
		run = append(run, b...)
		if !ok {
			want.WriteString(referenceText(run) + "\uFFFD")
			run = nil
		}
	}
	want.WriteString(referenceText(run))
	if got := tok.DecodeString(ids); got != want.String() {
		t.Fatalf("%v: %+q, want %+q", ids, got, want.String())
	}
	var d tokenizer.Decoder
	var all []byte
	for _, id := range ids {
		part := d.Append(nil, tok, id)
		if !utf8.Valid(part) {
			t.Fatalf("%v: part %q is not UTF-8", ids, part)
		}
		all = append(all, part...)
	}
	all = append(all, d.Flush(nil)...)
	if string(all) != want.String() {
		t.Fatalf("%v: in parts %+q, want %+q", ids, all, want.String())
	}
	if more := d.Flush(nil); len(more) != 0 {
		t.Fatalf("%v: a second flush gives %q", ids, more)
	}
}

func TestDecodeParts(t *testing.T) {
	tok := o200k.Tokenizer()
	single := map[byte]uint32{}
	for id := range uint32(300) {
		if b, ok := tok.TokenBytes(id); ok && len(b) == 1 {
			single[b[0]] = id
		}
	}
	if len(single) != 256 {
		t.Fatalf("%d one-byte tokens among the first 300", len(single))
	}
	edges := []byte{'a', 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEE, 0xEF,
		0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF}
	for _, a := range edges {
		for _, b := range edges {
			for _, c := range edges {
				for _, d := range []byte{'a', 0x80, 0xBF, 0xE4, 0xF0} {
					checkDecode(t, []uint32{single[a], single[b], single[c], single[d]})
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		ids := make([]uint32, 1+rng.IntN(8))
		for i := range ids {
			ids[i] = uint32(rng.IntN(201100) >> rng.IntN(11))
		}
		checkDecode(t, ids)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0xe4, 0, 0, 0, 0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		var ids []uint32
		for ; len(data) >= 4 && len(ids) < 200; data = data[4:] {
			id := binary.LittleEndian.Uint32(data)
			if id&(1<<31) == 0 {
				id %= 201100
			}
			ids = append(ids, id)
		}
		checkDecode(t, ids)
	})
}

// FuzzRoundTrip: every text, UTF-8 or not, comes back; no text gives a special token; the count is right; a decoded
// stream is the text.
func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{"", "Hello, world", "<|start|>user<|message|>", "a\xff\xc3(", " \n\t中文'ſ", "1234567",
		"<|reserved_200000|>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { checkRoundTrip(t, text) })
}

func checkRoundTrip(t *testing.T, text string) {
	t.Helper()
	tok := o200k.Tokenizer()
	ids := tok.AppendEncode(nil, text)
	for _, id := range ids {
		if tokenizer.IsSpecial(id) {
			t.Fatalf("%q: special %d", text, id)
		}
	}
	if b, ok := tok.AppendDecode(nil, ids); !ok || string(b) != text || tok.DecodedLen(ids) != len(text) {
		t.Fatalf("%q comes back as %q", text, b)
	}
	if n := tok.Count(text); n != len(ids) {
		t.Fatalf("%q: count %d, want %d", text, n, len(ids))
	}
	special := tok.AppendEncodeSpecial(nil, text)
	if b, ok := tok.AppendDecode(nil, special); !ok || string(b) != text {
		t.Fatalf("%q with specials comes back as %q", text, b)
	}
	checkDecode(t, ids)
}

func TestRoundTripBadUTF8(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		b := make([]byte, rng.IntN(30))
		for i := range b {
			b[i] = byte(rng.IntN(256)) | byte(rng.IntN(2)<<7)
		}
		checkRoundTrip(t, string(b))
	}
}

func TestUnknownIDs(t *testing.T) {
	tok := o200k.Tokenizer()
	for _, id := range []uint32{201089, 300000, 1<<32 - 1} {
		if _, ok := tok.TokenBytes(id); ok || tokenizer.IsSpecial(id) {
			t.Errorf("id %d exists", id)
		}
		unknown := []uint32{13225, id, 13225}
		if b, ok := tok.AppendDecode([]byte("x"), unknown); ok || len(b) != 1+tok.DecodedLen(unknown) || b[0] != 'x' {
			t.Errorf("id %d decodes to %q", id, b)
		}
		if s := tok.DecodeString([]uint32{id}); s != "\uFFFD" {
			t.Errorf("id %d: %q", id, s)
		}
	}
}

func TestSpecialNames(t *testing.T) {
	tok := o200k.Tokenizer()
	named := map[uint32]string{
		tokenizer.StartOfText: "<|startoftext|>", tokenizer.EndOfText: "<|endoftext|>", tokenizer.Return: "<|return|>",
		tokenizer.Constrain: "<|constrain|>", tokenizer.Channel: "<|channel|>", tokenizer.Start: "<|start|>",
		tokenizer.End: "<|end|>", tokenizer.Message: "<|message|>", tokenizer.Call: "<|call|>",
	}
	count := 0
	for id := uint32(199990); id < 201100; id++ {
		name, ok := tokenizer.SpecialName(id)
		if ok != tokenizer.IsSpecial(id) || ok != (id >= tokenizer.StartOfText && id <= tokenizer.LastSpecial) {
			t.Fatalf("id %d: special %v", id, ok)
		}
		if !ok {
			continue
		}
		count++
		want, isNamed := named[id]
		if !isNamed {
			want = fmt.Sprintf("<|reserved_%d|>", id)
		}
		if b, _ := tok.TokenBytes(id); name != want || string(b) != want {
			t.Fatalf("id %d: %q, %q, want %q", id, name, b, want)
		}
		if ids := tok.AppendEncodeSpecial(nil, name); len(ids) != 1 || ids[0] != id {
			t.Fatalf("%q encodes to %v", name, ids)
		}
	}
	if count != 1091 {
		t.Errorf("%d special tokens", count)
	}
}

// TestLinear would take hours if any of these were quadratic; the bound is lax, for slow machines and the race
// detector.
func TestLinear(t *testing.T) {
	tok := o200k.Tokenizer()
	for _, unit := range []string{"a", "A", " ", "\n", "-", "中", "\u0301", "é", "0", "\xff", "A\u0301", "aB", " \n", "ab",
		"'s", "<|", "\xf0\x9f"} {
		text := strings.Repeat(unit, 300_000/len(unit))
		begin := time.Now()
		if b, _ := tok.AppendDecode(nil, tok.AppendEncodeSpecial(nil, text)); string(b) != text {
			t.Errorf("%q: does not come back", unit)
		}
		if d := time.Since(begin); d > 20*time.Second {
			t.Errorf("%q: %v", unit, d)
		}
	}
}

// TestMatchSpecial holds MatchSpecial against the spellings themselves, at every cut and with one byte changed.
func TestMatchSpecial(t *testing.T) {
	for id := uint32(tokenizer.StartOfText); id <= tokenizer.LastSpecial; id++ {
		name, _ := tokenizer.SpecialName(id)
		if len(name) > tokenizer.LongestSpecial {
			t.Fatalf("%s is longer than LongestSpecial", name)
		}
		for cut := range name {
			if _, size, partial := tokenizer.MatchSpecial([]byte(name[:cut])); size != 0 || !partial {
				t.Fatalf("%q: size %d, partial %v", name[:cut], size, partial)
			}
			if _, size, partial := tokenizer.MatchSpecial([]byte(name[:cut] + "\x00" + name[cut+1:])); size != 0 || partial {
				t.Fatalf("%q with byte %d changed: size %d, partial %v", name, cut, size, partial)
			}
		}
		if got, size, partial := tokenizer.MatchSpecial([]byte(name + "<|")); got != id || size != len(name) || partial {
			t.Fatalf("%q: id %d, size %d, partial %v", name, got, size, partial)
		}
	}
	for _, text := range []string{"<|reserved_200002|>", "<|reserved_199998|>", "<|reserved_201089|>",
		"<|reserved_000000|>", "<|END|>", "x<|end|>"} {
		if _, size, partial := tokenizer.MatchSpecial([]byte(text)); size != 0 || partial {
			t.Errorf("%q: size %d, partial %v", text, size, partial)
		}
	}
	text := []byte("<|reserved_200500|>")
	if n := testing.AllocsPerRun(100, func() { tokenizer.MatchSpecial(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

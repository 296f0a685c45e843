package rawjson

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// longer returns data with longer strings, most of which are noted.
func longer(data []byte) []byte {
	return bytes.ReplaceAll(data, []byte("a"), []byte(strings.Repeat("a\\\"}", 40)))
}

// checkEnds compares what CountEnds returns of a text with Count, and its ends with what [Skip] finds.
func checkEnds(t *testing.T, data []byte, depth, limit int) (noted int) {
	t.Helper()
	want, wrong := Count(data, depth, limit)
	ends, got, err := CountEnds(data, depth, limit)
	if got != want || (err == nil) != (wrong == nil) || err != nil && *err.(*SyntaxError) != *wrong.(*SyntaxError) {
		t.Fatalf("%s: got %d, %v, want %d, %v", data, got, err, want, wrong)
	}
	if err != nil {
		return 0
	}
	checkParts(t, ends, data, 0, data)
	checkValues(t, ends, data)
	if ends == nil {
		return 0
	}
	for i, s := range ends.all {
		if s.to-s.from < endsFrom || i > 0 && s.from <= ends.all[i-1].from {
			t.Fatalf("%s: %v is noted after %v", data, s, ends.all[:i])
		}
	}
	return len(ends.all)
}

// checkValues compares how many values are in the objects and arrays of a text.
func checkValues(t *testing.T, ends *Ends, data []byte) {
	t.Helper()
	for _, it := range []Items{Members(data), Elements(data)} {
		for it.Next() {
			if it.Kind != Object && it.Kind != Array {
				continue
			}
			n, err := Count(it.Value, MaxDepth, math.MaxInt)
			if got := ends.Values(it.Value, it.End-len(it.Value)); err != nil || got != n-1 {
				t.Fatalf("%s: %d values, want %d, %v", it.Value, got, n-1, err)
			}
		}
	}
}

// checkParts compares the ends of all values in a part of a text.
func checkParts(t *testing.T, ends *Ends, data []byte, base int, part []byte) {
	t.Helper()
	at := Space(part, 0)
	end := Skip(part, at)
	if got := ends.Skip(part, base, at); got != end {
		t.Fatalf("%s: the value at %d ends at %d, want %d", data, base+at, base+got, base+end)
	}
	for i, it := range []Items{Members(part), Elements(part)} {
		known := []Items{ends.Members(part, base), ends.Elements(part, base)}[i]
		for it.Next() {
			if !known.Next() || known.End != it.End || known.Kind != it.Kind || !bytes.Equal(known.Key, it.Key) ||
				!bytes.Equal(known.Value, it.Value) {
				t.Fatalf("%s: got %+v, want %+v", part, known, it)
			}
			from := it.End - len(it.Value)
			if it.Kind == String {
				from -= 2
			}
			checkParts(t, ends, data, base+from, part[from:it.End])
		}
	}
}

// TestEnds: long values of random texts end where they do, deep ones too, and however many there are.
func TestEnds(t *testing.T) {
	rng, noted := rand.New(rand.NewPCG(5, 40)), 0
	for range 3000 {
		noted += checkEnds(t, longer(randomJSON(rng, []byte(" "), 2+rng.IntN(8))), MaxDepth, math.MaxInt)
	}
	if noted < 500 {
		t.Errorf("%d ends", noted)
	}
	long := `"` + strings.Repeat("x", endsFrom-2) + `"`
	many := "[" + strings.Repeat(long+",[],", maxEnds+100) + "[" + long + "]]"
	if n := checkEnds(t, []byte(many), MaxDepth, math.MaxInt); n != maxEnds {
		t.Errorf("%d ends are noted, want %d", n, maxEnds)
	}
	for _, bad := range []string{"[" + many, many[:len(many)-1], strings.Repeat("[", 200), `{"a":` + many + `,"a"}`} {
		checkEnds(t, []byte(bad), MaxDepth, math.MaxInt)
		checkEnds(t, []byte(bad), 1, 5)
	}
}

// FuzzEnds: the same of any text.
func FuzzEnds(f *testing.F) {
	f.Add([]byte(`{"a":[{"aa":"\"a\\"},[[[[[[[["a"]]]]]]]],1,"aaa"],"b":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkEnds(t, data, MaxDepth, math.MaxInt)
		checkEnds(t, longer(data), MaxDepth, 1000)
	})
}

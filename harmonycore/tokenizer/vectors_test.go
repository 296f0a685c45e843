package tokenizer_test

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// vector is one line of testdata, made by tools/vocab/vectors.py from the reference implementation; the format is
// described there.
type vector struct {
	place, kind, text string
	ids               []uint32
}

// readVectors reads a file and fails when it holds fewer vectors than it should.
func readVectors(t testing.TB, name string, minimum int, parse func(columns []string) (vector, bool)) []vector {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var all []vector
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		v, ok := parse(strings.Split(lines.Text(), "\t"))
		v.place = name + ":" + strconv.Itoa(n)
		if !ok {
			t.Fatalf("%s: not a vector", v.place)
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(all) < minimum {
		t.Fatalf("%s: %d vectors, want at least %d", name, len(all), minimum)
	}
	return all
}

func encodeVector(columns []string) (v vector, ok bool) {
	if len(columns) != 3 {
		return v, false
	}
	v.kind = columns[0]
	text, textOK := parseText(columns[1])
	ids, idsOK := parseIDs(columns[2])
	v.text, v.ids = text, ids
	return v, textOK && idsOK
}

func decodeVector(columns []string) (v vector, ok bool) {
	if len(columns) != 2 {
		return v, false
	}
	ids, idsOK := parseIDs(columns[0])
	text, textOK := parseText(columns[1])
	v.text, v.ids = text, ids
	return v, textOK && idsOK
}

// parseText reads "..." or "..."*N.
func parseText(s string) (string, bool) {
	quoted, count, many := s, "", false
	if i := strings.LastIndexByte(s, '"'); i >= 0 && i+1 < len(s) {
		quoted = s[:i+1]
		count, many = strings.CutPrefix(s[i+1:], "*")
	}
	text, err := strconv.Unquote(quoted)
	if err != nil || !many {
		return text, err == nil
	}
	n, err := strconv.Atoi(count)
	return strings.Repeat(text, max(n, 0)), err == nil
}

// parseIDs reads groups "1,2,3*N" with spaces between.
func parseIDs(s string) (ids []uint32, ok bool) {
	for group := range strings.FieldsSeq(s) {
		group, count, many := strings.Cut(group, "*")
		n := 1
		if many {
			var err error
			if n, err = strconv.Atoi(count); err != nil {
				return nil, false
			}
		}
		var part []uint32
		for id := range strings.SplitSeq(group, ",") {
			x, err := strconv.ParseUint(id, 10, 32)
			if err != nil {
				return nil, false
			}
			part = append(part, uint32(x))
		}
		ids = append(ids, slices.Repeat(part, n)...)
	}
	return ids, true
}

// checkText gives a vector's text to everything that encodes without special tokens.
func checkText(t *testing.T, e *tokenizer.Encoder, v vector) {
	t.Helper()
	tok := o200k.Tokenizer()
	for _, encode := range []struct {
		name string
		ids  []uint32
	}{{"AppendEncode", tok.AppendEncode([]uint32{7}, v.text)[1:]}, {"a used Encoder", e.Append(nil, tok, v.text)}} {
		if !slices.Equal(encode.ids, v.ids) {
			t.Errorf("%s: %s of %.80q: %s", v.place, encode.name, v.text, firstDifference(encode.ids, v.ids))
		}
	}
	if n, again := tok.Count(v.text), e.Count(tok, v.text); n != len(v.ids) || again != n {
		t.Errorf("%s: Count %d, with a used Encoder %d, want %d", v.place, n, again, len(v.ids))
	}
}

// checkIDs gives a vector's ids to everything that decodes.
func checkIDs(t *testing.T, v vector) {
	t.Helper()
	tok := o200k.Tokenizer()
	if got := tok.DecodeString(v.ids); got != v.text {
		t.Errorf("%s: %v decodes to %+q, want %+q", v.place, v.ids, got, v.text)
	}
	var d tokenizer.Decoder
	var got []byte
	for i, id := range v.ids {
		if got = d.Append(got, tok, id); !utf8.Valid(got) {
			t.Errorf("%s: after %d ids of %v: %+q is not UTF-8", v.place, i+1, v.ids, got)
			return
		}
	}
	if got = d.Flush(got); string(got) != v.text {
		t.Errorf("%s: %v one by one: %+q, want %+q", v.place, v.ids, got, v.text)
	}
	repaired := func(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\uFFFD", "") }
	if raw, ok := tok.AppendDecode(nil, v.ids); !ok || repaired(string(raw)) != repaired(v.text) {
		t.Errorf("%s: the bytes of %v: %+q, want %+q", v.place, v.ids, raw, v.text)
	}
}

func TestEncodeVectors(t *testing.T) {
	tok := o200k.Tokenizer()
	var e tokenizer.Encoder
	for _, v := range readVectors(t, "encode.txt", 2900, encodeVector) {
		checkText(t, &e, v)
		checkIDs(t, v)
		// Without a control token's spelling both ways are one.
		special := tok.AppendEncodeSpecial(nil, v.text)
		if !slices.ContainsFunc(special, tokenizer.IsSpecial) && !slices.Equal(special, v.ids) {
			t.Errorf("%s: AppendEncodeSpecial of %.80q: %s", v.place, v.text, firstDifference(special, v.ids))
		}
	}
}

func TestSpecialVectors(t *testing.T) {
	tok := o200k.Tokenizer()
	var e tokenizer.Encoder
	for _, v := range readVectors(t, "special.txt", 270, encodeVector) {
		if got := tok.AppendEncodeSpecial(nil, v.text); !slices.Equal(got, v.ids) {
			t.Errorf("%s: %q encodes to %v, want %v", v.place, v.text, got, v.ids)
		}
		if got := e.AppendSpecial([]uint32{7}, tok, v.text); !slices.Equal(got[1:], v.ids) {
			t.Errorf("%s: %q encodes to %v, want %v", v.place, v.text, got, v.ids)
		}
		checkIDs(t, v)
		ordinary := tok.AppendEncode(nil, v.text)
		if slices.ContainsFunc(ordinary, tokenizer.IsSpecial) {
			t.Errorf("%s: ordinary encoding of %q holds special tokens: %v", v.place, v.text, ordinary)
		}
		v.ids = ordinary
		checkText(t, &e, v)
		checkIDs(t, v)
	}
}

func TestDecodeVectors(t *testing.T) {
	for _, v := range readVectors(t, "decode.txt", 600, decodeVector) {
		checkIDs(t, v)
	}
}

func firstDifference(got, want []uint32) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	tail := func(ids []uint32) string {
		s := ""
		for _, id := range ids[i:min(len(ids), i+8)] {
			s += " " + strconv.Itoa(int(id))
		}
		return s
	}
	return strconv.Itoa(len(got)) + " ids, from number " + strconv.Itoa(i) + tail(got) + ", want" + tail(want)
}

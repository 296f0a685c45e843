package rawjson

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"
)

func TestValidate(t *testing.T) {
	tests := []struct {
		in   string
		kind ErrorKind
		at   int
	}{
		{`{}`, 0, 0}, {`[]`, 0, 0}, {` [1, -0.5e+7, "aé\n😀", true, false, null, {"a":{}}] `, 0, 0},
		{`"\ud83d\ude00"`, 0, 0}, {`0`, 0, 0},
		{``, Malformed, 0}, {`{`, Malformed, 1}, {`[1,]`, Malformed, 3}, {`{"a":1,}`, Malformed, 7},
		{`{"a" 1}`, Malformed, 5},
		{`01`, Malformed, 1}, {`1.`, Malformed, 2}, {`1e`, Malformed, 2}, {`-`, Malformed, 1}, {`+1`, Malformed, 0},
		{`nul`, Malformed, 0}, {`NaN`, Malformed, 0}, {`[1 2]`, Malformed, 3}, {`[}`, Malformed, 1}, {`{]`, Malformed, 1},
		{`{} x`, Malformed, 3}, {"\"a\nb\"", Malformed, 2}, {`"\x"`, Malformed, 2}, {`"abc`, Malformed, 4},
		{`"\u12g4"`, Malformed, 3},
		{`"\ud800"`, BadUTF8, 7}, {`"\udc00"`, BadUTF8, 3}, {`"\ud800\u0041"`, BadUTF8, 7}, {"\"\xff\"", BadUTF8, 1},
		{"\"\xc3", BadUTF8, 1},
		{strings.Repeat("[", 129), TooDeep, 128}, {strings.Repeat(`{"a":`, 129), TooDeep, 128 * 5},
		{strings.Repeat("[", 128) + strings.Repeat("]", 128), 0, 0},
	}
	for _, tt := range tests {
		err := Validate([]byte(tt.in), MaxDepth)
		if tt.kind == 0 {
			if err != nil {
				t.Errorf("%.40q: %v", tt.in, err)
			}
			continue
		}
		e, ok := err.(*SyntaxError)
		if !ok || e.Kind != tt.kind || e.Offset != tt.at {
			t.Errorf("%.40q: got %v, want kind %d at %d", tt.in, err, tt.kind, tt.at)
		}
	}
}

func TestSyntaxErrorNamesMember(t *testing.T) {
	deep := strings.Repeat("[", 129)
	for in, want := range map[string]string{
		`{"a":1,"b":` + deep: "b", `{"a":{"c":` + deep: "a", "{\"a\":[\"\xff\"]}": "a", `{"\u0061":` + deep: "a",
		deep: "", "{\"a\":1,\"\xff\":2}": "", `[{"a":` + deep: "",
		`{"` + strings.Repeat("k", 64) + `":` + deep: strings.Repeat("k", 64),
		`{"` + strings.Repeat("k", 65) + `":` + deep: "",
		`{"a":1} x`: "",
	} {
		e, ok := Validate([]byte(in), MaxDepth).(*SyntaxError)
		if !ok || e.Member != want {
			t.Errorf("%.40q: got %v in %q, want %q", in, e, e.Member, want)
		}
	}
}

func TestParseKeepsOrderAndSpelling(t *testing.T) {
	v, err := Parse([]byte(`{"b":1.50,"a":[true,null,"x\u00e9\ud83d\ude00\/"],"b":2}`), 32)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Members) != 2 || v.Members[0].Key != "b" || v.Members[0].Value.Text != "2" {
		t.Fatalf("a doubled key must keep its first place and its last value: %+v", v.Members)
	}
	a := v.Get("a")
	if a.Kind != Array || len(a.Elements) != 3 || a.Elements[2].Text != "xé😀/" {
		t.Fatalf("got %+v", a)
	}
}

// TestAppendValue shows that a value parsed and written again is the same except for white space, escapes and repeated
// members.
func TestAppendValue(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : [ 1.50 , -0 , 1e+5 ] , "a" : "\u00e9\/\n" } `: `{"b":[1.50,-0,1e+5],"a":"é/\n"}`,
		`[null,true,false,{},[]]`:                               `[null,true,false,{},[]]`,
		`{"a":1,"b":2,"a":3}`:                                   `{"a":3,"b":2}`,
	} {
		v, err := Parse([]byte(in), 8)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendValue(nil, v)); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

// FuzzValidate compares the scanner with encoding/json, which accepts bad UTF-8 and lone surrogates and has a larger
// limit of depth. encoding/json must accept what [Validate] accepts, and refuse what Validate refuses as malformed.
// An accepted value must survive being written and read again.
func FuzzValidate(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,{"b":null}],"c":"\u00e9"}`, `[[[[`, `"\ud800"`, "\"\xff\"", `{"a":1,"a":2}`,
		`-0`, `[1,]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Validate(data, MaxDepth)
		if err == nil {
			if !json.Valid(data) {
				t.Fatalf("accepted %q", data)
			}
			v, err := Parse(data, MaxDepth)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse(AppendValue(nil, v), MaxDepth)
			if err != nil || !bytes.Equal(AppendValue(nil, v), AppendValue(nil, again)) {
				t.Fatalf("%q does not survive being written and read", data)
			}
			return
		}
		if e, ok := err.(*SyntaxError); ok && e.Kind == Malformed && json.Valid(data) {
			t.Fatalf("refused %q: %v", data, err)
		}
	})
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\"\\\n\x00é\xff😀")
	f.Fuzz(func(t *testing.T, s string) {
		quoted := AppendString(nil, s)
		if err := Validate(quoted, 1); err != nil {
			t.Fatal(err)
		}
		got := Unescape(quoted[1 : len(quoted)-1])
		if borrowed := Borrow(bytes.Clone(quoted[1 : len(quoted)-1])); borrowed != got {
			t.Fatalf("borrowed %q is not %q", borrowed, got)
		}
		if utf8.ValidString(s) && got != s {
			t.Fatalf("%q came back as %q", s, got)
		}
	})
}

// TestBorrow shows that texts large enough to be borrowed share memory with their source, small ones do not, and both
// have the same content.
func TestBorrow(t *testing.T) {
	for _, piece := range []string{"plain", `\u00e9\n\ud83d\ude00 é`} {
		for _, size := range []int{1, borrowFrom/len(piece) - 1, borrowFrom/len(piece) + 1} {
			raw := []byte(strings.Repeat(piece, size))
			want := Unescape(bytes.Clone(raw))
			got := Borrow(raw)
			if got != want {
				t.Errorf("%d times %q: borrowed text differs", size, piece)
			}
			if borrowed := unsafe.StringData(got) == &raw[0]; borrowed != (len(raw) >= borrowFrom) {
				t.Errorf("%d bytes of %q: borrowed = %v", len(raw), piece, borrowed)
			}
		}
	}
}

// TestLargeValuesAreSized shows that there is room for the values of a large array or object, and for few more.
func TestLargeValuesAreSized(t *testing.T) {
	var list, object strings.Builder
	for i := range 1000 {
		if i > 0 {
			list.WriteString(" , ")
			object.WriteString(",\n")
		}
		list.WriteString(`{"a":[1,"],"]}`)
		object.WriteString(string(AppendString(nil, "k"+strconv.Itoa(i))) + ` : [{"a":"}"}]`)
	}
	l, err := Parse([]byte("["+list.String()+" ]"), MaxDepth)
	if err != nil || len(l.Elements) != 1000 || cap(l.Elements) > 1200 {
		t.Errorf("%v: %d elements, room for %d", err, len(l.Elements), cap(l.Elements))
	}
	o, err := Parse([]byte("{"+object.String()+" }"), MaxDepth)
	if err != nil || len(o.Members) != 1000 || cap(o.Members) > 1200 {
		t.Errorf("%v: %d members, room for %d", err, len(o.Members), cap(o.Members))
	}
}

// TestValidateUTF8 shows that strings are accepted exactly if their bytes are UTF-8, whatever surrounds them.
func TestValidateUTF8(t *testing.T) {
	firsts := []byte{0x20, 0x7F, 0x80, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF4,
		0xF5, 0xFF}
	nexts := []byte{0x20, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xE1, 0xFF}
	for _, a := range firsts {
		for _, b := range nexts {
			for _, c := range nexts {
				for _, d := range nexts {
					text := string([]byte{a, b, c, d})
					for _, s := range []string{text, text[:3], text[:2], text[:1], "é世" + text + "🙂"} {
						if err := Validate([]byte(`"`+s+`"`), MaxDepth); (err == nil) != utf8.ValidString(s) {
							t.Fatalf("%q: %v", s, err)
						}
					}
				}
			}
		}
	}
}

// TestAppendInt compares with strconv, around every power of ten and at the limits.
func TestAppendInt(t *testing.T) {
	numbers := []int64{math.MinInt64, math.MaxInt64, math.MaxUint32, math.MaxUint32 + 1, math.MaxUint32 * 10}
	for power := int64(1); ; power *= 10 {
		for d := int64(-2); d <= 11; d++ {
			numbers = append(numbers, power+d, -power-d, power*2+d*7)
		}
		if power > math.MaxInt64/100 {
			break
		}
	}
	for _, n := range numbers {
		if got, want := string(AppendInt([]byte("x"), n)), "x"+strconv.FormatInt(n, 10); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

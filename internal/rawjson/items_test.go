package rawjson

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/buger/jsonparser"
)

// itemsOf spells the items of data.
func itemsOf(data []byte) string {
	out := ""
	for _, it := range []Items{Members(data), Elements(data)} {
		for it.Next() {
			out += fmt.Sprintf("%q %q %d\n", it.Key, it.Value, it.Kind)
		}
	}
	return out
}

// parsedItems is itemsOf by jsonparser.
func parsedItems(data []byte) string {
	kinds := map[jsonparser.ValueType]Kind{jsonparser.Null: Null, jsonparser.Boolean: Bool, jsonparser.Number: Number,
		jsonparser.String: String, jsonparser.Array: Array, jsonparser.Object: Object}
	out := ""
	_ = jsonparser.ObjectEach(data, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		out += fmt.Sprintf("%q %q %d\n", key, value, kinds[kind])
		return nil
	})
	_, _ = jsonparser.ArrayEach(data, func(value []byte, kind jsonparser.ValueType, _ int, _ error) {
		out += fmt.Sprintf("%q %q %d\n", "", value, kinds[kind])
	})
	return out
}

// TestItems compares the items of random objects and arrays with what jsonparser finds in them.
func TestItems(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		data := randomJSON(rng, []byte(" "[:rng.IntN(2)]), 4)
		if c := data[Space(data, 0)]; c != '{' && c != '[' {
			if got := itemsOf(data); got != "" {
				t.Fatalf("%s has the items %s", data, got)
			}
			continue
		}
		if got, want := itemsOf(data), parsedItems(data); got != want {
			t.Fatalf("%s:\ngot\n%s\nwant\n%s", data, got, want)
		}
	}
}

// FuzzItems: what Validate accepts has the items that jsonparser finds, and other data has an end.
func FuzzItems(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b\n":[2,"\u00e9"]}`, `[{"a":{}},[],"",null]`, `{"a"`, `["`, `{"":"\\"}`, "[1",
		"{,,}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := itemsOf(data)
		if c := byteAt(data, Space(data, 0)); c != '{' && c != '[' || Validate(data, MaxDepth) != nil {
			return
		}
		if want := parsedItems(data); got != want {
			t.Fatalf("%q:\ngot\n%s\nwant\n%s", data, got, want)
		}
	})
}

// TestFind: the first member counts, by its unescaped name.
func TestFind(t *testing.T) {
	for _, tt := range []struct{ data, value string }{
		{`{"x":1,"a":"y","a":2}`, "y"}, {`{"\u0061":[1]}`, "[1]"}, {`{"b":{"a":1}}`, ""}, {`["a"]`, ""}, {`"a"`, ""},
		{"", ""},
	} {
		if value, kind := Find([]byte(tt.data), "a"); string(value) != tt.value || (kind == 0) != (tt.value == "") {
			t.Errorf("%s: %q, %d", tt.data, value, kind)
		}
	}
}

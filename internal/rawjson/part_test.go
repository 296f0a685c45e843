package rawjson

import (
	"strings"
	"testing"
)

// TestParts: a value that is kept is walked as the text itself is, with and without the ends of long values.
func TestParts(t *testing.T) {
	long := strings.Repeat("x", 3*endsFrom)
	text := []byte(` {"a":[1,{"b":"` + long + `"},[]],"c":{"d":[null,"e"]},"f":{}} `)
	ends, _, err := CountEnds(text, MaxDepth, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*Ends{nil, ends} {
		var b strings.Builder
		walk(&b, e.Part(text[1:], 1))
		if want := strings.ReplaceAll(string(text[1:len(text)-1]), `"`, ""); b.String() != want {
			t.Errorf("got %s\nwant %s", b.String(), want)
		}
	}
	if none := (&Part{}); none.Given() || (&Part{Kind: Null}).Given() || !(&Part{Kind: Bool}).Given() {
		t.Error("Given")
	} else if items := none.Items(); items.Next() {
		t.Error("an absent value has items")
	}
	if e := (*Ends)(nil); e.Part(nil, 0).Kind != 0 {
		t.Error("an empty text has a value")
	}
}

func walk(b *strings.Builder, p Part) {
	if p.Kind != Object && p.Kind != Array {
		b.Write(p.Value)
		return
	}
	b.WriteByte(p.Value[0])
	items := p.Items()
	for n := 0; items.Next(); n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		if p.Kind == Object {
			b.WriteString(string(items.Key) + ":")
		}
		walk(b, items.Part())
	}
	b.WriteByte(p.Value[0] + 2)
}

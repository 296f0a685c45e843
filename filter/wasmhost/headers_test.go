package wasmhost

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func spell(h *Headers) string {
	var out []string
	for _, f := range h.All() {
		out = append(out, f.Name+"="+f.Value)
	}
	return strings.Join(out, " ")
}

// TestHeaders runs the rules k01 and k02 of e2e/rules step by step.
func TestHeaders(t *testing.T) {
	h := NewHeaders(":authority", "rules", ":path", "/", "X-Twice", "1", "x-twice", "2", "accept", "a", "cookie", "c=1",
		"Mixed-Case", "Value")
	steps := []struct {
		do   func()
		want string
	}{
		{func() {}, ":authority=rules :path=/ x-twice=1 x-twice=2 accept=a cookie=c=1 mixed-case=Value"},
		{func() { h.Add("x-twice", "3") }, ":authority=rules :path=/ x-twice=1 x-twice=2 accept=a cookie=c=1 " +
			"mixed-case=Value x-twice=3"},
		{func() { h.Add("Accept", "b") }, ":authority=rules :path=/ x-twice=1 x-twice=2 accept=a,b cookie=c=1 " +
			"mixed-case=Value x-twice=3"},
		{func() { h.Add("cookie", "d=2") }, ":authority=rules :path=/ x-twice=1 x-twice=2 accept=a,b cookie=c=1 " +
			"mixed-case=Value x-twice=3 cookie=d=2"},
		{func() { h.Set("x-twice", "4") }, ":authority=rules :path=/ accept=a,b cookie=c=1 mixed-case=Value cookie=d=2 " +
			"x-twice=4"},
		{func() { h.Set("MIXED-case", "New") },
			":authority=rules :path=/ accept=a,b cookie=c=1 mixed-case=New cookie=d=2 x-twice=4"},
		{func() { h.Set("host", "other") }, ":authority=other :path=/ accept=a,b cookie=c=1 mixed-case=New cookie=d=2 " +
			"x-twice=4"},
		{func() { h.Remove("Cookie") }, ":authority=other :path=/ accept=a,b mixed-case=New x-twice=4"},
		{func() { h.Set(":method", "GET") }, ":authority=other :path=/ :method=GET accept=a,b mixed-case=New x-twice=4"},
		{func() { h.RemovePrefix("X-") }, ":authority=other :path=/ :method=GET accept=a,b mixed-case=New"},
	}
	for _, s := range steps {
		s.do()
		if got := spell(h); got != s.want {
			t.Fatalf("got  %s\nwant %s", got, s.want)
		}
	}
	if v, ok := h.Lookup("Host"); !ok || v != "other" {
		t.Errorf("host is %q", v)
	}
	copied := h.Clone()
	copied.Set("accept", "c")
	if h.Get("accept") != "a,b" {
		t.Error("a clone shares its fields")
	}
	var none *Headers
	if none.Len() != 0 || none.Get("a") != "" || none.Clone().Len() != 0 || none.Bytes() != 0 {
		t.Error("the nil map is not empty")
	}
}

func TestFault(t *testing.T) {
	for want, h := range map[string]*Headers{
		"":                                 NewHeaders(":method", "GET", "a", "b\tc"),
		"missing required header: :method": NewHeaders("a", "b"),
		"invalid header name: a b":         NewHeaders(":method", "GET", "a b", "c"),
		"invalid header value for: a":      NewHeaders(":method", "GET", "a", "b\r\nc: d"),
	} {
		if got := h.fault(":method"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// FuzzPairs shows that any bytes from a module are either refused or read within their bounds, and that pairs survive
// being written and read again.
func FuzzPairs(f *testing.F) {
	f.Add(appendPairs(NewHeaders(":status", "200", "a", "", "b", "c")))
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 0})
	f.Add([]byte{1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0})
	f.Add([]byte{0, 0, 0, 255})
	f.Add(appendPairs(newPairs(maxPairs)))
	f.Add(appendPairs(newPairs(maxPairs + 1)))
	f.Fuzz(func(t *testing.T, p []byte) {
		fields, ok := readPairs(p)
		if !ok || len(p) == 0 {
			return
		}
		h := &Headers{fields: fields}
		again, ok := readPairs(appendPairs(h))
		if !ok || !slices.Equal(again, fields) {
			t.Errorf("%q is read as %q, written and read again as %q", p, fields, again)
		}
	})
}

func newPairs(n int) *Headers {
	h := &Headers{}
	for i := range n {
		h.Add(fmt.Sprint("x-", i), "v")
	}
	return h
}

func TestPairsLimit(t *testing.T) {
	if fields, ok := readPairs(appendPairs(newPairs(maxPairs))); !ok || len(fields) != maxPairs {
		t.Errorf("%d pairs are read as %d", maxPairs, len(fields))
	}
	if _, ok := readPairs(appendPairs(newPairs(maxPairs + 1))); ok {
		t.Errorf("%d pairs are read", maxPairs+1)
	}
}

package contract

import "testing"

// TestAttempt: what a request tells its attempts comes back, and nothing else is taken for it.
func TestAttempt(t *testing.T) {
	for _, want := range []Attempt{
		{Kind: VLLM, Pool: "gpu", SilentMS: 300_000}, {Kind: Chat, Pool: "a.b_c-1"}, {Kind: Chat, Pool: "two words"},
	} {
		if got, ok := ParseAttempt(want.String()); !ok || got != want {
			t.Errorf("%q: got %+v", want.String(), got)
		}
	}
	for _, text := range []string{"", "vllm", "vllm 1", "vllm x gpu", "vllm -1 gpu", " "} {
		if a, ok := ParseAttempt(text); ok {
			t.Errorf("%q: got %+v", text, a)
		}
	}
}

// TestLost: a request is given up when two servers have broken it off, or two attempts have ended in silence. One
// server may break off any number: it is put out meanwhile. Servers that cannot be reached do not count.
func TestLost(t *testing.T) {
	for text, want := range map[string]struct {
		Lost
		over bool
		how  string
	}{
		"":                    {Lost{}, false, "broken off"},
		"10.0.0.1:1":          {Lost{1, 0, "10.0.0.1:1", false}, false, "broken off"},
		"[::1]:1 [::1]:1":     {Lost{1, 0, "[::1]:1", false}, false, "broken off"},
		"a:1 b:1":             {Lost{2, 0, "b:1", false}, true, "broken off"},
		"a:1?":                {Lost{1, 1, "a:1", true}, false, "silent"},
		"a:1? a:1?":           {Lost{1, 2, "a:1", true}, true, "silent"},
		"a:1? a:1":            {Lost{1, 1, "a:1", false}, false, "broken off"},
		"a:1? b:1":            {Lost{2, 1, "b:1", false}, true, "broken off"},
		"a:1 a:1 a:1 a:1 a:1": {Lost{1, 0, "a:1", false}, false, "broken off"},
		"a:1! b:1! c:1!":      {Lost{}, false, "broken off"},
		"a:1! b:1":            {Lost{1, 0, "b:1", false}, false, "broken off"},
		"a:1 b:1! a:1":        {Lost{1, 0, "a:1", false}, false, "broken off"},
		"a:1? b:1!":           {Lost{1, 1, "", false}, false, "broken off"},
		"a:1! b:1 c:1":        {Lost{2, 0, "c:1", false}, true, "broken off"},
	} {
		got := ParseLost(text)
		if got != want.Lost || got.Over() != want.over || got.How() != want.how {
			t.Errorf("%q: got %+v, over %t, %s", text, got, got.Over(), got.How())
		}
	}
}

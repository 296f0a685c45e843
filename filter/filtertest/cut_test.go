package filtertest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// TestCuts shows that every way to cut comes once, without an empty piece and without losing a byte.
func TestCuts(t *testing.T) {
	for body, want := range map[string][]string{
		"":    {""},
		"a":   {"a"},
		"ab":  {"ab", "a|b"},
		"abc": {"abc", "a|bc", "ab|c", "a|b|c"},
	} {
		var got []string
		for pieces := range filtertest.Cuts(body) {
			got = append(got, strings.Join(pieces, "|"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is cut into %q, not %q", body, got, want)
		}
	}
	for pieces := range filtertest.Cuts("abc") {
		if len(pieces) == 2 {
			break // a loop may end early
		}
	}
}

func TestCutAt(t *testing.T) {
	if got := filtertest.CutAt("abcdef", 1, 4); !slices.Equal(got, []string{"a", "bcd", "ef"}) {
		t.Errorf("%q", got)
	}
	for _, offsets := range [][]int{{0}, {3}, {2, 2}, {2, 1}, {-1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("abc is cut at %d", offsets)
				}
			}()
			filtertest.CutAt("abc", offsets...)
		}()
	}
}

package exchange

import (
	"strings"
	"testing"
)

// TestOutlet: what becomes of the same decisions on a host that holds headers, and on one that can hold none. h is
// held, H are headers, b is a body, r a reply, c a cut, and l one that comes late.
func TestOutlet(t *testing.T) {
	piece, reply := []byte("x"), &Reply{Status: 502}
	hold := func(o *outlet) ResponseAction { return o.hold(200, "text/event-stream") }
	wait := func(o *outlet) ResponseAction { return o.wait() }
	none := func(o *outlet) ResponseAction { return o.write(200, "text/event-stream", nil) }
	write := func(o *outlet) ResponseAction { return o.write(200, "text/event-stream", piece) }
	last := func(o *outlet) ResponseAction { return o.last(200, "text/event-stream", piece) }
	fail := func(o *outlet) ResponseAction { return o.fail(reply, CutServer) }
	for _, tt := range []struct {
		name         string
		calls        []func(*outlet) ResponseAction
		held, unheld string
		open         bool
	}{
		{"nothing yet", []func(*outlet) ResponseAction{hold, wait, none}, "h h h", "H - -", true},
		{
			"a stream", []func(*outlet) ResponseAction{hold, none, write, none, write, wait}, "h h Hb - b -", "H - b - b -",
			true,
		},
		{"a whole stream", []func(*outlet) ResponseAction{hold, write, last}, "h Hb b", "H b b", false},
		{"an answer in one piece", []func(*outlet) ResponseAction{hold, wait, last}, "h h Hb", "H - b", false},
		{"failed before the headers", []func(*outlet) ResponseAction{fail}, "r", "r", false},
		{"failed before an answer", []func(*outlet) ResponseAction{hold, fail}, "h r", "H cl", false},
		{"failed in the middle", []func(*outlet) ResponseAction{hold, write, fail}, "h Hb c", "H b c", false},
	} {
		for _, unheld := range []bool{false, true} {
			o := outlet{unheld: unheld}
			var got []string
			for _, call := range tt.calls {
				got = append(got, letters(call(&o)))
			}
			want := tt.held
			if unheld {
				want = tt.unheld
			}
			if strings.Join(got, " ") != want || o.open() != tt.open || (o.cut != "") != strings.Contains(want, "c") {
				t.Errorf("%s, unheld %v: %s, want %s; open %v, cut by %q", tt.name, unheld, got, want, o.open(), o.cut)
			}
		}
	}
}

// letters is an action in letters, "-" where there is nothing to do.
func letters(a ResponseAction) string {
	out := ""
	for _, l := range []struct {
		set    bool
		letter string
	}{{a.Hold, "h"}, {a.Head != nil, "H"}, {len(a.Body) > 0, "b"}, {a.Reply != nil, "r"}, {a.Reset, "c"}, {a.Late, "l"}} {
		if l.set {
			out += l.letter
		}
	}
	if out == "" {
		return "-"
	}
	return out
}

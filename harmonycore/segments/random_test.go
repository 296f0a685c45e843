package segments_test

import (
	"math/rand"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
)

// TestRandom compares prompts of which no model would write a message: the numbers add up all the same.
func TestRandom(t *testing.T) {
	words := []uint32{200006, 200006, 200007, 200008, 200005, 17360, 77944, 1428, 173781, 35644, 17196, 316, 2, 20574, 279,
		877, 68406, 64, 65, 198, 202000, 4294967295}
	for n := range 3000 {
		r := rand.New(rand.NewSource(int64(n)))
		a := make([]uint32, r.Intn(120))
		for i := range a {
			a[i] = words[r.Intn(len(words))]
		}
		b := append([]uint32(nil), a[:r.Intn(len(a)+1)]...)
		for range r.Intn(60) {
			b = append(b, words[r.Intn(len(words))])
		}
		lim := segments.Limits{Segments: r.Intn(30), Blocks: r.Intn(8)}
		oa, ob := outline("m", a, lim), outline("m", b, lim)
		exact := segments.Common(a, b)
		kept := oa.CommonWith(ob, b)
		if kept > exact {
			t.Fatalf("%d: kept %d > exact %d\n%v\n%v", n, kept, exact, a, b)
		}
		for _, c := range []int{exact, kept} {
			d := segments.Compare(oa, ob, c, segments.Cache{Block: r.Intn(20), End: r.Intn(2) * r.Intn(len(a)+1)})
			if d.Again < 0 || d.Again > d.Computed || d.Cached < 0 || d.Cached+d.Computed != len(b) ||
				d.Reason.String() == "" {
				t.Fatalf("%d: %+v (%d of %d, %d)\n%v\n%v", n, d, c, len(a), len(b), a, b)
			}
		}
	}
}

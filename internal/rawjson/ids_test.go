package rawjson

import (
	"math"
	"strconv"
	"testing"
)

// TestAppendIDs: ids of every length, in arrays of every size around that for which room is made.
func TestAppendIDs(t *testing.T) {
	var some []uint32
	for limit := uint64(1); limit <= math.MaxUint32; limit *= 10 {
		some = append(some, uint32(limit-1), uint32(limit), uint32(limit)+7, uint32(limit)*3)
	}
	some = append(some, math.MaxUint32)
	for _, n := range []int{0, 1, 2, idsAtOnce - 1, idsAtOnce, idsAtOnce + 1, 3 * idsAtOnce} {
		var ids []uint32
		want := "x["
		for i := range n {
			id := some[i%len(some)]
			if ids = append(ids, id); i > 0 {
				want += ","
			}
			want += strconv.FormatUint(uint64(id), 10)
		}
		if got := string(AppendIDs([]byte("x"), ids)); got != want+"]" {
			t.Errorf("%d ids: got %.300s, want %.300s", n, got, want)
		}
	}
	if got := string(AppendIDs([]byte("1,"), nil)); got != "1,[]" {
		t.Errorf("got %s", got)
	}
}

package rawjson

import (
	"bytes"
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
	var out, want []byte
	for id := uint32(0); id < 1_100_000; id += 1 + id>>16 { // all of a vocabulary's first ids, and some of all others
		out = AppendIDs(out[:0], []uint32{id, 7})
		want = append(strconv.AppendUint(append(want[:0], '['), uint64(id), 10), ",7]"...)
		if !bytes.Equal(out, want) {
			t.Fatalf("got %s, want %s", out, want)
		}
	}
	if got := string(AppendIDs([]byte("1,"), nil)); got != "1,[]" {
		t.Errorf("got %s", got)
	}
}

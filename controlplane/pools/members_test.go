package pools

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestCompare compares random lists, in which servers come, go, get another name for their address, and are replaced by
// members of the same server. The counts are the same as with sets.
func TestCompare(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		w := &Watcher{changed: make(chan struct{}, 1)}
		var before, now []*member
		kept := map[*member]bool{}
		added, removed, changes := 0, 0, false
		for i := range random.IntN(6) {
			address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 80)
			one := &member{Server: Server{Address: address, Endpoint: config.Endpoint{Host: fmt.Sprint(i)}, State: Ready}}
			other := &member{Server: one.Server}
			switch random.IntN(6) {
			case 0:
				before, now, kept[one] = append(before, one), append(now, one), true
			case 1:
				before = append(before, one)
				removed++
			case 2:
				now = append(now, one)
				added++
			case 3: // the pool's probe has changed
				before, now = append(before, one), append(now, other)
			case 4:
				other.State, changes = Unknown, true
				before, now = append(before, one), append(now, other)
			case 5:
				other.Endpoint.Host = "other"
				before, now, added, removed = append(before, one), append(now, other), added+1, removed+1
			}
		}
		gotAdded, gotRemoved := w.compare(before, now)
		if gotAdded != added || gotRemoved != removed || len(w.changed) > 0 != changes {
			t.Fatalf("%d added, %d removed, changed %d; want %d, %d, %t", gotAdded, gotRemoved, len(w.changed), added, removed,
				changes)
		}
		for _, m := range before {
			if m.removed == kept[m] {
				t.Fatalf("removed is %t of a member that is kept %t", m.removed, kept[m])
			}
		}
		for _, m := range now {
			if m.removed {
				t.Fatal("a member of the pool is removed")
			}
		}
	}
}

package plugin

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/filter/internal/tapjson"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

const noLimit = 1 << 40

// TestOutbox: frames come out in their order, whole and in blocks, and blocks are used again.
func TestOutbox(t *testing.T) {
	b := &blocks{heap: &heap{}}
	o := &outbox{blocks: b, limit: noLimit}
	body := bytes.Repeat([]byte("0123456789"), 70_000)
	for round := range uint32(50) {
		if !o.addAll(&tap.Frame{Kind: tap.Body, Stream: round, Payload: body}) || !o.add(&tap.Frame{Kind: tap.Passed}) ||
			!o.addAll(&tap.Frame{Kind: tap.Answer}) {
			t.Fatalf("round %d: no room", round)
		}
		var got []byte
		passed := 0
		for !o.empty() {
			block := o.next()
			for rest := block; len(rest) > 0; {
				f, after, err := tap.Read(rest)
				switch {
				case err != nil:
					t.Fatal(err)
				case f.Kind == tap.Passed:
					passed++
				case f.Kind != tap.Body || f.Stream != round || passed > 0 || len(f.Payload) > pieceSize:
					t.Fatalf("round %d: %d of %d with %d bytes", round, f.Kind, f.Stream, len(f.Payload))
				}
				got, rest = append(got, f.Payload...), after
			}
			b.give(block)
		}
		if !bytes.Equal(got, body) || passed != 1 {
			t.Fatalf("round %d: %d bytes of %d, %d passed", round, len(got), len(body), passed)
		}
	}
	if b.made > 4 || len(b.free) != b.made {
		t.Errorf("%d blocks, %d free", b.made, len(b.free))
	}
}

// TestFullOutbox: nothing is taken beyond the limit, but for the ends of requests.
func TestFullOutbox(t *testing.T) {
	b := &blocks{heap: &heap{}}
	o := &outbox{blocks: b, limit: noLimit}
	piece := make([]byte, pieceSize)
	n := 0
	for o.add(&tap.Frame{Kind: tap.Chunk, Payload: piece}) {
		n++
	}
	if most := maxBlocks * blockSize / pieceSize; n > most || n < most/2 || b.made != maxBlocks-1 {
		t.Errorf("%d frames in %d blocks", n, b.made)
	}
	for o.add(&tap.Frame{Kind: tap.Chunk}) {
	}
	end := &tap.Frame{Kind: tap.End, Payload: make([]byte, 500)}
	if !o.add(end) || b.made != maxBlocks {
		t.Fatalf("no room for an end: %d blocks", b.made)
	}
	if o.add(&tap.Frame{Kind: tap.Chunk}) {
		t.Error("another frame takes the room of ends")
	}
	for o.add(end) {
	}
	if o.add(&tap.Frame{Kind: tap.Chunk, Payload: piece}) || b.made != maxBlocks {
		t.Errorf("%d blocks", b.made)
	}
	b.give(o.next())
	if o.add(&tap.Frame{Kind: tap.Chunk, Payload: piece}) {
		t.Error("the last block is not kept for ends")
	}
	b.give(o.next())
	if !o.add(&tap.Frame{Kind: tap.Chunk, Payload: piece}) {
		t.Error("a block is free, and not used")
	}
}

// TestLostBehindEnd: frames that are lost when their request has ended already are told of in the end that waits.
func TestLostBehindEnd(t *testing.T) {
	o := &outbox{blocks: &blocks{heap: &heap{}}, limit: noLimit}
	for stream := range uint32(4) {
		o.add(&tap.Frame{Kind: tap.Body, Stream: stream, Payload: make([]byte, pieceSize)})
		o.add(&tap.Frame{Kind: tap.End, Stream: stream, Payload: tapjson.AppendEndReport(nil, &exchange.Report{}, &tap.Around{}, 200, 1)})
	}
	o.addLost(map[uint32]int{1: 41, 3: 9, 9: 1})
	var got []string
	for !o.empty() {
		each(o.next(), func(f *tap.Frame) {
			if f.Kind == tap.End {
				_, lost, _ := strings.Cut(string(f.Payload), `"lost_frames":`)
				got = append(got, strings.Trim(lost, " }"))
			}
		})
	}
	if want := []string{"1", "42", "1", "10"}; !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOutboxOfFullHeap: what requests need comes first.
func TestOutboxOfFullHeap(t *testing.T) {
	h := &heap{collected: 1 << 50}
	o := &outbox{blocks: &blocks{heap: h}, limit: 100 << 20}
	if o.add(&tap.Frame{Kind: tap.End}) {
		t.Error("a full heap has room")
	}
}

func TestTapKey(t *testing.T) {
	x := &tapper{key: "0123456789abcdef"}
	for key, want := range map[string]bool{
		"0123456789abcdef": true, "0123456789abcdeF": false, "0123456789abcde": false, "0123456789abcdef0": false, "": false,
	} {
		if x.opens(key) != want {
			t.Errorf("%q: %v", key, !want)
		}
	}
}

// TestDuties: the timer's other duties come at their interval however often frames wake it, also after the clock was set
// back: without them a full heap and stalled servers go unnoticed.
func TestDuties(t *testing.T) {
	const hour = 3_600_000
	x := &tapper{}
	for i, tick := range []struct {
		at         int64
		woken, due bool
	}{
		{2 * hour, false, true}, {2*hour + 20, true, false}, {2*hour + 240, true, false}, {2*hour + 250, true, true},
		{2*hour + 270, true, false}, {hour, true, true}, {hour + 20, true, false}, {hour + 30, false, true},
		{hour + 50, true, false}, {3 * hour, true, true},
	} {
		x.woken = tick.woken
		if x.due(tick.at) != tick.due {
			t.Errorf("%d: due is %v", i, !tick.due)
		}
	}
}

// TestTapperLeaves: what waits goes on to the newest other tapper, and no block is lost. The host waits for a call that
// is under way, because it would cut the call off.
func TestTapperLeaves(t *testing.T) {
	v := &vm{tapKey: "0123456789abcdef"}
	v.blocks.heap = &v.heap
	var all []*tapper
	for range 3 {
		p := &plugin{vm: v, memoryLimit: noLimit}
		all = append(all, p.newTapper(&contract.Tap{Cluster: "c"}))
	}
	for i, x := range all {
		x.add(&tap.Frame{Kind: tap.End, Stream: uint32(i)})
	}
	all[0].sent, _ = v.blocks.take(noLimit, false)
	for i, want := range []struct{ waiting, free int }{{2, 0}, {3, 0}, {0, 3}} {
		if ended := all[i].leave(); ended != (i > 0) || all[i].leaving == ended {
			t.Errorf("%d has left: the host may end it: %t", i, ended)
		}
		waiting := 0
		for _, x := range v.tappers {
			waiting += len(x.waiting)
		}
		if len(v.tappers) != 2-i || i < 2 && len(all[2].waiting) != want.waiting || waiting != 3 && i < 2 ||
			len(v.blocks.free) != want.free || !all[i].empty() {
			t.Errorf("%d has left: %d tappers, %d blocks wait, %d are free", i, len(v.tappers), waiting, len(v.blocks.free))
		}
	}
}

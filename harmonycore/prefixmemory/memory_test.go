package prefixmemory

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var testKey = [KeySize]byte{7}

// remembered is a node as this test knows it.
type remembered struct {
	raw   string
	parts []Part
	texts []string
	// spans are places in raw.
	spans []Span
	state State
}

// want is the text for a way of nodes, as [Match.Text] must return it.
func want(way []remembered, lasting bool) (text string, tokens, foreign int, ok bool) {
	last := -1
	var parts []Part
	var texts []string
	for _, n := range way {
		parts, texts = append(parts, n.parts...), append(texts, n.texts...)
	}
	for i := range parts {
		if parts[i].Kind&Lasting != 0 {
			last = i
		}
	}
	if lasting {
		last = len(parts)
	}
	for i := range parts {
		if parts[i].Kind&Passing != 0 && i < last {
			continue
		}
		if parts[i].Kind&Missing != 0 {
			return "", 0, 0, false
		}
		text += texts[i]
		tokens += parts[i].Tokens
		if parts[i].Kind&Foreign != 0 {
			foreign += parts[i].Tokens
		}
	}
	return text, tokens, foreign, true
}

func randomNode(rng *rand.Rand, number int) (n remembered) {
	n.raw = strings.Repeat(string(rune('a'+rng.IntN(20))), 1+rng.IntN(400)) + string(rune('A'+rng.IntN(3)))
	n.state[0] = int64(number)
	for i := 0; i < len(n.raw) && rng.IntN(4) == 0; i += 20 {
		n.spans = append(n.spans, Span{i, min(i+rng.IntN(20), len(n.raw))})
	}
	for range rng.IntN(6) {
		p := Part{Tokens: rng.IntN(1000)}
		if rng.IntN(3) == 0 {
			p.Kind |= Foreign
		}
		switch rng.IntN(6) {
		case 0:
			p.Kind |= Lasting
		case 1, 2:
			p.Kind |= Passing
		case 3:
			if rng.IntN(4) == 0 {
				p.Kind |= Passing | Missing
			}
		}
		text := strings.Repeat(string(rune('0'+rng.IntN(10)))+",", rng.IntN(1+rng.IntN(1500)))
		if p.Kind&Missing != 0 {
			text, p.Tokens = "", 0
		}
		p.Size = len(text)
		n.parts, n.texts = append(n.parts, p), append(n.texts, text)
	}
	return n
}

// TestMemory compares the memory with a simple list of all that it was told, while it forgets most of it.
func TestMemory(t *testing.T) {
	for _, limit := range []int{0, 1 << 10, 30 << 10, 200 << 10, 2 << 20} {
		rng := rand.New(rand.NewPCG(uint64(limit), 5))
		m := New(limit, &testKey)
		owners := []Tag{m.Identity(Tag{}, "a"), m.Identity(Tag{}, "b")}
		type told struct {
			owner int
			rest  string
			way   []remembered
		}
		var all []told
		found := 0
		for round := range 3000 {
			one := told{owner: rng.IntN(2), rest: "]" + string(rune('x'+rng.IntN(2)))}
			if len(all) > 0 && rng.IntN(4) > 0 {
				one = all[max(len(all)-1-rng.IntN(30), 0)]
				one.way = slices.Clone(one.way[:1+rng.IntN(len(one.way))])
			}
			raw := ""
			for _, n := range one.way {
				raw += n.raw
			}
			body := raw + "!more of it" + one.rest
			match := m.Find(owners[one.owner], []byte(body))
			at := 0
			if match.Found() {
				found++
				for end := match.End(); end > 0; at++ {
					end -= len(one.way[at].raw)
				}
				if match.State() != one.way[at-1].state || match.Rest() != len(one.rest) {
					t.Fatalf("limit %d, round %d: state %v, want %v", limit, round, match.State(), one.way[at-1].state)
				}
				if got, want := match.AppendSpans(nil), spansOf(one.way[:at]); !slices.Equal(got, want) {
					t.Fatalf("limit %d, round %d: spans %v, want %v", limit, round, got, want)
				}
				if got, ok := match.Kept().(int64); ok && !slices.ContainsFunc(one.way[:at], func(n remembered) bool {
					return n.state[0] == got && n.state[1] != 0
				}) {
					t.Fatalf("limit %d, round %d: %d is kept, which is not on the way", limit, round, got)
				}
				lasting := rng.IntN(3) == 0
				text, tokens, foreign, ok := want(one.way[:at], lasting)
				k, gotOK := match.Text(lasting)
				if ok != gotOK || ok && (k.Tokens != tokens || k.Foreign != foreign || k.Size != len(text)) {
					t.Fatalf("limit %d, round %d: %+v, want %d tokens, %d foreign, %d bytes, %t", limit, round, k, tokens, foreign,
						len(text), ok)
				}
				if got := k.AppendTo([]byte("-"), math.MaxInt); ok && string(got) != "-"+text {
					t.Fatalf("limit %d, round %d: another text", limit, round)
				}
				if some := rng.IntN(3000); ok {
					if got := k.AppendTo(nil, some); len(got) < min(some, len(text)) || !strings.HasPrefix(text, string(got)) {
						t.Fatalf("limit %d, round %d: %d bytes of %d: %q", limit, round, some, len(text), got)
					}
				}
			}
			one.way = one.way[:at]
			for range 1 + rng.IntN(3) {
				n := randomNode(rng, round)
				text := []byte(strings.Join(n.texts, ""))
				keeps := rng.IntN(8) == 0
				if keeps {
					n.state[1] = 1
				}
				e, ok := &Entry{n.parts, text, nil, n.state}, false
				from := 0
				for i := range one.way {
					from += len(one.way[i].raw)
				}
				for _, span := range n.spans {
					e.Spans = append(e.Spans, Span{from + span.From, from + span.To})
				}
				if len(one.way) == 0 {
					ok = match.AddRoot(owners[one.owner], m.Digest([]byte(n.raw)), m.Digest([]byte(one.rest)), e)
				} else {
					ok = match.Add(m.Digest([]byte(n.raw)), e)
				}
				if !ok {
					break
				}
				if keeps {
					match.Keep(n.state[0])
				}
				one.way = append(one.way, n)
			}
			if len(one.way) > 0 {
				all = append(all, one)
			}
			if m.Bytes() > limit {
				t.Fatalf("limit %d, round %d: %d bytes", limit, round, m.Bytes())
			}
			check(t, m)
		}
		if found == 0 && limit > 1<<10 || found > 0 && limit == 0 {
			t.Errorf("limit %d: found %d times", limit, found)
		}
		m.Clear()
		if match := m.Find(owners[0], []byte("a")); match.Found() || m.Bytes() != 0 {
			t.Errorf("limit %d: something is left", limit)
		}
	}
}

// spansOf returns the spans of a way, as places in a body.
func spansOf(way []remembered) (all []Span) {
	from := 0
	for _, n := range way {
		for _, span := range n.spans {
			all = append(all, Span{from + span.From, from + span.To})
		}
		from += len(n.raw)
	}
	return all
}

// TestKept: the value of the last node that has one is found, as long as the node is remembered, and of several values
// those that were used last stay.
func TestKept(t *testing.T) {
	m := New(1<<20, &testKey)
	mine := m.Identity(Tag{}, "mine")
	body := strings.Repeat("a", 9)
	match := m.None()
	for i := range 8 {
		if i == 0 && !match.AddRoot(mine, m.Digest([]byte("a")), m.Digest([]byte("a")), &Entry{}) ||
			i > 0 && !match.Add(m.Digest([]byte("a")), &Entry{}) {
			t.Fatal("there was no room")
		}
		match.Keep(i)
	}
	match = m.Find(mine, []byte(body))
	for want := 7; match.Found(); match.Back() {
		if got := match.Kept(); got != any(want) && (want >= 4 || got != nil) {
			t.Errorf("%v is kept, want %d", got, want)
		}
		want--
	}
	match = m.Find(mine, []byte(body))
	m.remove(m.path[7])
	match.Back()
	if got := match.Kept(); got != any(6) {
		t.Errorf("without its node: %v is kept", got)
	}
}

// check checks what must always hold of a memory: the list by use has every node, each behind its parent, and every
// block is of one node or free.
func check(t *testing.T, m *Memory) {
	t.Helper()
	seen, blocksOf := map[uint16]bool{0: true}, map[uint16]bool{}
	for at := m.newest; at != 0; at = m.nodes[at].older {
		n := &m.nodes[at]
		if seen[at] || !seen[n.parent] {
			t.Fatalf("node %d comes twice, or before its parent %d", at, n.parent)
		}
		seen[at] = true
		for b := n.first; b != 0; b = m.blocks.next[b] {
			if blocksOf[b] {
				t.Fatalf("block %d is of two nodes", b)
			}
			blocksOf[b] = true
		}
	}
	free := 0
	for b := m.blocks.free; b != 0; b = m.blocks.next[b] {
		if blocksOf[b] {
			t.Fatalf("block %d is free, and of a node", b)
		}
		free++
	}
	if free != m.idle || free+len(blocksOf) != m.made() || m.made() > m.blocks.limit || len(seen)-1 > m.maxNodes {
		t.Fatalf("%d free blocks, %d of nodes, %d made of %d; %d nodes of %d", free, len(blocksOf), m.made(), m.blocks.limit,
			len(seen)-1, m.maxNodes)
	}
}

// TestFlood: however many bodies come, of however many owners, the memory stays within its size, and what is used again
// and again stays in it.
func TestFlood(t *testing.T) {
	const limit = 256 << 10
	m := New(limit, &testKey)
	parts, text := []Part{{Size: 5000, Tokens: 1000}}, bytes.Repeat([]byte("1234,"), 1000)
	used := []byte(strings.Repeat("used ", 100) + "]")
	remember := func(owner Tag, body []byte) {
		match := m.Find(owner, body)
		if !match.Found() {
			match.AddRoot(owner, m.Digest(body[:len(body)-1]), m.Digest(body[len(body)-1:]),
				&Entry{Parts: parts, Text: text})
		}
	}
	mine := m.Identity(Tag{}, "mine")
	for i := range 20_000 {
		if match := m.Find(mine, used); i > 0 && !match.Found() {
			t.Fatalf("after %d others it is forgotten", i)
		}
		remember(mine, used)
		flood := []byte(strings.Repeat("flood", 100) + string(rune(i)) + "]")
		remember(m.Identity(Tag{}, string(rune(i%50))), flood)
		if m.Bytes() > limit {
			t.Fatalf("%d bytes after %d", m.Bytes(), i)
		}
	}
	check(t, m)
}

// TestFoundByAll: a body is found by its owner alone, whole parts of it alone, and only before the same end.
func TestFoundByAll(t *testing.T) {
	m := New(1<<20, &testKey)
	mine, other := m.Identity(Tag{}, "mine"), m.Identity(Tag{}, "other")
	head, first, second := strings.Repeat("h", 5000), strings.Repeat("1", 5000), strings.Repeat("2", 5000)
	match := m.None()
	digest := func(s string) Digest { return m.Digest([]byte(s)) }
	if !match.AddRoot(mine, digest(head), digest("]}"), &Entry{}) ||
		!match.Add(digest(first), &Entry{}) || !match.Add(digest(second), &Entry{}) {
		t.Fatal("there was no room")
	}
	found := func(owner Tag, body string) int {
		match := m.Find(owner, []byte(body))
		return match.End()
	}
	whole := head + first + second
	for _, test := range []struct {
		owner Tag
		body  string
		want  int
	}{
		{mine, whole + "]}", 15_000},
		{mine, whole + "and more]}", 15_000},
		{other, whole + "]}", 0},
		{mine, whole + "] }", 0},
		{mine, whole[:14_999] + "3]}", 10_000},
		{mine, whole[:14_999] + "]}", 10_000},
		{mine, whole[:9_999] + "x" + whole[10_000:] + "]}", 5000},
		{mine, whole[:4_999] + "x" + whole[5_000:] + "]}", 0},
		{mine, "]}", 0},
		{mine, "", 0},
		{mine, head, 0},
		{mine, head + "]}", 5000},
	} {
		if got := found(test.owner, test.body); got != test.want {
			t.Errorf("%.20q… of %d bytes: found up to %d, want %d", test.body, len(test.body), got, test.want)
		}
	}
}

// TestSearchIsBounded: nodes of many lengths that agree with a body in all but a byte are not all hashed.
func TestSearchIsBounded(t *testing.T) {
	m := New(8<<20, &testKey)
	mine := m.Identity(Tag{}, "mine")
	match := m.None()
	match.AddRoot(mine, m.Digest([]byte("[")), m.Digest([]byte("]")), &Entry{})
	body := bytes.Repeat([]byte("x"), 100_000)
	root := match
	for i := range 1000 {
		body[50_001] = 'y'
		match := root
		match.Add(m.Digest(body[:99_000+i]), &Entry{})
	}
	body[50_001] = 'x'
	s := search{m: m, body: append([]byte("["), append(body, ']')...), from: -1}
	s.left = 3 * len(s.body)
	for at := m.nodes[root.m.path[0]].child; at != 0; at = m.nodes[at].next {
		if s.is(1, &m.nodes[at].own) {
			t.Fatal("another text is found")
		}
	}
	if s.left > len(s.body) {
		t.Errorf("the texts were not hashed: %d bytes are left", s.left)
	}
	if s.left >= 0 {
		t.Errorf("the search was not ended: %d bytes are left", s.left)
	}
}

// TestDigest: the digest of what follows a match is that of its bytes, whether a node has it or not.
func TestDigest(t *testing.T) {
	m := New(1<<20, &testKey)
	mine := m.Identity(Tag{}, "mine")
	head, first, second := strings.Repeat("h", 5000), strings.Repeat("1", 5000), strings.Repeat("2", 5000)
	match := m.None()
	digest := func(s string) Digest { return m.Digest([]byte(s)) }
	if !match.AddRoot(mine, digest(head), digest("]"), &Entry{}) ||
		!match.Add(digest(first), &Entry{}) || !match.Add(digest(second), &Entry{}) {
		t.Fatal("there was no room")
	}
	body := []byte(head + first + second + "]")
	match = m.Find(mine, body)
	for end := 15_000; ; {
		if match.End() != end {
			t.Fatalf("the match ends at %d, want %d", match.End(), end)
		}
		for _, size := range []int{0, 1, 4999, 5000, 5001, 10_000} {
			part := body[end:min(end+size, len(body))]
			if got, want := match.Digest(part), m.Digest(part); got != want {
				t.Errorf("%d bytes from %d: %v, want %v", len(part), end, got, want)
			}
		}
		if end -= 5000; !match.Back() {
			break
		}
	}
}

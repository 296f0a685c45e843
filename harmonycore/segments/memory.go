package segments

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/affinity"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Memory keeps the outlines of conversations' last prompts, in a fixed amount of memory, to say why servers' caches
// were missed. It keeps no text. Its methods must not be called by several goroutines at once.
type Memory struct {
	limit, bytes int
	// kept are the prompts, the oldest first.
	kept []*kept
	// reporting are the pools whose servers have ever reported cached tokens. Others may have a cache without saying so.
	reporting []affinity.Hash
}

const (
	// maxKept is how many prompts a [Memory] has at most, and maxReporting how many pools it knows.
	maxKept      = 256
	maxReporting = 256
	// A prompt takes a quarter of the memory at most.
	mostParts   = 512
	mostBlocks  = 1 << 17 / BlockSize
	perPrompt   = 4
	hashBytes   = 8
	minKept     = 16
	keptBytes   = 64
	unknownOver = Unread
)

// Unread is how many tokens of an earlier prompt a server may leave unread that has it. Blocks have up to 128 tokens.
const Unread = 128

// Asker is what the prompts of a conversation have in common beside their tokens.
type Asker struct{ Client, Conversation string }

// kept is a prompt that is kept.
type kept struct {
	Outline
	client, key affinity.Hash
	// first and last are the first and the last message of the conversation, and head how many tokens come before it.
	first, last Segment
	head        int
	// server is the server that has answered, or 0 if none has yet.
	server affinity.Hash
}

// NewMemory returns a [Memory] of so many bytes.
func NewMemory(limit int) *Memory { return &Memory{limit: limit} }

// SetLimit sets how many bytes the memory may take.
func (m *Memory) SetLimit(limit int) {
	m.limit = limit
	m.makeRoom(0)
}

// Bytes returns how much memory the prompts take.
func (m *Memory) Bytes() int { return m.bytes }

// Clear forgets all prompts.
func (m *Memory) Clear() { m.kept, m.bytes = nil, 0 }

// Turn is a prompt between the request and the end of its answer.
type Turn struct {
	memory *Memory
	now    *kept
	// before is the earlier prompt, or nil.
	before *kept
	// pool is the pool that got the request.
	pool       affinity.Hash
	difference Difference
	ended      bool
	missed     Missed
}

// Missed is what a server had to compute again.
type Missed struct {
	Reason Reason
	// Tokens is how many tokens were computed again. Without any, there is no reason.
	Tokens int
}

// Outcome is what is known of a request at its end.
type Outcome struct {
	// Server is the address of the server that has answered.
	Server string
	// Counted reports whether the server has sent its counts, and Reports whether Cached was among them.
	Counted, Reports bool
	Cached           int
}

// Begin notes a prompt that is sent to a pool. block is how many tokens the servers' blocks have.
func (m *Memory) Begin(t *tokenizer.Tokenizer, who Asker, model, pool string, ids []uint32, block int) *Turn {
	now := &kept{client: affinity.AppendText(1, who.Client)}
	if who.Conversation != "" {
		now.key = affinity.AppendText(1, who.Conversation)
	}
	share := m.limit / perPrompt
	now.Read(t, model, ids, Limits{Segments: min(mostParts, max(share/segmentSize/2, minKept)),
		Blocks: min(mostBlocks, max(share/hashBytes/2, minKept))})
	now.Segments, now.Blocks = slices.Clip(now.Segments), slices.Clip(now.Blocks)
	now.describe()
	turn := &Turn{memory: m, now: now, pool: affinity.AppendText(1, pool)}
	if before, common := m.find(now, ids); before != nil {
		turn.before, turn.difference = before, Compare(&before.Outline, &now.Outline, common, Cache{Block: block})
	}
	m.keep(now)
	return turn
}

// describe notes the ends of the conversation.
func (k *kept) describe() {
	k.head = k.Tokens
	at := 0
	for i := range k.Segments {
		s := &k.Segments[i]
		if s.Kind >= User && s.Kind <= Result {
			if k.first.Kind == 0 {
				k.first, k.head = *s, at
			}
			k.last = *s
		}
		at += int(s.Size)
	}
}

// has reports whether a prompt has a segment, which is looked for from the end.
func (k *kept) has(what *Segment) bool {
	for i := len(k.Segments) - 1; i >= 0 && what.Kind != 0; i-- {
		if s := &k.Segments[i]; s.Kind == what.Kind && s.Hash == what.Hash && s.Size == what.Size {
			return true
		}
	}
	return false
}

// find returns the earlier prompt of the conversation of which a server reads most, and how many tokens it has in
// common with this one. Of equal ones it is the newest, or one with whose last message this one goes on. It shares more than
// what all conversations of an agent have, unless the client names the conversation.
func (m *Memory) find(now *kept, ids []uint32) (best *kept, common int) {
	most := -1
	for i := len(m.kept) - 1; i >= 0; i-- {
		k := m.kept[i]
		if k.server == 0 || k.Model != now.Model || k.client != now.client || k.key != now.key {
			continue
		}
		if b := k.blocksWith(&now.Outline); b < len(k.Blocks) && 2*b+1 <= most {
			continue // it has less
		}
		n := k.CommonWith(&now.Outline, ids)
		goesOn := now.has(&k.last)
		if k.key == 0 && n < k.Tokens && n <= k.head && !goesOn && k.first != now.first {
			continue
		}
		score := 2 * (n / BlockSize)
		if goesOn {
			score++
		}
		if score > most {
			best, common, most = k, n, score
		}
	}
	return best, common
}

// keep keeps a prompt.
func (m *Memory) keep(k *kept) {
	size := k.size()
	m.makeRoom(size)
	if m.bytes+size > m.limit {
		return
	}
	m.kept = append(m.kept, k)
	m.bytes += size
}

func (k *kept) size() int { return k.Bytes() + 2*segmentSize + keptBytes }

// makeRoom drops prompts until there is room for so many bytes: the oldest one of the client that has most.
func (m *Memory) makeRoom(size int) {
	if len(m.kept) < maxKept && m.bytes+size <= m.limit {
		return
	}
	of := make(map[affinity.Hash]int, len(m.kept))
	for _, k := range m.kept {
		of[k.client] += k.size()
	}
	for len(m.kept) > 0 && (len(m.kept) >= maxKept || m.bytes+size > m.limit) {
		oldest := 0
		for i, k := range m.kept {
			if of[k.client] > of[m.kept[oldest].client] {
				oldest = i
			}
		}
		of[m.kept[oldest].client] -= m.kept[oldest].size()
		m.drop(oldest)
	}
}

func (m *Memory) drop(at int) {
	m.bytes -= m.kept[at].size()
	m.kept = slices.Delete(m.kept, at, at+1)
}

// forget drops a prompt, if it is still kept.
func (m *Memory) forget(k *kept) {
	if at := slices.Index(m.kept, k); at >= 0 {
		m.drop(at)
	}
}

// Ended notes the end of a request that a server has answered. It returns what the server had to compute again. Further
// calls return the same.
func (t *Turn) Ended(a Outcome) Missed {
	if t == nil || t.ended {
		return t.Missed()
	}
	t.ended = true
	m := t.memory
	t.now.server = affinity.AppendText(1, a.Server)
	reports := slices.Contains(m.reporting, t.pool)
	if !reports && a.Reports {
		if len(m.reporting) >= maxReporting {
			m.reporting = m.reporting[:0]
		}
		m.reporting, reports = append(m.reporting, t.pool), true
	}
	reports = reports && a.Counted
	b := t.before
	if b == nil {
		if missing := t.now.read() - a.Cached; reports && missing > unknownOver {
			t.missed = Missed{Reason: Unknown, Tokens: missing}
		}
		return t.missed
	}
	d := t.difference
	if d.Common >= b.Tokens {
		m.forget(b) // this prompt has all of it
	}
	if reports {
		d = d.Reported(a.Cached, b.Tokens, b.server != t.now.server)
	}
	if d.Reason != Nothing && d.Again > 0 {
		t.missed = Missed{Reason: d.Reason, Tokens: d.Again}
	}
	return t.missed
}

// Missed returns what [Turn.Ended] has returned, or nothing before it.
func (t *Turn) Missed() Missed {
	if t == nil {
		return Missed{}
	}
	return t.missed
}

// Unanswered notes the end of a request that no server has answered.
func (t *Turn) Unanswered() {
	if t != nil && !t.ended {
		t.ended = true
		t.memory.forget(t.now)
	}
}

// read returns how many tokens a server has read before as a prompt, by what the prompt shows: those before what the
// model wrote last.
func (k *kept) read() (n int) {
	at, before := 0, 0
	wrote := false
	for i := range k.Segments {
		s := &k.Segments[i]
		if s.Kind.assistant() && !wrote {
			before = at
		}
		if wrote = s.Kind.assistant(); wrote {
			n = before
		}
		at += int(s.Size)
	}
	return n
}

// Reported returns the difference as a server reports it, which has read so many tokens from its cache. prompt is how
// many tokens of the earlier prompt do not come from the model, and moved reports whether another server had it.
func (d Difference) Reported(cached, prompt int, moved bool) Difference {
	missing := d.Cached - cached
	switch {
	case min(d.Cached, prompt)-cached < Unread:
	case moved:
		d.Reason = AnotherServer
	case d.Reason == Nothing:
		d.Reason = Evicted
	}
	d.Cached, d.Computed = d.Cached-missing, d.Computed+missing
	d.Again = min(max(d.Again+missing, 0), d.Computed)
	return d
}

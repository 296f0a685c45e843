package record

import (
	"bytes"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/affinity"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

// The bounds of what is kept of prompts: how many there are, their memory together in bytes, and what is kept of each.
// Blocks are enough for the longest context of gpt-oss.
const (
	maxPrompts      = 256
	maxPromptBytes  = 8 << 20
	maxPromptParts  = 2048
	maxPromptBlocks = 1 << 17 / segments.BlockSize
)

// caches compares each prompt with an earlier one of the same conversation, to say why a server's cache was missed. It
// keeps no text. The recorder's lock guards it.
type caches struct {
	// earlier are the prompts that are kept, the oldest first, and bytes is their memory.
	earlier []*earlierPrompt
	bytes   int
	// reporting are the pools whose servers have ever reported cached tokens. Others may have a cache without saying so.
	reporting map[string]bool
}

// maxReporting is how many pools are known to report cached tokens. Beyond it, what is known is forgotten.
const maxReporting = 4096

// earlierPrompt is a prompt with what the model wrote to it.
type earlierPrompt struct {
	segments.Outline
	// id is its record.
	id  string
	who asker
	// upstream is the address of the server.
	upstream string
	// prompt is how many of the tokens are the prompt.
	prompt int
}

// asker is what two prompts of a conversation have in common beside their tokens. key is the hash of the client's own
// name for the conversation, or 0.
type asker struct {
	client string
	key    affinity.Hash
}

// keyOf returns the hash of a request's own name for its conversation.
func keyOf(body []byte) affinity.Hash {
	if !bytes.HasPrefix(body, []byte("{")) {
		return 0
	}
	if key, kind := rawjson.Find(body, "prompt_cache_key"); kind == rawjson.String && len(key) > 0 {
		return affinity.AppendText(1, key)
	}
	metadata, kind := rawjson.Find(body, "metadata") // Claude Code names its session there
	if kind != rawjson.Object {
		return 0
	}
	if user, kind := rawjson.Find(metadata, "user_id"); kind == rawjson.String && len(user) > 0 {
		return affinity.AppendText(2, user)
	}
	return 0
}

// take compares a prompt with an earlier one, and keeps it. It returns nil if there is no earlier one of the
// conversation. prompt is how many of the ids are the prompt.
func (c *caches) take(t *tokenizer.Tokenizer, id string, who asker, ids []uint32, prompt int, l *line.End) *line.Cache {
	now := &earlierPrompt{id: id, who: who, upstream: l.Upstream, prompt: prompt}
	limits := segments.Limits{Segments: maxPromptParts, Blocks: maxPromptBlocks}
	now.Read(t, l.Model, ids[:prompt], limits)
	if l.CachedTokens > 0 {
		if c.reporting == nil || len(c.reporting) >= maxReporting {
			c.reporting = map[string]bool{}
		}
		c.reporting[l.Pool] = true
	}
	var out *line.Cache
	if before, common := c.find(now, ids[:prompt]); before != nil {
		out = c.compare(before, now, common, l)
	}
	if len(ids) > prompt { // the last token was only sampled: no server has computed it
		now.Read(t, l.Model, ids[:len(ids)-1], limits)
	}
	now.Segments, now.Blocks = slices.Clip(now.Segments), slices.Clip(now.Blocks)
	c.keep(now)
	return out
}

// find returns the earlier prompt of which a server reads most from its cache, and how many tokens it has in common
// with this one. Among equal ones, it is one that this prompt goes on from, or has most parts of. It shares more with
// this one than what all conversations of an agent have, unless the client names the conversation.
func (c *caches) find(now *earlierPrompt, ids []uint32) (best *earlierPrompt, common int) {
	parts := make(map[affinity.Hash]bool, len(now.Segments))
	for i := range now.Segments {
		parts[now.Segments[i].Hash] = true
	}
	blocks, most := -1, 0
	for _, p := range slices.Backward(c.earlier) {
		if p.Model != now.Model || p.who != now.who {
			continue
		}
		same, known := 0, p.who.key != 0
		for i := range p.Segments {
			if s := &p.Segments[i]; parts[s.Hash] && s.Kind != segments.Opening {
				same += int(s.Size)
				known = known || s.Kind >= segments.User && s.Kind <= segments.Result
			}
		}
		n := p.CommonWith(&now.Outline, ids)
		if n == p.Tokens {
			same, known = now.Tokens+1, true
		}
		if b := n / segments.BlockSize; known && (b > blocks || b == blocks && same > most) {
			best, common, blocks, most = p, n, b, same
		}
	}
	return best, common
}

// compare compares a prompt with an earlier one. What the server reports counts before what it should have.
func (c *caches) compare(before, now *earlierPrompt, common int, l *line.End) *line.Cache {
	d := segments.Compare(&before.Outline, &now.Outline, common, segments.Cache{Block: contract.CacheBlock(l.Server)})
	moved := before.upstream != "" && l.Upstream != "" && before.upstream != l.Upstream
	if c.reporting[l.Pool] {
		d = d.Reported(l.CachedTokens, before.prompt, moved)
	}
	out := &line.Cache{Reason: d.Reason.String(), Earlier: before.id, Common: d.Common, Cached: d.Cached,
		Computed: d.Computed, Again: min(d.Again, d.Computed)}
	if d.Reason != segments.Nothing && d.Reason < segments.Model {
		out.Message, out.Was = d.Message+1, d.Was+1
	}
	return out
}

// keep keeps a prompt, at the cost of the oldest ones.
func (c *caches) keep(p *earlierPrompt) {
	size := p.Bytes()
	for len(c.earlier) > 0 && (len(c.earlier) >= maxPrompts || c.bytes+size > maxPromptBytes) {
		c.bytes -= c.earlier[0].Bytes()
		c.earlier = slices.Delete(c.earlier, 0, 1)
	}
	c.earlier = append(c.earlier, p)
	c.bytes += size
}

// keepIDs keeps the prompt until the end of the request, if there is room.
func (s *stream) keepIDs(ids []uint32) {
	s.dropIDs()
	if len(ids) > 0 && s.entry.hold(len(ids)*idSize) {
		s.ids, s.prompt = ids, len(ids)
	}
}

const idSize = 4

// generated notes a token of the first choice. Without room for it nothing is known of the rest.
func (s *stream) generated(id uint32) {
	if s.ids == nil || s.whole {
		return
	}
	if s.whole = !s.entry.hold(idSize); !s.whole {
		s.ids = append(s.ids, id)
	}
}

func (s *stream) dropIDs() {
	s.entry.release(len(s.ids) * idSize)
	s.ids, s.prompt, s.whole = nil, 0, false
}

// cache says why the server's cache was missed, at the end of the request.
func (s *stream) cache(l *line.End) *line.Cache {
	if s.prompt == 0 || l.Status != 200 || l.Model == "" {
		return nil
	}
	r := s.entry.recorder
	return r.caches.take(r.options.Tokenizer(), s.entry.id, asker{l.Client, s.key}, s.ids, s.prompt, l)
}

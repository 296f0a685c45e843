package exchange

import (
	"math"
	"slices"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/prefixmemory"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// This file uses the memory of prefixes (docs/agent-turns.md). A request that begins as an earlier one is read without
// what is remembered of it, and its prompt begins with the remembered ids. Whenever anything is in doubt, the request
// is read as a whole, as if nothing were remembered.

// recall is what is remembered of a request, and what will be. A nil one is nothing.
type recall struct {
	memory  *prefixmemory.Memory
	scratch *Scratch
	owner   prefixmemory.Tag
	// match is the remembered part, if there is one. known is its text, state its state, and before what the translation
	// must know of it. at is where the part of the body begins that is not remembered.
	match  prefixmemory.Match
	known  prefixmemory.Known
	state  prefixmemory.State
	before *translate.Past
	at     int
	// cuts are the places up to which the request may be remembered, digests those of the parts before them, and rest the
	// digest of what follows the conversation. The first cut is behind what the match has.
	cuts    []openai.Cut
	digests []prefixmemory.Digest
	rest    prefixmemory.Digest
	// param is the member with the conversation. less is how much earlier everything stands in the body that is read.
	param string
	less  int
	// open is where the conversation begins in the body. values and outside count the values of the body that was read,
	// and of them those outside of the conversation.
	open, values, outside int
	// now is the time, in Unix seconds.
	now int64
	// kept is what is known of the members beside the conversation, or nil. head is what is to be kept of them.
	kept, head *keptHead
	cacheKey   []byte
	// beside is how large they are, in bytes.
	beside int
	// read are the elements of the remembered part that are read again, if nothing is kept of the members. spans are those
	// of the rest that will be, and seen is how many there are with those of the remembered part.
	read, spans []prefixmemory.Span
	seen        int
	// parts are those of the rendered messages.
	parts []prefixmemory.Part
}

// The numbers in a [prefixmemory.State]: where the conversation begins; how many ids may still be read
// ([translate.Past.Left]); how many values and entries its elements are at most; how many values the rest of the body
// has; when the first seal expires, or 0; when it was remembered; whether there are only instructions; how many
// elements are read again, since they declare tools or change the answer ([translate.Request.Lasting]), and how many of
// them stand in front; and what was counted ([openai.Counts]).
const (
	stateOpen = iota
	stateLeft
	stateValues
	stateEntries
	stateOutside
	stateUntil
	stateSince
	stateLeading
	stateLasting
	stateFront
	stateDropped
	stateIgnored // and the next ones
)

// There is room for all kinds.
const _ = uint(len(prefixmemory.State{}) - stateIgnored - int(openai.IgnoredKinds))

const (
	// leastRecalled is the size of the smallest body that is remembered, in bytes.
	leastRecalled = 4 << 10
	// leastCut is how far two cuts in one request are apart at least, in bytes.
	leastCut = 16 << 10
	// maxRest is how much of a body is read at most without what is remembered, and how large what stands beside a
	// conversation is at most, in bytes. If there is any doubt about it, it is read twice, which must not hold a worker
	// for longer than the largest request does.
	maxRest = 256 << 10
)

// mayRecall reports whether the beginnings of requests for a model may be remembered: where the gateway alone decides
// what becomes of them, and its servers take token ids that nobody else needs.
func (m *Model) mayRecall() bool {
	_, prompts := m.servers.(promptServers)
	divided := slices.ContainsFunc(m.Route, func(b contract.Branch) bool { return b.Prefill.Cluster != "" })
	return prompts && !m.Kind.Facts().TextPrompts && m.Prefill.Cluster == "" && !divided && m.TranslatedShare() == 100 &&
		!m.Answers.TokenIDs
}

const secondsPerDay = 24 * 60 * 60

// recallFor returns an empty recall for a body, or nil if none of such bodies are remembered.
func (g *generation) recallFor(body []byte, h Host) *recall {
	e := g.x
	m := e.gateway.options.Prefixes
	if m == nil || len(body) < e.gateway.leastRecalled || len(body) > e.gateway.options.BodyLimit {
		return nil
	}
	r := &recall{memory: m, scratch: h.scratch(), now: h.Now / 1000, param: g.param()}
	who := prefixmemory.Tag{}
	if name := e.caller.name; name == "" || name == contract.AnonymousClient {
		who = e.secrets // nobody has told who the client is: its key does
	}
	r.owner = m.Identity(e.gateway.owner, g.path(), strconv.FormatInt(r.now/secondsPerDay, 10),
		strconv.FormatBool(e.options.declinesService), e.options.tenant, e.caller.name)
	r.owner = m.Join(who, r.owner)
	return r
}

// fresh returns a recall of which nothing is known, for the same request.
func (r *recall) fresh() *recall {
	return &recall{memory: r.memory, scratch: r.scratch, now: r.now, param: r.param, owner: r.owner}
}

// forgotten returns what is to be remembered of a request that is read as a whole, or nil.
func (g *generation) forgotten(a *modelRequest, body []byte, h Host) *recall {
	if g.recall == nil || !a.model.recalls {
		return nil
	}
	r := g.recall.fresh()
	g.x.report.Recall = RecallMiss
	r.match = r.memory.None()
	s := r.scratch
	cuts, in, ok := a.body.Cuts(s.cuts[:0], g.param(), 0, g.x.gateway.leastCut)
	for len(cuts) > 0 && cuts[0].Element < in.Update {
		cuts = cuts[1:] // what comes before it was read with another beginning of the prompt
	}
	s.cuts, r.open = cuts, in.Open
	if r.beside = in.Open + len(body) - in.Closed; !ok || r.beside > maxRest {
		return nil
	}
	r.values, r.outside = a.body.Values, a.body.Values-in.Values
	r.cacheKey = slices.Clone(a.body.CacheKey())
	r.rest = r.memory.Digest(body[in.Closed:])
	r.digest(body, 0)
	return r
}

// digest makes the digests of the parts of a body, of which the first begins here.
func (r *recall) digest(body []byte, from int) {
	s := r.scratch
	s.digests = s.digests[:0]
	for i := range s.cuts {
		part := body[from:s.cuts[i].End]
		if from = s.cuts[i].End; i == 0 {
			s.digests = append(s.digests, r.match.Digest(part))
		} else {
			s.digests = append(s.digests, r.memory.Digest(part))
		}
	}
	r.cuts, r.digests = s.cuts, s.digests
}

// resume sends a request of which something is remembered. decided is false if nothing is, or if there is any doubt.
// Then nothing has changed.
func (g *generation) resume(body []byte, h Host) (action RequestAction, decided bool) {
	r := g.recallFor(body, h)
	if g.recall = r; r == nil {
		return RequestAction{}, false
	}
	r.match = r.memory.Find(r.owner, body)
	rest, ok := r.reduce(body)
	if !ok {
		return RequestAction{}, false
	}
	a, t := g.readRest(rest, body, r, h)
	if t != nil && r.kept != nil && t.Changes() {
		r.kept = nil // it does not know what the rest declares
		a, t = g.readRest(r.appendRest(body), body, r, h)
	}
	if t == nil || !t.Continues() || int(r.state[stateEntries])+t.Entries() > openai.MaxEntries {
		return RequestAction{}, false
	}
	const compacted = openai.IgnoredCompaction
	if t.Ignored[compacted] > r.before.Ignored[compacted] && g.x.service().Stores {
		return RequestAction{}, false // the service may be able to read it
	}
	if byChannels, failure := g.wantsChannelEvents(a.model, t); byChannels || failure != nil {
		return RequestAction{}, false // the whole conversation is part of the answer
	}
	r.noteHead(a, t)
	sent, failure := g.translate(a, t, "", h)
	if failure != nil {
		return RequestAction{}, false
	}
	g.x.report.Recall, g.x.report.RecalledTokens = RecallHit, r.known.Tokens
	return g.forward(a, sent), true
}

// readRest reads the rest of a body. It returns nil if there is any doubt.
func (g *generation) readRest(rest, body []byte, r *recall, h Host) (*modelRequest, *translate.Request) {
	if rest == nil {
		return nil, nil
	}
	a := g.openRest(rest, body, r, h)
	if a == nil {
		return nil, nil
	}
	read := g.requestReader()
	if r.kept != nil {
		read = r.kept.request.Follow
	}
	t, failure := a.read(read, h)
	if failure != nil {
		return a, nil
	}
	lasting, _ := t.Lasting()
	r.see(lasting, int(r.state[stateLasting]))
	return a, t
}

// see notes the elements that are to be read again, after so many of the remembered part.
func (r *recall) see(lasting []openai.Lasting, before int) {
	r.spans, r.seen = r.spans[:0], before+len(lasting)
	for _, l := range lasting {
		r.spans = append(r.spans, prefixmemory.Span{From: l.From + r.less, To: l.To + r.less})
	}
}

// reduce returns the body without the part of the conversation that is remembered. It lies in the scratch memory.
func (r *recall) reduce(body []byte) (rest []byte, ok bool) {
	for more := r.match.Found(); more; more = r.match.Back() {
		r.state = r.match.State()
		if until := r.state[stateUntil]; until != 0 && r.now >= until || r.now < r.state[stateSince] {
			return nil, false
		}
		r.open = int(r.state[stateOpen])
		at := rawjson.Space(body, r.match.End())
		first := r.match.End() == r.open
		switch {
		case at >= len(body):
			return nil, false
		case body[at] == ']':
			continue // nothing new follows it
		case !first && body[at] == ',':
			at = rawjson.Space(body, at+1)
		case !first:
			return nil, false
		}
		if at >= len(body) || body[at] == ']' || r.open+len(body)-at > maxRest {
			return nil, false
		}
		r.at = at
		r.before = &translate.Past{Left: int(r.state[stateLeft])}
		r.before.Joins, r.before.Dropped = r.state[stateLeading] != 0, int(r.state[stateDropped])
		for i := range r.before.Ignored {
			r.before.Ignored[i] = int(r.state[stateIgnored+i])
		}
		r.kept, _ = r.match.Kept().(*keptHead)
		if r.kept != nil && r.kept.seen != int(r.state[stateLasting]) {
			r.kept = nil // tools were declared after it
		}
		rest = r.appendRest(body)
		return rest, rest != nil
	}
	return nil, false
}

// appendRest returns a body with the part of the conversation that is not remembered. If nothing is kept of the other
// members, it has those, and the elements of the remembered part that must be read again. It lies in the scratch
// memory, and is nil if it would be too large.
func (r *recall) appendRest(body []byte) []byte {
	dst := r.scratch.rest[:0]
	if r.kept != nil {
		r.read, r.before.Elements = nil, 0
		dst = append(append(append(dst, `{"`...), r.param...), `":[`...)
		r.less = r.at - len(dst)
		dst = append(append(dst, body[r.at:len(body)-r.match.Rest()]...), "]}"...)
		r.scratch.rest = dst
		return dst
	}
	r.read = r.match.AppendSpans(r.scratch.spans[:0])
	r.scratch.spans = r.read
	r.before.Elements, r.before.Front = len(r.read), int(r.state[stateFront])
	size := r.open + len(body) - r.at
	for _, span := range r.read {
		if size += span.To - span.From + 1; size > maxRest || span.From < r.open || span.To > r.at {
			return nil
		}
	}
	dst = append(dst, body[:r.open]...)
	for _, span := range r.read {
		dst = append(append(dst, body[span.From:span.To]...), ',')
	}
	r.less = r.at - len(dst)
	dst = append(dst, body[r.at:]...)
	r.scratch.rest = dst
	return dst
}

// openRest is [Exchange.open] of the rest of a body. It returns nil if there is any doubt, also if the host lacks the
// memory: the request may need less than what is known of it.
func (g *generation) openRest(rest, body []byte, r *recall, h Host) *modelRequest {
	e := g.x
	request, failure := openai.OpenUnnamed(rest, openai.MaxValues)
	if failure != nil {
		return nil
	}
	s := r.scratch
	cuts, in, ok := request.Cuts(s.cuts[:0], r.param, len(r.read), e.gateway.leastCut)
	if !ok || in.Closed+r.less != len(body)-r.match.Rest() {
		return nil
	}
	r.outside = int(r.state[stateOutside])
	r.values = r.outside + in.Values
	var model *Model
	var key []byte
	if r.kept != nil {
		model, key = r.kept.model, r.kept.cacheKey
	} else if request.NamesModel() == nil {
		model, key = e.gateway.model(request.Model), request.CacheKey()
		r.beside, r.cacheKey = r.open+r.match.Rest(), slices.Clone(key)
	}
	values := r.values + int(r.state[stateValues])
	if model == nil || !model.recalls || values > openai.MaxValues ||
		h.Admit != nil && !h.Admit(memoryFor(len(body), values)) {
		return nil
	}
	s.cuts = cuts[1:] // what it begins with is remembered
	for i := range s.cuts {
		s.cuts[i].End += r.less
	}
	r.digest(body, r.match.End())
	e.setModel(model)
	a := &modelRequest{x: e, model: model, body: request, size: len(rest), context: e.contextOf(model), recall: r}
	if !e.headersForwarded {
		a.byPrompt = e.alike(model, key)
		a.keepCacheKey(key)
	}
	return a
}

// past returns what the translation must know of the remembered part.
func (r *recall) past() *translate.Past {
	if r == nil {
		return nil
	}
	return r.before
}

// resumed reports whether the prompt begins with remembered ids.
func (r *recall) resumed() bool { return r != nil && r.before != nil }

// tokens and toolTokens count those of the remembered ids.
func (r *recall) tokens() int {
	if r == nil {
		return 0
	}
	return r.known.Tokens
}

func (r *recall) toolTokens() int {
	if r == nil {
		return 0
	}
	return r.known.Foreign
}

// ask puts the remembered ids before the prompt, and asks where the messages end in what is written.
func (r *recall) ask(asked *backend.Request) {
	if r == nil {
		return
	}
	if len(r.parts) > 0 {
		asked.Ends = r.scratch.ends[1:]
	}
	if r.resumed() {
		asked.Known, asked.KnownSize = r.appendKnown, r.known.Size
	}
}

func (r *recall) appendKnown(dst []byte) []byte { return r.known.AppendTo(dst, math.MaxInt) }

// maxIDText is the size of the longest id with its comma, in a model's vocabulary.
const maxIDText = 7

// firstIDs returns the first n ids of a prompt that ends with these.
func (r *recall) firstIDs(n int, rest []uint32) []uint32 {
	s := r.scratch
	s.blocks = r.known.AppendTo(s.blocks[:0], n*maxIDText)
	s.first = s.first[:0]
	id := uint32(0)
	for _, c := range s.blocks {
		if c != ',' {
			id = id*10 + uint32(c-'0')
			continue
		}
		if s.first = append(s.first, id); len(s.first) == n {
			return s.first
		}
		id = 0
	}
	s.first = append(s.first, rest[:min(len(rest), n-len(s.first))]...)
	return s.first
}

// render renders the messages that are not remembered.
func (r *recall) render(g *harmony.Rendering, t *translate.Request, a *modelRequest, dst []uint32) (
	prompt []uint32, fit bool, err error,
) {
	messages, first, limit := t.Conversation.Messages, 0, a.context
	if r.resumed() {
		first = t.Marks()[0].Messages
		final := false
		for i := first; i < len(messages); i++ {
			final = final || isFinal(&messages[i])
		}
		var ok bool
		if r.known, ok = r.match.Text(final); !ok || r.known.Tokens > limit {
			return dst, false, nil
		}
		limit -= r.known.Tokens
	}
	s := r.scratch
	g.Ends = append(s.ends[:0], 0)
	prompt, fit, err = g.Append(dst, first, len(messages), limit)
	s.ends = g.Ends
	if err == nil && fit {
		r.note(messages[first:], prompt)
	}
	return prompt, fit, err
}

func isFinal(m *harmony.Message) bool {
	return m.Role == harmony.Assistant && m.Channel.Set && m.Channel.Value == harmony.Final
}

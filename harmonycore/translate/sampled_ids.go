package translate

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// SampledIDs collects the ids with which the model writes an answer, for a client that asks for them with
// [openai.IncludeSampledIDs]. A nil one collects nothing.
type SampledIDs struct {
	// packed has seven bits of an id in each byte, the low ones first. All bytes but an id's last have the eighth bit set.
	packed []byte
}

// plainIDs begins ids that are not sealed. No sealed text has a colon.
const plainIDs = "ids1:"

// KeepSampledIDs makes the answer collect its ids, if the client asks for them and may have them: not in the clear where
// it is shown no reasoning. header is the part of the answer that the prompt ends with.
func (r *Request) KeepSampledIDs(header []uint32) {
	if !r.wantsSampled || r.answers.HideReasoning && r.env.Sealing.Keys == nil {
		return
	}
	r.sampled = &SampledIDs{}
	for _, id := range header {
		r.sampled.Add(id)
	}
}

// SampledIDs returns the collection of the request's answer, or nil.
func (r *Request) SampledIDs() *SampledIDs { return r.sampled }

// Add adds an id.
func (s *SampledIDs) Add(id uint32) { s.packed = appendPacked(s.packed, id) }

func appendPacked(dst []byte, id uint32) []byte {
	for id >= 0x80 {
		dst = append(dst, byte(id)|0x80)
		id >>= 7
	}
	return append(dst, byte(id))
}

// maxPackedID is the maximum length of an id, in bytes. No vocabulary needs more.
const maxPackedID = 3

// appendUnpacked appends packed ids. It reports whether they are whole.
func appendUnpacked(dst []uint32, packed []byte) ([]uint32, bool) {
	id, shift := uint32(0), 0
	for _, c := range packed {
		id |= uint32(c&0x7f) << shift
		if shift += 7; c < 0x80 {
			dst = append(dst, id)
			id, shift = 0, 0
		} else if shift == 7*maxPackedID {
			return dst, false
		}
	}
	return dst, shift == 0
}

// packedCount returns the number of packed ids.
func packedCount(packed []byte) int {
	n := 0
	for _, c := range packed {
		if c < 0x80 {
			n++
		}
	}
	return n
}

// size returns how long the member is at most, in bytes.
func (s *SampledIDs) size() int {
	if s == nil {
		return 0
	}
	return len(s.packed)/3*4 + maxSealing
}

// maxSealing is more than sealing adds to a text, in bytes.
const maxSealing = 256

// member returns the member for the client, as JSON text. For a nil s it is empty.
func (s *SampledIDs) member(r *Sealing, model string, now int64) []byte {
	switch {
	case s == nil:
		return nil
	case r.Keys != nil:
		return r.sealAs(seal.Turn, s.packed, model, now)
	}
	return append(seal.AppendBase64([]byte(`"`+plainIDs), s.packed), '"')
}

// sampledIDs returns the ids of a turn from the member that a client sends back on one of its items. They are no ids at
// all if they were not made here, for this tenant and model, or have expired: then the texts are rendered.
func (b *builder) sampledIDs(member []byte, r *Request) turnIDs {
	sealing := &r.env.Sealing
	var packed []byte
	plain := bytes.HasPrefix(member, []byte(plainIDs))
	switch {
	case plain:
		packed = seal.DecodeBase64(member[len(plainIDs):])
	case sealing.Keys == nil:
		return turnIDs{}
	default:
		opened, form, until, err := sealing.Keys.OpenUntil(member, sealing.bound(r.Model), r.env.Now)
		if err != nil || form != seal.Turn {
			return turnIDs{}
		}
		r.marks.until(until)
		packed = opened
	}
	n := packedCount(packed)
	if n == 0 || n > b.writing.left {
		return turnIDs{}
	}
	ids, whole := appendUnpacked(b.writing.begin(n), packed)
	if !whole {
		return turnIDs{}
	}
	return turnIDs{ids: ids, sealed: !plain}
}

// endTurn uses the ids of a turn whose last item this is.
func (b *builder) endTurn(item *openai.InputItem, r *Request) {
	switch {
	case b.writing.t == nil:
	case item.TokenIDs != nil && r.ids != nil:
		b.writtenAs(b.writing.traced(item.TokenIDs), false)
	case len(item.SampledIDs) > 0:
		b.writtenAs(b.sampledIDs(item.SampledIDs, r), false)
	}
}

package rollout

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
)

// Choice says which Envoys get the new filter. An Envoy that it chooses once is chosen by every later choice of the
// same rollout.
type Choice []Term

// Term chooses the Envoys of a group, or of all groups, whose names have hashes up to a limit. So it also chooses its
// share of Envoys that come later.
type Term struct {
	Group string `json:"group,omitempty"`
	// UpTo is the greatest hash that is chosen.
	UpTo uint32 `json:"up_to"`
}

// hash returns the place of an Envoy's name, which is the same in every control plane.
func hash(id string) uint32 {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint32(sum[:4])
}

// Has reports whether an Envoy is chosen.
func (c Choice) Has(id, group string) bool {
	h := hash(id)
	return slices.ContainsFunc(c, func(t Term) bool { return (t.Group == "" || t.Group == group) && h <= t.UpTo })
}

// with returns a choice that chooses a share of the Envoys of a group, or of all, and whatever c chooses already. If
// the share is less than all, it leaves one out, if there are two or more. It reports false if it chooses none more.
func (c Choice) with(group string, share float64, all []Member) (more Choice, ok bool) {
	if share >= 1 {
		more = append(slices.Clone(c), Term{Group: group, UpTo: math.MaxUint32})
		return more, slices.ContainsFunc(all, func(m Member) bool { return more.Has(m.ID, m.Group) && !c.Has(m.ID, m.Group) })
	}
	hashes, of, chosen := []uint32{}, 0, 0
	seen := map[string]bool{}
	for _, m := range all {
		if group != "" && m.Group != group || seen[m.ID] {
			continue
		}
		seen[m.ID] = true
		of++
		if c.Has(m.ID, m.Group) {
			chosen++
		} else {
			hashes = append(hashes, hash(m.ID))
		}
	}
	want := min(max(1, int(math.Ceil(share*float64(of)))), max(1, of-1))
	if want <= chosen || len(hashes) == 0 {
		return c, false
	}
	slices.Sort(hashes)
	return append(slices.Clone(c), Term{Group: group, UpTo: hashes[want-chosen-1]}), true
}

package proxy

import (
	"hash/fnv"
	"slices"
)

// pickHashed returns the server for requests with this text among those not tried yet, or nil. Servers are ranked by
// hashes of their address and the text, so a server that goes takes only its own texts with it. A server with more than
// its share of the requests is passed over, as by Envoy's bounded load, if the cluster has a bound.
func (c *cluster) pickHashed(text string, tried []*endpoint) *endpoint {
	slots, allOut := c.slots(), c.allOut()
	var best, first *endpoint
	var most, mostOfAll uint64
	for _, e := range c.endpoints {
		if slices.Contains(tried, e) || e.out.Load() && !allOut {
			continue
		}
		rank := rankOf(text, e.Address)
		if first == nil || rank > mostOfAll {
			first, mostOfAll = e, rank
		}
		if (slots == 0 || e.active.Load() <= slots) && (best == nil || rank > most) {
			best, most = e, rank
		}
	}
	if best == nil {
		return first
	}
	return best
}

// slots returns how many requests a server may have before others get its next one, or 0 if there is no bound.
func (c *cluster) slots() int64 {
	if c.MaxLoad == 0 || len(c.endpoints) == 0 {
		return 0
	}
	total := int64(1)
	for _, e := range c.endpoints {
		total += e.active.Load()
	}
	servers := int64(len(c.endpoints))
	return max((total*int64(c.MaxLoad)+100*servers-1)/(100*servers), 1)
}

func rankOf(text, address string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	_, _ = h.Write([]byte(address))
	// The last bytes hardly reach the first bits of this hash, and addresses differ in their last bytes.
	rank := h.Sum64()
	rank = (rank ^ rank>>33) * 0xff51afd7ed558ccd
	return rank ^ rank>>33
}

package picker

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"

	"github.com/harmonyedge/harmonyedge/controlplane/picker/queue"
)

// poolStatus is what is known of a pool at one moment.
type poolStatus struct {
	counts  counts
	servers []serverStatus
	queue   *QueueStatus // nil without a queue
}

// QueueStatus is what is known of a pool's queue at one moment.
type QueueStatus struct {
	Classes []ClassStatus `json:"classes"`
	// TokensPerSecond is how many tokens were admitted in a second of late, by what requests cost.
	TokensPerSecond float64 `json:"tokens_per_second"`
	// Held reports whether the pool has no server that is ready.
	Held bool `json:"held,omitempty"`
}

// ClassStatus is what is known of a class in a queue.
type ClassStatus struct {
	Name     string `json:"name"`
	Requests int    `json:"requests"`
	Tokens   int64  `json:"tokens"`
	Bytes    int64  `json:"bytes"`
	Clients  int    `json:"clients"`
	// OldestMS is how long the oldest request has waited, in milliseconds.
	OldestMS int64 `json:"oldest_ms"`
	// DeadlineMS is how long its requests wait at most while there is a server, in milliseconds.
	DeadlineMS int64 `json:"deadline_ms"`
	// Ended are how many requests have ended how.
	Ended map[string]uint64 `json:"ended"`

	waits waits
}

func (k *queued) status() *QueueStatus {
	s := &QueueStatus{TokensPerSecond: math.Round(k.q.Rate()), Held: !k.emptySince.IsZero()}
	for i, one := range k.q.Stats() {
		c := ClassStatus{Name: k.className(i), Requests: one.Waiting.Requests, Tokens: one.Waiting.Tokens,
			Bytes: one.Waiting.Bytes, Clients: one.Clients, OldestMS: one.Oldest.Milliseconds(),
			DeadlineMS: k.o.Deadlines[min(i, len(k.o.Deadlines)-1)].Milliseconds(), Ended: map[string]uint64{},
			waits: waits{buckets: slices.Clone(k.waits[i].buckets), sum: k.waits[i].sum, count: k.waits[i].count}}
		for _, e := range queue.Endings {
			c.Ended[e.String()] = one.Counts[e]
		}
		s.Classes = append(s.Classes, c)
	}
	return s
}

type serverStatus struct {
	Address string `json:"address"`
	// Running is how many requests it has from here, and Requests how many it says that it has, or null.
	Running  int      `json:"running"`
	Requests *float64 `json:"requests"`
	// Blocks is how many blocks it is taken to have.
	Blocks int `json:"blocks"`
	// Last reports whether it is the last choice: it is not certain that it is there.
	Last bool `json:"last,omitempty"`
}

func (p *Picker) status() map[string]poolStatus {
	p.mu.RLock()
	pools := maps.Clone(p.pools)
	p.mu.RUnlock()
	all := make(map[string]poolStatus, len(pools))
	for name, one := range pools {
		all[name] = one.status(p)
	}
	return all
}

func (p *pool) status(of *Picker) poolStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := poolStatus{counts: p.counts, servers: make([]serverStatus, 0, len(p.servers))}
	for _, one := range p.servers {
		out := serverStatus{Address: one.Address.String(), Running: one.running, Blocks: one.cache.len(),
			Last: one.last(of.now())}
		if one.Requests >= 0 {
			requests := one.Requests
			out.Requests = &requests
		}
		s.servers = append(s.servers, out)
	}
	if p.queued != nil {
		s.queue = p.queued.status()
	}
	return s
}

// serveStatus answers with the pools and their servers as JSON.
func (p *Picker) serveStatus(w http.ResponseWriter, _ *http.Request) {
	type pool struct {
		Name    string         `json:"name"`
		Servers []serverStatus `json:"servers"`
		Queue   *QueueStatus   `json:"queue,omitempty"`
	}
	all := p.status()
	out := struct {
		Pools []pool `json:"pools"`
	}{Pools: []pool{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out.Pools = append(out.Pools, pool{Name: name, Servers: all[name].servers, Queue: all[name].queue})
	}
	w.Header().Set("content-type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(out) // the client has left
}

package picker

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
)

// poolStatus is what is known of a pool at one moment.
type poolStatus struct {
	counts  counts
	servers []serverStatus
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
			Last: one.Doubtful || of.now().Sub(one.suspected) < suspicion}
		if one.Requests >= 0 {
			requests := one.Requests
			out.Requests = &requests
		}
		s.servers = append(s.servers, out)
	}
	return s
}

// serveStatus answers with the pools and their servers as JSON.
func (p *Picker) serveStatus(w http.ResponseWriter, _ *http.Request) {
	type pool struct {
		Name    string         `json:"name"`
		Servers []serverStatus `json:"servers"`
	}
	all := p.status()
	out := struct {
		Pools []pool `json:"pools"`
	}{Pools: []pool{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out.Pools = append(out.Pools, pool{Name: name, Servers: all[name].servers})
	}
	w.Header().Set("content-type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(out) // the client has left
}

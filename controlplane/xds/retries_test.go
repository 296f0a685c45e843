package xds

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestAskedElsewhere: what a server answers before it has begun to work is asked at another one, and counts against the
// first, unless a client can provoke it.
func TestAskedElsewhere(t *testing.T) {
	all, own, busy := []int{401, 403, 404, 503}, []int{404, 503}, []int{503}
	for name, tt := range map[string]struct {
		kind    string
		servers int
		change  func(*config.Model)
		// asked has the statuses of the first route, untranslated of the last one, and faults the statuses that count.
		asked, untranslated, faults []int
	}{
		"one server":    {contract.VLLM, 1, nil, nil, nil, []int{502, 503, 504, 401, 403, 404}},
		"two servers":   {contract.VLLM, 2, nil, all, all, []int{502, 503, 504, 401, 403, 404}},
		"conversations": {contract.Chat, 2, nil, all, busy, []int{502, 503, 504, 401, 403}},
		"clients' keys": {contract.VLLM, 2, func(m *config.Model) { m.ForwardAuthorization = true }, own, own,
			[]int{502, 503, 504, 404}},
		"untranslated": {contract.VLLM, 2, func(m *config.Model) { m.Translate = "50%" }, all, busy,
			[]int{502, 503, 504}},
	} {
		c := config.Default()
		m := config.DefaultModel("m", tt.kind+"=http://127.0.0.1:1")
		m.Servers, m.Pool = nil, "gpus"
		if tt.change != nil {
			tt.change(&m)
		}
		servers := []string{"http://127.0.0.1:1", "http://127.0.0.1:2"}[:tt.servers]
		c.Models, c.Pools = []config.Model{m}, []config.Pool{{Name: "gpus", Kind: tt.kind, Servers: servers}}
		r, err := c.Resolve()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b := newBuilder(r, testOptions)
		var got [][]int
		for _, route := range b.routes().VirtualHosts[0].Routes {
			if route.GetRoute().GetCluster() != PoolCluster(&c.Models[0]) {
				continue
			}
			var statuses []int
			for _, status := range route.GetRoute().GetRetryPolicy().GetRetriableStatusCodes() {
				statuses = append(statuses, int(status))
			}
			got = append(got, statuses)
		}
		if len(got) == 0 || !slices.Equal(got[0], tt.asked) || !slices.Equal(got[len(got)-1], tt.untranslated) {
			t.Errorf("%s: asked elsewhere after %v", name, got)
		}
		if faults := ejectedFor(b.pool(&c.Models[0])); !slices.Equal(faults, tt.faults) {
			t.Errorf("%s: %v count against a server", name, faults)
		}
	}
}

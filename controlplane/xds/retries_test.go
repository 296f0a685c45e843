package xds

import (
	"slices"
	"testing"

	prioritiesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/priority/previous_priorities/v3"

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

// TestBusyAndTries: a server's 429 is asked elsewhere if the operator says so, unless it may be the client's own limit,
// and the attempts are bounded in the pool and in each spare.
func TestBusyAndTries(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*config.Pool, *config.Model)
		busy    bool
		retries uint32
		each    int32
	}{
		"nothing said": {func(*config.Pool, *config.Model) {}, false, 9, 5},
		"busy":         {func(p *config.Pool, _ *config.Model) { p.RetryBusy = true }, true, 9, 5},
		"two tries":    {func(p *config.Pool, _ *config.Model) { p.Tries = 2 }, false, 3, 2},
		"one try":      {func(p *config.Pool, _ *config.Model) { p.Tries = 1 }, false, 1, 1},
		"clients' keys": {func(p *config.Pool, m *config.Model) { p.RetryBusy, m.ForwardAuthorization = true, true }, false,
			9, 5},
	} {
		c := config.Default()
		m := config.DefaultModel("m")
		m.Pool = "gpus"
		c.Pools = []config.Pool{{Name: "gpus", Servers: []string{"http://127.0.0.1:1"}, Spares: []string{"spare"}},
			{Name: "spare", Servers: []string{"http://127.0.0.1:2"}}}
		tt.change(&c.Pools[0], &m)
		c.Models = []config.Model{m}
		r, err := c.Resolve()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		policy := newBuilder(r, testOptions).routes().VirtualHosts[0].Routes[0].GetRoute().GetRetryPolicy()
		each := &prioritiesv3.PreviousPrioritiesConfig{}
		if err := policy.GetRetryPriority().GetTypedConfig().UnmarshalTo(each); err != nil {
			t.Fatal(err)
		}
		busy := slices.Contains(policy.GetRetriableStatusCodes(), 429)
		if busy != tt.busy || policy.GetNumRetries().GetValue() != tt.retries || each.GetUpdateFrequency() != tt.each {
			t.Errorf("%s: busy %v, %d retries, %d in a pool", name, busy, policy.GetNumRetries().GetValue(),
				each.GetUpdateFrequency())
		}
	}
}

// TestRoutesOfBranches: each pool of a model has routes of its own, to its own servers, and only for the header that
// names it.
func TestRoutesOfBranches(t *testing.T) {
	c := config.Default()
	m := config.DefaultModel("m")
	m.Pool, m.Rules = "far", []config.Rule{{Pool: "near", MaxPrompt: 9}, {Pool: "near", MaxPrompt: 99}}
	c.Models = []config.Model{m}
	c.Pools = []config.Pool{{Name: "far", Servers: []string{"http://127.0.0.1:1"}},
		{Name: "near", Servers: []string{"http://127.0.0.1:2"}}}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, one := range newBuilder(r, testOptions).routes().VirtualHosts[0].Routes {
		for _, h := range one.GetMatch().GetHeaders() {
			if value := h.GetStringMatch().GetExact(); h.GetName() == contract.PoolHeader && value != "" {
				got[value] += one.GetRoute().GetCluster()
			}
		}
	}
	if len(got) != 2 || got["m"] != poolPrefix+"far" || got["m to near"] != poolPrefix+"near" {
		t.Errorf("got %v", got)
	}
}

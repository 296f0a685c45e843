package server

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/controlplane/internal/reach"
	"github.com/harmonyedge/harmonyedge/controlplane/load"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// loaded is a server that tells its load.
type loaded struct {
	*httptest.Server
	running atomic.Int64 // negative: it does not tell
	other   atomic.Bool  // it serves another model
}

func newLoaded(t *testing.T, running int64) *loaded {
	t.Helper()
	s := &loaded{}
	s.running.Store(running)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := s.running.Load(); {
		case takesCompletions(w, r):
		case r.URL.Path == "/v1/models" && s.other.Load():
			_, _ = io.WriteString(w, `{"data":[{"id":"other"}]}`)
		case r.URL.Path == "/v1/models":
			_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
		case r.URL.Path == "/metrics" && n >= 0:
			fmt.Fprintf(w, "vllm:num_requests_running %d\nvllm:num_requests_waiting 0\n", n)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// weighingPool is a configuration with a pool of these servers.
func weighingPool(settings string, servers ...*loaded) string {
	text := "models:\n- name: m\n  pool: p\npools:\n- name: p\n" + settings + "  servers:\n"
	for _, s := range servers {
		text += "  - " + s.URL + "\n"
	}
	return text
}

const byLoad = "  load: {weights: true, interval: 500ms}\n"

func weigh(o *testOptions) { o.WeightInterval = 20 * time.Millisecond }

// shown returns a server as the status has it.
func (p *testServer) shown(s *loaded) PoolServer {
	for _, pool := range p.Status().Pools {
		for _, one := range pool.Servers {
			if one.URL == s.URL {
				return one
			}
		}
	}
	return PoolServer{}
}

// sent returns the weight of a server that Envoys get, and 0 without one.
func (p *testServer) sent(s *loaded) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.latest[resource.EndpointType] {
		if w := weightIn(r, s); w > 0 {
			return w
		}
	}
	return 0
}

// weightIn returns the weight of a server in a pool's endpoints, and 0 without one.
func weightIn(r proto.Message, s *loaded) uint32 {
	a, _ := r.(*endpointv3.ClusterLoadAssignment)
	for _, locality := range a.GetEndpoints() {
		for _, e := range locality.GetLbEndpoints() {
			a := e.GetEndpoint().GetAddress().GetSocketAddress()
			if s.URL == fmt.Sprintf("http://%s:%d", a.GetAddress(), a.GetPortValue()) {
				return e.GetLoadBalancingWeight().GetValue()
			}
		}
	}
	return 0
}

// TestWeightsFollowLoads checks that a server with more to do than the others gets a smaller weight, that Envoys have
// it, and that nothing else changes for it: they are current, no version changes, nothing is saved, and no push counts.
func TestWeightsFollowLoads(t *testing.T) {
	all := []*loaded{newLoaded(t, 5), newLoaded(t, 5), newLoaded(t, 5), newLoaded(t, -1)}
	p := start(t, folderWith(t, weighingPool(byLoad, all...)), weigh)
	p.ready()
	e := startEnvoy(t, p.ads, "one")
	eventually(t, "ready, known and weighed", func() bool {
		for _, s := range all[:3] {
			if one := p.shown(s); one.State != pools.Ready || one.Load.Running == nil || one.WeightReason != "" {
				return false
			}
		}
		one := p.shown(all[3])
		return one.State == pools.Ready && one.Load.Problem == "answers 404 to GET /metrics"
	})
	eventually(t, "current", p.current)
	for i, s := range all {
		one := p.shown(s)
		if one.Weight != load.Middle || p.sent(s) != load.Middle || (one.WeightReason != "") != (i == 3) {
			t.Errorf("server %d: %+v, sent %d", i, one, p.sent(s))
		}
	}
	if one := p.shown(all[3]); one.WeightReason != "its load is unknown" || one.Load.Running != nil {
		t.Errorf("a server that does not tell: %+v", one)
	}
	eventually(t, "saved", func() bool { _, err := os.Stat(p.file("state/snapshot.json")); return err == nil })
	before, accepted := p.Status().Snapshot, p.metric("harmony_controlplane_push_to_accept_seconds_count")
	saves := p.metric(`harmony_controlplane_snapshot_saves_total{result="ok"}`)
	all[0].running.Store(80)
	eventually(t, "a smaller weight", func() bool { return p.shown(all[0]).Weight <= 35 && p.sent(all[0]) <= 35 })
	eventually(t, "the same in Envoy", func() bool {
		w := weightIn(e.resource(resource.EndpointType, "harmony-pool-p"), all[0])
		return w > 0 && w <= 35
	})
	one := p.shown(all[0])
	if !strings.HasPrefix(one.WeightReason, "its load is ") ||
		!strings.HasSuffix(one.WeightReason, ", and the middle of the pool 5") {
		t.Errorf("the reason is %q", one.WeightReason)
	}
	if after := p.Status().Snapshot; after.Versions["endpoints"] != before.Versions["endpoints"] ||
		after.Pushed != before.Pushed {
		t.Errorf("the snapshot is %+v, and was %+v", after, before)
	}
	if now := p.metric("harmony_controlplane_push_to_accept_seconds_count"); now != accepted {
		t.Errorf("%s pushes were accepted, and %s before", now, accepted)
	}
	if now := p.metric(`harmony_controlplane_snapshot_saves_total{result="ok"}`); now != saves {
		t.Errorf("%s snapshots are saved, and %s before", now, saves)
	}
	for name, want := range map[string]string{
		`harmony_controlplane_load_known_servers{pool="p"}`: "3", `harmony_controlplane_load_light_servers{pool="p"}`: "1",
		`harmony_controlplane_envoys_current`: "1",
	} {
		if got := p.metric(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if p.metric("harmony_controlplane_weight_pushes_total") == "0" {
		t.Error("no push of weights was counted")
	}
	// A server that is not ready has no weight. The others have some.
	all[1].other.Store(true)
	eventually(t, "not ready", func() bool { return p.shown(all[1]).State == pools.NotReady })
	eventually(t, "no weight", func() bool { return p.shown(all[1]).Weight == 0 && p.sent(all[1]) == 0 })
	if p.sent(all[0]) == 0 || p.sent(all[0]) >= p.sent(all[2]) {
		t.Errorf("the weights are %d and %d", p.sent(all[0]), p.sent(all[2]))
	}
	// Without weights there are none.
	p.write("config.yaml", weighingPool("", all...))
	eventually(t, "no weights", func() bool { return p.sent(all[0]) == 0 && p.shown(all[0]).Weight == 0 })
	if p.shown(all[0]).Load != nil {
		t.Error("nobody asks for the load, and it is shown")
	}
}

// TestNewServersWarm checks that a server that comes to a pool with hashed requests gets few of them at first, and that
// those that were there at the start do not.
func TestNewServersWarm(t *testing.T) {
	a, b, c := newLoaded(t, 0), newLoaded(t, 0), newLoaded(t, 0)
	const settings = "  policy: session\n  session: {header: x-session}\n  slow_start: 2s\n"
	p := start(t, folderWith(t, weighingPool(settings, a, b)), weigh)
	p.ready()
	eventually(t, "ready", func() bool { return p.shown(a).State == pools.Ready && p.shown(b).State == pools.Ready })
	if p.sent(a) != 0 || p.sent(b) != 0 {
		t.Errorf("at the start the weights are %d and %d", p.sent(a), p.sent(b))
	}
	p.write("config.yaml", weighingPool(settings, a, b, c))
	eventually(t, "the new server", func() bool { return p.shown(c).Weight > 0 })
	if first := p.shown(c); first.Weight > 75 || !strings.HasPrefix(first.WeightReason, "it is new: ") ||
		p.shown(a).Weight != load.Middle {
		t.Errorf("the new server: %+v, another: %+v", first, p.shown(a))
	}
	eventually(t, "all alike", func() bool { return p.shown(c).Weight == 0 && p.sent(c) == 0 && p.sent(a) == 0 })
	// One that is loaded anew is as cold as a new one.
	b.other.Store(true)
	eventually(t, "not ready", func() bool { return p.shown(b).State == pools.NotReady })
	b.other.Store(false)
	eventually(t, "ready again, and warming", func() bool { return p.shown(b).Weight > 0 && p.shown(b).Weight < 100 })
	eventually(t, "all alike again", func() bool { return p.sent(b) == 0 && p.sent(a) == 0 })
}

// TestWarmAgain checks which servers that were away begin slowly: servers of a pool with hashed requests that Envoys
// did not reach.
func TestWarmAgain(t *testing.T) {
	c, err := config.Parse("test", []byte("models:\n- {name: m, pool: hashed}\n- {name: n, pool: other}\npools:\n"+
		"- {name: hashed, policy: prefix, slow_start: 30s, servers: ['http://127.0.0.1:1']}\n"+
		"- {name: other, slow_start: 30s, servers: ['http://127.0.0.1:2']}\n"))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	unreachable := func(envoys int) condition {
		return condition{state: Unreachable, envoys: reach.Count{Fail: envoys}}
	}
	for name, tt := range map[string]struct {
		pool        string
		before, now condition
		warms       bool
	}{
		"Envoys did not reach it":            {"hashed", unreachable(1), condition{state: pools.Ready}, true},
		"only the control plane did not":     {"hashed", unreachable(0), condition{state: pools.Ready}, false},
		"nobody reaches it yet":              {"hashed", unreachable(1), unreachable(1), false},
		"it was there":                       {"hashed", condition{state: pools.Ready}, condition{state: pools.Ready}, false},
		"it is new":                          {"hashed", condition{}, condition{state: pools.Ready}, false}, // weigh sees that
		"Envoy itself begins slowly with it": {"other", unreachable(1), condition{state: pools.Ready}, false},
	} {
		s := &Server{}
		s.weighing.since = map[serverKey]time.Time{}
		key := serverKey{pool: tt.pool}
		s.warmAgain(&configuration{Resolved: resolved}, conditions{servers: map[serverKey]condition{key: tt.before}},
			conditions{servers: map[serverKey]condition{key: tt.now}})
		if _, warms := s.weighing.since[key]; warms != tt.warms {
			t.Errorf("%s: warms %t", name, warms)
		}
	}
}

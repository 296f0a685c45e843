package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/controlplane/load"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// drained returns the servers of a cluster that an Envoy sends nothing because they are drained. Each says so to the
// filter, and no other does.
func (e *fakeEnvoy) drained(t *testing.T, cluster string) string {
	t.Helper()
	var all []string
	a, _ := e.resource(resource.EndpointType, cluster).(*endpointv3.ClusterLoadAssignment)
	for _, locality := range a.GetEndpoints() {
		for _, one := range locality.GetLbEndpoints() {
			told := one.GetMetadata().GetFilterMetadata()[contract.MetadataNamespace].GetFields()[contract.DrainingKey]
			drains := one.GetHealthStatus() == corev3.HealthStatus_DRAINING
			if drains != (told.GetStringValue() == contract.IsDraining) {
				t.Errorf("health %s, told %v", one.GetHealthStatus(), told)
			}
			if drains {
				at := one.GetEndpoint().GetAddress().GetSocketAddress()
				all = append(all, fmt.Sprintf("http://%s:%d", at.GetAddress(), at.GetPortValue()))
			}
		}
	}
	return strings.Join(all, " ")
}

// TestDrain: a server that the configuration drains gets no requests, is shown with what it still has to do, and is no
// failure. A pool whose last server is drained is down. Without drain everything is as before.
func TestDrain(t *testing.T) {
	stays, goes := newModelServer(t, 0, 400), newModelServer(t, 0, 400)
	goes.running.Store(8)
	text := twoServers("", stays, goes)
	p, e := startWithEnvoy(t, text)
	one := func(url string) PoolServer {
		for _, pool := range p.Status().Pools {
			for _, s := range pool.Servers {
				if s.URL == url {
					return s
				}
			}
		}
		return PoolServer{}
	}
	is := func(url string, state pools.State) func() bool {
		return func() bool { return one(url).State == state }
	}
	const cluster = "harmony-pool-p"
	eventually(t, "both ready", func() bool { return is(stays.URL, pools.Ready)() && is(goes.URL, pools.Ready)() })
	p.write("config.yaml", text+"  drain: [ "+goes.URL+" ]\n")
	eventually(t, "drained", func() bool { return e.drained(t, cluster) == goes.URL })
	eventually(t, "its requests", func() bool { return one(goes.URL).Reason == "7 requests left" })
	goes.running.Store(2)
	eventually(t, "its last request", func() bool { return one(goes.URL).Reason == "1 request left" })
	goes.status.Store(401) // what is wrong with it does not matter any more
	goes.Close()
	eventually(t, "it is stopped", func() bool { return strings.HasPrefix(one(goes.URL).Reason, "it does not answer: ") })
	s := p.Status().Pools[0]
	if one(goes.URL).State != Draining || one(goes.URL).Load == nil || one(stays.URL).Load != nil || !s.Down.IsZero() ||
		len(s.Warnings) > 0 {
		t.Errorf("got %+v", s)
	}
	for state, want := range map[pools.State]string{Draining: "1", pools.Ready: "1", pools.NotReady: "0", Unreachable: "0"} {
		if got := p.metric(fmt.Sprintf("harmony_controlplane_servers{pool=%q,state=%q}", "p", state)); got != want {
			t.Errorf("%s: %s servers, want %s", state, got, want)
		}
	}
	if p.metric(`harmony_controlplane_pool_up{pool="p"}`) != "1" ||
		p.metric(`harmony_controlplane_refusing_servers{cause="credentials",pool="p"}`) != "0" {
		t.Error("the pool is shown as broken")
	}
	if strings.Contains(p.log.String(), "cannot be reached") {
		t.Errorf("the log calls it unreachable: %s", p.log)
	}
	p.write("config.yaml", text+"  drain: [ "+goes.URL+", "+stays.URL+" ]\n")
	eventually(t, "down", func() bool { return p.metric(`harmony_controlplane_pool_up{pool="p"}`) == "0" })
	p.write("config.yaml", text)
	eventually(t, "no longer drained", func() bool {
		return e.drained(t, cluster) == "" && is(stays.URL, pools.Ready)() && p.Status().Pools[0].Down.IsZero()
	})
}

// TestDrainKeepsRefusing: a server that refuses all requests goes on getting them if the pool has no better one, and
// does not if it is drained.
func TestDrainKeepsRefusing(t *testing.T) {
	first, second := newModelServer(t, 0, 403), newModelServer(t, 0, 403)
	p, e := startWithEnvoy(t, twoServers("", first, second)+"  drain: [ "+second.URL+" ]\n")
	eventually(t, "down", func() bool { return p.metric(`harmony_controlplane_pool_up{pool="p"}`) == "0" })
	eventually(t, "current", p.current)
	if out := e.takenOut("harmony-pool-p"); len(out) != 0 || e.drained(t, "harmony-pool-p") != second.URL {
		t.Errorf("taken out: %v, drained: %s", out, e.drained(t, "harmony-pool-p"))
	}
}

// TestDrainAlone: a program without a control plane takes a drained server out, also one that is ready.
func TestDrainAlone(t *testing.T) {
	ready := func(host string, draining time.Time) pools.Server {
		return pools.Server{Endpoint: config.Endpoint{Host: host, Port: 8000}, State: pools.Ready, Draining: draining}
	}
	out := TakenOut(&config.ResolvedPool{}, pools.PoolState{Servers: []pools.Server{ready("10.0.0.7", time.Now()),
		ready("10.0.0.8", time.Time{})}})
	if !out["10.0.0.7:8000"] || out["10.0.0.8:8000"] {
		t.Errorf("got %v", out)
	}
}

// TestExplainDrain: the status says that a server may be stopped when all Envoys know of it and it has told that it has
// no request, some time after the beginning.
func TestExplainDrain(t *testing.T) {
	now := time.Now()
	begun := now.Add(-time.Minute)
	tells := func(running, waiting int, at time.Time) load.Load {
		return load.Load{Sampled: at, Last: engine.Load{Running: running, Waiting: waiting}, Running: 0.7}
	}
	failing := tells(0, 0, now)
	failing.Problem = "connection refused"
	for want, tt := range map[string]struct {
		load    load.Load
		current bool
		silent  bool
	}{
		"not all Envoys have accepted it yet":                             {tells(0, 0, now), false, false},
		"it does not answer: timeout":                                     {tells(0, 0, now), true, true},
		"how many requests it still has is not known":                     {load.None(), true, false},
		"how many requests it still has is not known: connection refused": {failing, true, false},
		"3 requests left":                                                 {tells(1, 2, now), true, false},
		"1 request left":                                                  {tells(1, -1, now), true, false},
		"no request left so far":                                          {tells(0, 0, begun.Add(2*time.Second)), true, false},
		"no request left: it may be stopped":                              {tells(0, 0, now), true, false},
	} {
		at := now
		if want == "no request left so far" {
			at = begun.Add(3 * time.Second)
		}
		s := pools.Server{Draining: begun, Load: tt.load, Reason: "timeout"}
		if tt.silent {
			s.Silent = begun
		}
		c := condition{state: Draining}
		if c.explainDrain(&s, tt.current, at); c.reason != want {
			t.Errorf("got %q, want %q", c.reason, want)
		}
	}
}

// TestDrainOfNoServer: the status warns of a server that is drained and not in the pool.
func TestDrainOfNoServer(t *testing.T) {
	s := newModelServer(t, 0, 400)
	folder := folderWith(t, "models:\n- {name: m, pool: p}\npools:\n- name: p\n  servers_file: list.yaml\n"+
		"  drain: [ 'http://gone:1' ]\n", "list.yaml", "- "+s.URL+"\n")
	p := start(t, folder)
	eventually(t, "a warning", func() bool {
		all := p.Status().Pools
		return len(all) > 0 && strings.Join(all[0].Warnings, "") == "drain names http://gone:1, which is no server of the pool now"
	})
}

// TestDrainOfServersFile: a server of a file is drained by its URL, as long as the file has it, and from the beginning
// if the file gets it later.
func TestDrainOfServersFile(t *testing.T) {
	stays, goes := newModelServer(t, 0, 400), newModelServer(t, 0, 400)
	both := "- " + stays.URL + "\n- " + goes.URL + "\n"
	folder := folderWith(t, "models:\n- {name: m, pool: p}\npools:\n- name: p\n  servers_file: list.yaml\n"+
		"  drain: [ "+goes.URL+" ]\n", "list.yaml", both)
	p := start(t, folder)
	e := startEnvoy(t, p.ads, "one")
	states := func() string {
		all := ""
		for _, pool := range p.Status().Pools {
			for _, url := range []string{stays.URL, goes.URL} {
				for _, s := range pool.Servers {
					if s.URL == url {
						all += string(s.State) + " "
					}
				}
			}
			all += strings.Join(pool.Warnings, "")
		}
		return all
	}
	const cluster = "harmony-pool-p"
	eventually(t, "drained", func() bool { return e.drained(t, cluster) == goes.URL && states() == "ready draining " })
	p.write("list.yaml", "- "+stays.URL+"\n")
	eventually(t, "gone", func() bool {
		return e.drained(t, cluster) == "" && states() == "ready drain names "+goes.URL+", which is no server of the pool now"
	})
	p.write("list.yaml", both)
	eventually(t, "drained again", func() bool { return e.drained(t, cluster) == goes.URL && states() == "ready draining " })
}

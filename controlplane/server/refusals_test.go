package server

import (
	"fmt"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
)

// takenOut returns the addresses of a cluster's servers that get no requests.
func (e *fakeEnvoy) takenOut(cluster string) map[string]bool {
	out := map[string]bool{}
	a, _ := e.resource(resource.EndpointType, cluster).(*endpointv3.ClusterLoadAssignment)
	for _, locality := range a.GetEndpoints() {
		for _, one := range locality.GetLbEndpoints() {
			if one.GetHealthStatus() == corev3.HealthStatus_UNHEALTHY {
				at := one.GetEndpoint().GetAddress().GetSocketAddress()
				out[fmt.Sprintf("http://%s:%d", at.GetAddress(), at.GetPortValue())] = true
			}
		}
	}
	return out
}

// TestRefusingServers checks that a server that refuses all requests gets none, with every form of pool, and that status,
// metrics and log name it. If no server is better they all get requests, so that clients are told the cause.
func TestRefusingServers(t *testing.T) {
	for name, pool := range map[string]string{
		"vllm": "models:\n- {name: m, pool: p}\npools:\n- name: p\n  servers: [ %s, %s ]\n",
		"chat": "models:\n- {name: m, pool: p}\npools:\n- name: p\n  kind: chat\n  servers: [ %s, %s ]\n",
		"text": "models:\n- {name: m, pool: p}\npools:\n- name: p\n  kind: text\n  accept_text_prompts: true\n" +
			"  servers: [ %s, %s ]\n",
		"short": "models:\n- name: m\n  servers: [ 'vllm=%s', 'vllm=%s' ]\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			well, bad := newModelServer(t, 0, 400), newModelServer(t, 0, 401)
			p, e := startWithEnvoy(t, fmt.Sprintf(pool, well.URL, bad.URL))
			one := "p"
			if name == "short" {
				one = "m"
			}
			cluster := "harmony-pool-" + one
			metric := func(name string, labels ...string) string {
				return p.metric(fmt.Sprintf("harmony_controlplane_%s{%spool=%q}", name, strings.Join(labels, ""), one))
			}
			eventually(t, "one is taken out", func() bool {
				out := e.takenOut(cluster)
				return out[bad.URL] && !out[well.URL]
			})
			s := p.Status().Pools[0]
			if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "1 of 2 servers refuse all requests: "+bad.URL+
				" answers 401 to POST /v1/") || !s.Down.IsZero() {
				t.Errorf("got %q, down %v", s.Warnings, s.Down)
			}
			if metric("refusing_servers", `cause="credentials",`) != "1" || metric("refusing_servers", `cause="path",`) != "0" ||
				metric("pool_up") != "1" {
				t.Error("the metrics differ")
			}
			if !strings.Contains(p.log.String(), "a server refuses its pool's authorization") {
				t.Errorf("the log is\n%s", p.log)
			}
			bad.status.Store(404)
			eventually(t, "another cause", func() bool { return metric("refusing_servers", `cause="path",`) == "1" })
			bad.status.Store(400)
			eventually(t, "both serve", func() bool { return len(e.takenOut(cluster)) == 0 })
			if s := p.Status().Pools[0]; len(s.Warnings) != 0 {
				t.Errorf("got %q", s.Warnings)
			}
		})
	}
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		first, second := newModelServer(t, 0, 403), newModelServer(t, 0, 403)
		p, e := startWithEnvoy(t, twoServers("", first, second))
		eventually(t, "down", func() bool {
			return p.metric(`harmony_controlplane_pool_up{pool="p"}`) == "0" &&
				p.metric(`harmony_controlplane_refusing_servers{cause="credentials",pool="p"}`) == "2"
		})
		eventually(t, "current", p.current)
		if out := e.takenOut("harmony-pool-p"); len(out) != 0 {
			t.Errorf("taken out: %v", out)
		}
		for _, s := range p.Status().Pools[0].Servers {
			if s.State != pools.NotReady || s.Refusal != pools.RefusesKey {
				t.Errorf("got %+v", s)
			}
		}
	})
	t.Run("all, with a spare", func(t *testing.T) {
		t.Parallel()
		bad, well := newModelServer(t, 0, 403), newModelServer(t, 0, 400)
		_, e := startWithEnvoy(t, fmt.Sprintf("models:\n- {name: m, pool: p}\npools:\n- name: p\n  servers: [ %s ]\n"+
			"  spares: [q]\n- name: q\n  servers: [ %s ]\n", bad.URL, well.URL))
		eventually(t, "taken out", func() bool {
			out := e.takenOut("harmony-pool-p")
			return out[bad.URL] && !out[well.URL]
		})
	})
}

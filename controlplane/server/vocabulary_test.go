package server

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/sim"
)

// health returns the health status that an Envoy holds for the only server of a cluster.
func (e *fakeEnvoy) health(t *testing.T, cluster string) corev3.HealthStatus {
	t.Helper()
	a, ok := e.resource(resource.EndpointType, cluster).(*endpointv3.ClusterLoadAssignment)
	if !ok || len(a.GetEndpoints()) != 1 || len(a.GetEndpoints()[0].GetLbEndpoints()) != 1 {
		t.Fatalf("%s has not one server: %v", cluster, a)
	}
	return a.GetEndpoints()[0].GetLbEndpoints()[0].GetHealthStatus()
}

// TestOtherVocabulary checks that a server with another vocabulary is taken out of its pool, and that status, metrics
// and log say why.
func TestOtherVocabulary(t *testing.T) {
	engine := sim.New(sim.Options{Models: []string{"m"}, OtherVocabulary: true})
	t.Cleanup(engine.Close)
	url, err := engine.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, e := startWithEnvoy(t, oneModel(url))
	eventually(t, "down", func() bool { return p.metric(`harmony_controlplane_pool_up{pool="p"}`) == "0" })
	eventually(t, "current", p.current)
	eventually(t, "taken out", func() bool { return e.health(t, "harmony-pool-p") == corev3.HealthStatus_UNHEALTHY })
	s := p.Status().Pools[0].Servers[0]
	if s.State != pools.NotReady || !strings.HasPrefix(s.Reason, `other vocabulary: "Hello, world!" has the ids [`) ||
		s.Vocabulary != pools.OtherVocabulary || s.Program != "vLLM "+sim.Version || s.Context != sim.DefaultMaxModelLen {
		t.Errorf("status %+v", s)
	}
	if n := p.metric(`harmony_controlplane_other_vocabulary_servers{pool="p"}`); n != "1" {
		t.Errorf("the metric is %q", n)
	}
	for _, want := range []string{
		`level=WARN msg="a server's readiness has changed" pool=p`, `state=not_ready reason="other vocabulary: `,
		`msg="a server has been identified" pool=p`,
	} {
		if !strings.Contains(p.log.String(), want) {
			t.Errorf("no %s in the log:\n%s", want, p.log)
		}
	}
}

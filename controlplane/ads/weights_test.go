package ads

import (
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// weighing returns the resources of two pools, of which the first has an endpoint with a weight.
func weighing(t *testing.T, port, weight uint32) Resources {
	t.Helper()
	r := testResources(t, 1, "a", "b")
	a := endpoint("a", port)
	if weight > 0 {
		a.Endpoints[0].LbEndpoints[0].LoadBalancingWeight = wrapperspb.UInt32(weight)
	}
	r[resource.EndpointType] = []types.Resource{a, r[resource.EndpointType][1]}
	return r
}

// TestWeights checks that weights are sent, and that nothing else shows it. The Envoy is current before it has accepted
// them. No version changes. Its answer is not reported.
func TestWeights(t *testing.T) {
	answers := make(chan Answer, 100)
	s := New(Options{Answered: func(a Answer) { answers <- a }})
	set(t, s, weighing(t, 1, 0))
	c := connect(t, serve(t, s), "one")
	c.start(weighing(t, 1, 0))
	eventually(t, s, "current", current(1))
	for len(answers) > 0 {
		<-answers
	}
	before, sent := s.Versions(), s.Counts()["endpoints"].Sent
	for _, weight := range []uint32{100, 50, 0, 71} {
		if changed, err := s.Set(weighing(t, 1, weight)); err != nil || changed {
			t.Fatalf("the weight %d: changed %v, %v", weight, changed, err)
		}
		if changed, err := s.Set(weighing(t, 1, weight)); err != nil || changed {
			t.Fatalf("the weight %d again: changed %v, %v", weight, changed, err)
		}
		answer := c.receive(resource.EndpointType)
		a := &endpointv3.ClusterLoadAssignment{}
		if err := answer.GetResources()[0].GetResource().UnmarshalTo(a); err != nil {
			t.Fatal(err)
		}
		if got := a.Endpoints[0].LbEndpoints[0].GetLoadBalancingWeight().GetValue(); got != weight ||
			len(answer.GetResources()) != 1 {
			t.Errorf("sent the weight %d, want %d", got, weight)
		}
		if e := s.Envoys()[0]; !e.Current || !e.Types["endpoints"].Current {
			t.Errorf("not current before the weight %d is accepted: %+v", weight, e)
		}
		c.ack(answer)
	}
	c.expectNothing()
	if after := s.Versions(); after["endpoints"] != before["endpoints"] {
		t.Errorf("the version is %s, and was %s", after["endpoints"], before["endpoints"])
	}
	if n := s.Counts()["endpoints"].Sent - sent; n != 4 {
		t.Errorf("%d responses for 4 weights", n)
	}
	if a := <-answers; a.Type != "runtime" || len(answers) > 0 {
		t.Errorf("an answer to weights: %+v", a)
	}
	// A change of servers is a change, with weights or without.
	set(t, s, weighing(t, 2, 71))
	answer := c.receive(resource.EndpointType)
	if s.Envoys()[0].Current {
		t.Error("current before another server is accepted")
	}
	c.ack(answer)
	eventually(t, s, "current", current(1))
	if a := <-answers; a.Type != "endpoints" {
		t.Errorf("got %+v", a)
	}
}

// TestRefusedWeights checks that a refusal of weights shows, and ends with the next ones.
func TestRefusedWeights(t *testing.T) {
	s, address := serveResources(t, weighing(t, 1, 100))
	c := connect(t, address, "one")
	c.start(weighing(t, 1, 100))
	eventually(t, s, "current", current(1))
	if _, err := s.Set(weighing(t, 1, 50)); err != nil {
		t.Fatal(err)
	}
	c.nack(c.receive(resource.EndpointType), "too light")
	eventually(t, s, "refused", func(all []Envoy) bool { return all[0].Types["endpoints"].Refused != "" && all[0].Current })
	c.expectNothing()
	if _, err := s.Set(weighing(t, 1, 71)); err != nil {
		t.Fatal(err)
	}
	c.expectAndAck(resource.EndpointType, "a")
	eventually(t, s, "accepted", func(all []Envoy) bool { return all[0].Types["endpoints"].Refused == "" })
}

// TestWeightsOfRefusedEndpoints checks that endpoints that an Envoy refuses are not sent again for other weights.
func TestWeightsOfRefusedEndpoints(t *testing.T) {
	s, address := serveResources(t, weighing(t, 1, 100))
	c := connect(t, address, "one")
	c.start(weighing(t, 1, 100))
	eventually(t, s, "current", current(1))
	set(t, s, weighing(t, 99999, 100))
	c.nack(c.receive(resource.EndpointType), "no such port")
	eventually(t, s, "refused", func(all []Envoy) bool { return all[0].Types["endpoints"].Refused != "" })
	for _, weight := range []uint32{50, 71} {
		if _, err := s.Set(weighing(t, 99999, weight)); err != nil {
			t.Fatal(err)
		}
	}
	c.expectNothing()
	if e := s.Envoys()[0]; e.Current || e.Types["endpoints"].Refused == "" {
		t.Errorf("got %+v", e)
	}
	set(t, s, weighing(t, 2, 71))
	c.expectAndAck(resource.EndpointType, "a")
	eventually(t, s, "current", current(1))
}

// TestWeightsAfterReconnect checks that an Envoy that holds other weights is sent the present ones, and is current.
func TestWeightsAfterReconnect(t *testing.T) {
	earlier, err := newSnapshot(weighing(t, 1, 100), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, address := serveResources(t, weighing(t, 1, 50))
	c := connect(t, address, "one")
	held := map[string]string{}
	for name, r := range earlier[resource.EndpointType].resources {
		held[name] = r.GetVersion()
	}
	if !strings.Contains(held["a"], weightsMark) || strings.Contains(held["b"], weightsMark) {
		t.Fatalf("versions %v", held)
	}
	c.send(&discovery.DeltaDiscoveryRequest{TypeUrl: resource.EndpointType, InitialResourceVersions: held,
		ResourceNamesSubscribe: []string{"a", "b"}})
	answer := c.receive(resource.EndpointType)
	if len(answer.GetResources()) != 1 || answer.GetResources()[0].GetName() != "a" {
		t.Errorf("sent %v", answer.GetResources())
	}
	if !s.Envoys()[0].Types["endpoints"].Current {
		t.Error("the Envoy is not current")
	}
}

// TestReused checks that what was set before is not marshalled again, and that what is new is checked.
func TestReused(t *testing.T) {
	r := weighing(t, 1, 100)
	first, err := newSnapshot(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	next := Resources{}
	for typ, all := range r {
		next[typ] = all
	}
	next[resource.EndpointType] = []types.Resource{weighing(t, 1, 50)[resource.EndpointType][0],
		r[resource.EndpointType][1]}
	second, err := newSnapshot(next, first)
	if err != nil {
		t.Fatal(err)
	}
	e := resource.EndpointType
	if second[resource.ClusterType] != first[resource.ClusterType] || second[e].resources["b"] != first[e].resources["b"] ||
		second[e].resources["a"].GetVersion() == first[e].resources["a"].GetVersion() {
		t.Error("something was made again, or was not")
	}
	next[resource.EndpointType] = []types.Resource{r[resource.EndpointType][0]}
	if _, err := newSnapshot(next, first); err == nil {
		t.Error("endpoints are missing, and there is no error")
	}
}

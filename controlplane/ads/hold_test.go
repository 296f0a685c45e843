package ads

import (
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

const (
	// shortHold ends while a test waits for it, and longHold does not.
	shortHold = 30 * time.Millisecond
	longHold  = time.Hour
)

// holding serves the clusters a and b to an Envoy that has accepted them, and then a alone.
func holding(t *testing.T, hold time.Duration) (s *Server, address string, c *client) {
	t.Helper()
	s = New(Options{HoldRemovals: hold})
	r := testResources(t, 1, "a", "b")
	set(t, s, r)
	address = serve(t, s)
	c = connect(t, address, "one")
	c.start(r)
	eventually(t, s, "current", current(1))
	set(t, s, testResources(t, 1, "a"))
	return s, address, c
}

// onlyStream returns the stream of the only Envoy. The caller holds the server's mutex.
func onlyStream(s *Server) *stream {
	for st := range s.streams {
		return st
	}
	return nil
}

// TestARemovedClusterStaysForAWhile checks that a cluster is removed no earlier than the time after the Envoy has
// accepted that nothing refers to it.
func TestARemovedClusterStaysForAWhile(t *testing.T) {
	s, _, c := holding(t, shortHold)
	route := c.receive(resource.RouteType)
	began := time.Now()
	c.ack(route)
	c.expectAndAck(resource.ClusterType, "-b")
	if took := time.Since(began); took < shortHold {
		t.Errorf("removed after %v", took)
	}
	eventually(t, s, "current", current(1))
	c.expectNothing()
}

// TestAnEnvoyIsCurrentWhileARemovalIsHeld checks the Envoy's state, and that other clusters do not wait for the removal.
func TestAnEnvoyIsCurrentWhileARemovalIsHeld(t *testing.T) {
	s, _, c := holding(t, longHold)
	if e := s.Envoys()[0]; e.Current {
		t.Error("current before the route is accepted")
	}
	c.expectAndAck(resource.RouteType, "r")
	eventually(t, s, "current", current(1))
	for typ, version := range s.Versions() {
		if state := s.Envoys()[0].Types[typ]; !state.Current || state.Version != version {
			t.Errorf("%s: %+v, want %s", typ, state, version)
		}
	}
	r := testResources(t, 1, "a", "c")
	set(t, s, r)
	c.expectAndAck(resource.ClusterType, "c")
	c.expectAndAck(resource.RouteType, "r")
	c.subscribe(resource.EndpointType, "c")
	c.expectAndAck(resource.EndpointType, "c")
	eventually(t, s, "current", current(1))
	c.expectNothing()
}

// TestAClusterThatComesBackIsNotRemoved checks that nothing is removed when the time of a removal is over that was taken
// back.
func TestAClusterThatComesBackIsNotRemoved(t *testing.T) {
	s, _, c := holding(t, longHold)
	c.expectAndAck(resource.RouteType, "r")
	eventually(t, s, "current", current(1))
	set(t, s, testResources(t, 1, "a", "b"))
	c.expectAndAck(resource.RouteType, "r")
	eventually(t, s, "current", current(1))
	s.mu.Lock()
	st := onlyStream(s)
	if clusters := st.types[resource.ClusterType]; clusters.holds || !st.unreferenced.IsZero() {
		t.Error("the removal is still held")
	}
	st.push() // as when the time is over
	s.mu.Unlock()
	c.expectNothing()
}

// TestAHeldRemovalOfAnEnvoyThatHasGone checks that the next stream of an Envoy gets a removal that the stream before did
// not, and that it has the time anew: the Envoy may use the cluster until it has accepted what does not refer to it.
func TestAHeldRemovalOfAnEnvoyThatHasGone(t *testing.T) {
	s, address, c := holding(t, shortHold)
	held := map[string]string{"a": "an old version", "b": "an old version"}
	c.close()
	eventually(t, s, "gone", func(all []Envoy) bool { return len(all) == 0 })

	c = connect(t, address, "one")
	c.subscribe(resource.ListenerType)
	c.expectAndAck(resource.ListenerType, "l")
	c.send(&discovery.DeltaDiscoveryRequest{TypeUrl: resource.RouteType, ResourceNamesSubscribe: []string{"r"}})
	route := c.receive(resource.RouteType)
	c.send(&discovery.DeltaDiscoveryRequest{TypeUrl: resource.ClusterType, InitialResourceVersions: held})
	c.expectAndAck(resource.ClusterType, "a")
	began := time.Now()
	c.ack(route)
	c.expectAndAck(resource.ClusterType, "-b")
	if took := time.Since(began); took < shortHold {
		t.Errorf("removed after %v", took)
	}
}

// TestAHeldRemovalWaitsForWhatMayReferToIt checks that the time begins again when the Envoy has something to accept.
func TestAHeldRemovalWaitsForWhatMayReferToIt(t *testing.T) {
	s := New(Options{HoldRemovals: shortHold})
	set(t, s, testResources(t, 1, "a"))
	c := connect(t, serve(t, s), "one")
	// An Envoy that comes from another control plane asks for its clusters first.
	c.send(&discovery.DeltaDiscoveryRequest{TypeUrl: resource.ClusterType,
		InitialResourceVersions: map[string]string{"a": "an old version", "b": "an old version"}})
	clusters := c.receive(resource.ClusterType)
	c.subscribe(resource.ListenerType)
	listeners := c.receive(resource.ListenerType)
	c.ack(clusters) // the time would begin here
	over := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		st := onlyStream(s)
		return len(st.types[resource.ClusterType].unanswered) == 0 &&
			(st.unreferenced.IsZero() || time.Since(st.unreferenced) > shortHold)
	}
	for end := time.Now().Add(testTimeout); !over(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the clusters are not accepted")
		}
	}
	began := time.Now()
	c.ack(listeners)
	c.expectAndAck(resource.ClusterType, "-b")
	if took := time.Since(began); took < shortHold {
		t.Errorf("removed after %v", took)
	}
}

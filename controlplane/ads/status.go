package ads

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// Envoy is the state of one connected Envoy.
type Envoy struct {
	ID      string `json:"id"`
	Cluster string `json:"cluster"`
	// Version is the version of Envoy itself, such as 1.40.0.
	Version string `json:"version"`
	// Group is the group that the Envoy's bootstrap names. It is empty without one.
	Group string `json:"group,omitempty"`
	// Chosen reports whether the Envoy is to get the other resources of a [Split].
	Chosen    bool      `json:"chosen,omitempty"`
	Address   string    `json:"address"`
	Connected time.Time `json:"connected"`
	// Types has the state of each type that the Envoy has asked for, by the type's short name (see [Types]).
	Types map[string]TypeState `json:"types"`
	// Current reports whether the Envoy has accepted everything that every Envoy should have now.
	Current bool `json:"current"`
}

// TypeState is what an Envoy has accepted and refused of the resources of one type.
type TypeState struct {
	// Version is the last version of which the Envoy held all resources. "" means none.
	Version string `json:"version"`
	// Wanted is the version that the Envoy should have.
	Wanted string `json:"-"`
	// Current reports whether the Envoy holds all resources of the present version.
	Current bool `json:"current"`
	// Refused is the version that was refused last. It is "" if no refused resource is still one that the Envoy should
	// have.
	Refused string `json:"refused,omitempty"`
	// Resources are the names of the refused resources. Each was refused in a separate response.
	Resources []string `json:"resources,omitempty"`
	// Error is the text with which Envoy refused them.
	Error string `json:"error,omitempty"`
	// Refusals is how many responses the Envoy has refused since it connected.
	Refusals int `json:"refusals"`
	// Acknowledged is when the Envoy last accepted a response. It is zero if nothing had to be sent.
	Acknowledged time.Time `json:"acknowledged,omitzero"`
}

// Envoys returns the state of all connected Envoys, sorted by id and address.
func (s *Server) Envoys() []Envoy {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Envoy, 0, len(s.streams))
	for st := range s.streams {
		if st.node != nil {
			all = append(all, st.state())
		}
	}
	slices.SortFunc(all, func(a, b Envoy) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Address, b.Address))
	})
	return all
}

func (st *stream) state() Envoy {
	e := Envoy{
		ID: st.node.GetId(), Cluster: st.node.GetCluster(), Version: version(st.node), Group: group(st.node),
		Chosen: st.chosen, Address: st.address,
		Connected: st.connected, Types: make(map[string]TypeState, len(st.types)), Current: st.server.snapshot != nil,
	}
	for t, s := range st.types {
		e.Types[shortNames[t]] = s.state(st.collection(t))
	}
	for t := range st.server.snapshot {
		c := st.collection(t)
		if s := st.types[t]; s == nil && requiredByAll(t) && c.version != "" || s != nil && !s.hasAll(c) {
			e.Current = false
		}
	}
	return e
}

func (s *subscription) state(c *collection) TypeState {
	t := TypeState{Version: s.version, Current: c != nil &&
		s.hasAll(c), Refusals: s.refusals, Acknowledged: s.acknowledged}
	if c != nil {
		t.Wanted = c.version
	}
	if t.Current {
		t.Version = c.version
	}
	if s.hasRefusals() {
		t.Refused, t.Error, t.Resources = s.refusal, s.errorText, slices.Sorted(maps.Keys(s.refused))
	}
	return t
}

func version(n *corev3.Node) string {
	v := n.GetUserAgentBuildVersion().GetVersion()
	if v == nil {
		return n.GetUserAgentVersion()
	}
	return fmt.Sprintf("%d.%d.%d", v.GetMajorNumber(), v.GetMinorNumber(), v.GetPatch())
}

// Refuses reports whether the Envoy has refused something that it should still have.
func (e *Envoy) Refuses() bool {
	for _, t := range e.Types {
		if t.Refused != "" {
			return true
		}
	}
	return false
}

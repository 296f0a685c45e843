package ads

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// unknown is a version that no resource has: what Envoy holds then is not known, and it is sent again.
const unknown = "?"

// subscription is what one Envoy wants of one type, what it has been sent, and what it has said to that.
//
// Delta ADS leaves four things to the server, and go-control-plane's own cache (v0.14) does none of them:
//   - A response is refused as a whole, however much of it Envoy has already taken, and the rest of it may not have been
//     looked at. So what was refused together is sent once more, each resource by itself; one that is refused by itself
//     is left alone until it changes.
//   - A name that is subscribed to again must be sent again, even if its version is the same: Envoy has forgotten it.
//   - Envoy waits for the endpoints of a cluster that has changed, but does not ask for them again.
//   - An extension's configuration that Envoy has refused must not come again as it was: see vary.
type subscription struct {
	typ      resource.Type
	watch    *watch // open when a response may be sent, else nil
	greet    bool   // the first request of a wildcard is answered even if there is nothing: Envoy's start waits for it
	wildcard bool
	names    map[string]struct{}

	sent     map[string]string // by name, the version sent last, whatever became of it
	accepted map[string]string // by name, the version that Envoy holds
	refused  map[string]string // by name, the version that Envoy has refused by itself; "" is its removal
	alone    map[string]bool   // names that must be sent by themselves
	flights  []*flight         // responses that Envoy has not answered
	variant  uint32            // that extensions are sent in: no other stream's, and another after each refusal

	version      string // last one of which Envoy held everything
	acknowledged time.Time
	refusal      string // version of the response refused last
	words        string // what Envoy said to it
	refusals     int
}

// watch is the library's wish to be told the next response.
type watch struct {
	request   *cache.DeltaRequest
	responses chan<- cache.DeltaResponse
}

// flight is a response on its way. Its nonce is in the response once the library has sent it.
type flight struct {
	response *discovery.DeltaDiscoveryResponse
	of       *collection
	versions map[string]string // by name, "" for removed
}

func newSubscription(t resource.Type, held map[string]string) *subscription {
	return &subscription{
		typ: t, sent: copied(held), accepted: copied(held), refused: map[string]string{}, alone: map[string]bool{},
		variant: rand.Uint32(),
	}
}

func copied(m map[string]string) map[string]string {
	c := make(map[string]string, len(m))
	maps.Copy(c, m)
	return c
}

// want takes over what a request says that Envoy wants. again are names that it asks for though it may hold them.
func (s *subscription) want(sub cache.Subscription, again []string) {
	s.wildcard = sub.IsWildcard()
	s.names = maps.Clone(sub.SubscribedResources()) // the library changes its map with the next request
	for _, name := range again {
		if name != "*" {
			s.sent[name] = unknown
		}
	}
	if s.wildcard {
		return
	}
	gone := func(name string) bool { _, ok := s.names[name]; return !ok }
	for _, m := range []map[string]string{s.sent, s.accepted, s.refused} {
		maps.DeleteFunc(m, func(name, _ string) bool { return gone(name) })
	}
	maps.DeleteFunc(s.alone, func(name string, _ bool) bool { return gone(name) })
}

// pending are the names to be sent now, in order: changed since they were sent, and, of a wildcard, removed.
func (s *subscription) pending(c *collection, hold holds) []string {
	var names []string
	for name, r := range c.resources {
		if _, named := s.names[name]; !named && !s.wildcard || s.sent[name] == r.GetVersion() {
			continue
		}
		if _, update := s.accepted[name]; update && hold.updates {
			continue
		}
		names = append(names, name)
	}
	// A resource asked for by name ends with what refers to it: until Envoy lets go of it, the last one is better than none.
	if s.wildcard && !hold.removals {
		for name := range s.sent {
			if c.resources[name] == nil {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	together := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return s.alone[name] })
	if len(together) == 0 && len(names) > 0 {
		return names[:1]
	}
	return together
}

// holds say what has to wait for another type.
type holds struct{ updates, removals bool }

// next is the response to be sent now, nil when there is nothing to say.
func (s *subscription) next(c *collection, hold holds) *flight {
	names := s.pending(c, hold)
	if len(names) == 0 && !s.greet {
		return nil
	}
	s.greet = false
	f := &flight{
		response: &discovery.DeltaDiscoveryResponse{TypeUrl: s.typ, SystemVersionInfo: c.version},
		of:       c, versions: make(map[string]string, len(names)),
	}
	for _, name := range names {
		r := c.resources[name]
		f.versions[name] = r.GetVersion()
		if r == nil {
			f.response.RemovedResources = append(f.response.RemovedResources, name)
			delete(s.sent, name)
			continue
		}
		f.response.Resources = append(f.response.Resources, r)
		s.sent[name] = r.GetVersion()
	}
	s.flights = append(s.flights, f)
	return f
}

// answered takes the response that a request answers out of those on their way; nil when it answers none.
func (s *subscription) answered(nonce string) *flight {
	if nonce == "" {
		return nil
	}
	i := slices.IndexFunc(s.flights, func(f *flight) bool { return f.response.GetNonce() == nonce })
	if i < 0 {
		return nil
	}
	f := s.flights[i]
	s.flights = slices.Delete(s.flights, i, i+1)
	return f
}

func (s *subscription) accept(f *flight, now time.Time) {
	for name, version := range f.versions {
		s.accepted[name] = version
		if version == "" {
			delete(s.accepted, name)
		}
		delete(s.refused, name)
		delete(s.alone, name)
	}
	s.acknowledged = now
	s.reach(f.of)
}

func (s *subscription) refuse(f *flight, words string) {
	s.refusals++
	s.variant++
	s.refusal, s.words = f.of.version, words
	for name, version := range f.versions {
		if len(f.versions) == 1 {
			s.refused[name] = version
			continue
		}
		s.alone[name] = true
		s.sent[name] = unknown
		if _, held := s.accepted[name]; held {
			s.accepted[name] = unknown
		}
	}
}

// forget drops refusals of resources that are no more.
func (s *subscription) forget(c *collection) {
	maps.DeleteFunc(s.refused, func(name, version string) bool { return version != "" && c.resources[name] == nil })
	if !s.wildcard {
		maps.DeleteFunc(s.alone, func(name string, _ bool) bool { return c.resources[name] == nil })
	}
}

// reach notes that everything of a collection is held, if it is.
func (s *subscription) reach(c *collection) {
	if s.holds(c) {
		s.version = c.version
	}
}

// holds reports whether Envoy has accepted everything of a collection that it is to have, and holds nothing removed.
func (s *subscription) holds(c *collection) bool {
	if s.wildcard && len(s.accepted) != len(c.resources) {
		return false
	}
	for name, r := range c.resources {
		_, named := s.names[name]
		if (named || wanted(s.typ)) && s.accepted[name] != r.GetVersion() {
			return false
		}
	}
	return true
}

// wanted reports whether every Envoy is to have all resources of a type: listeners and clusters by wildcard, and what
// they refer to. Of the others it has those that it asks for.
func wanted(t resource.Type) bool {
	switch t {
	case resource.ListenerType, resource.ClusterType, resource.RouteType, resource.EndpointType:
		return true
	default:
		return false
	}
}

// stands reports whether something of what Envoy has refused is still what it is to have.
func (s *subscription) stands() bool { return len(s.refused)+len(s.alone) > 0 }

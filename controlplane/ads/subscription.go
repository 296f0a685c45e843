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

// unknownVersion is a version that no resource has. It means that what Envoy holds is not known, so the resource is
// sent again.
const unknownVersion = "?"

// subscription is one Envoy's subscription to one type of resources: what it requests, what was sent, and its answers.
//
// Delta ADS leaves four tasks to the server. go-control-plane's own cache (v0.14) does not do them (RATIONALE.md#88):
//
//   - Envoy refuses a response as a whole. It may have taken some of the resources already, and not have read others.
//     So resources that were refused together are sent once more, each in a separate response. A resource that is
//     refused alone is not sent again until it changes.
//   - A name that is subscribed to again must be sent again, even with the same version, because Envoy has dropped it.
//   - Envoy waits for the endpoints of a cluster that has changed, but does not request them again.
//   - An extension's configuration that Envoy has refused must not be sent again unchanged: see vary.
type subscription struct {
	typ            resource.Type
	watch          *watch // set while a response may be sent
	firstAnswerDue bool   // an empty response is due: Envoy's start waits for the first answer to a wildcard
	wildcard       bool
	names          map[string]struct{}

	sent       map[string]string // by name, the version sent last, accepted or not
	accepted   map[string]string // by name, the version that Envoy holds
	holds      bool              // what was removed stays for now
	refused    map[string]string // by name, the version that Envoy has refused alone; "" is its removal
	separate   map[string]bool   // names that must be sent in a response of their own
	unanswered []*response       // responses that Envoy has not answered
	variant    uint32            // for Options.Vary: no other stream has it, and each refusal changes it

	version      string // the last version of which Envoy held all resources
	acknowledged time.Time
	refusal      string // the version of the response refused last
	errorText    string // the text with which Envoy refused it
	refusals     int
}

// watch is the library's request for the next response.
type watch struct {
	request   *cache.DeltaRequest
	responses chan<- cache.DeltaResponse
}

// response is a response that Envoy has not answered yet. The library writes the nonce into the response when it sends
// it.
type response struct {
	response   *discovery.DeltaDiscoveryResponse
	collection *collection
	versions   map[string]string // by name; "" means removed
	weights    bool              // it changes weights alone
	sent       time.Time
}

func newSubscription(t resource.Type, held map[string]string) *subscription {
	return &subscription{
		typ: t, sent: copied(held), accepted: copied(held), refused: map[string]string{}, separate: map[string]bool{},
		variant: rand.Uint32(),
	}
}

func copied(m map[string]string) map[string]string {
	c := make(map[string]string, len(m))
	maps.Copy(c, m)
	return c
}

// subscribe updates the names that Envoy subscribes to. resend are names that a request mentions, and that must be sent
// again although Envoy may hold them.
func (s *subscription) subscribe(sub cache.Subscription, resend []string) {
	s.wildcard = sub.IsWildcard()
	s.names = maps.Clone(sub.SubscribedResources()) // the library changes its map at the next request
	for _, name := range resend {
		if name != "*" {
			s.sent[name] = unknownVersion
		}
	}
	if s.wildcard {
		return
	}
	dropped := func(name string) bool { _, ok := s.names[name]; return !ok }
	for _, m := range []map[string]string{s.sent, s.accepted, s.refused} {
		maps.DeleteFunc(m, func(name, _ string) bool { return dropped(name) })
	}
	maps.DeleteFunc(s.separate, func(name string, _ bool) bool { return dropped(name) })
}

// pending returns the names to send now, sorted: those that have changed since they were sent and, for a wildcard,
// those that were removed.
func (s *subscription) pending(c *collection, wait deferrals) []string {
	var names []string
	for name, r := range c.resources {
		if _, named := s.names[name]; !named && !s.wildcard || s.sent[name] == r.GetVersion() {
			continue
		}
		held, update := s.accepted[name]
		if update && wait.updates {
			continue
		}
		if no, refused := s.refused[name]; refused && onlyWeigh(no, r.GetVersion()) && meaning(held) != meaning(no) {
			continue // it was not refused for its weights, so others do not mend it
		}
		names = append(names, name)
	}
	// Envoy drops a resource that it has asked for by name when nothing refers to it any more. Until then the last version
	// is better than none, so a removal is sent only for a wildcard.
	if s.wildcard && !wait.removals {
		for name := range s.sent {
			if c.resources[name] == nil {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	batch := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return s.separate[name] })
	if len(batch) == 0 && len(names) > 0 {
		return names[:1]
	}
	return batch
}

// deferrals is which changes of a type have to wait for another type.
type deferrals struct{ updates, removals bool }

// next returns the response to send now, or nil if there is nothing to send.
func (s *subscription) next(c *collection, wait deferrals) *response {
	names := s.pending(c, wait)
	if len(names) == 0 && !s.firstAnswerDue {
		return nil
	}
	s.firstAnswerDue = false
	f := &response{
		response:   &discovery.DeltaDiscoveryResponse{TypeUrl: s.typ, SystemVersionInfo: c.version},
		collection: c, versions: make(map[string]string, len(names)),
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
	f.weights = s.onlyWeights(f)
	s.unanswered = append(s.unanswered, f)
	return f
}

// takeAnswered removes the response with this nonce from those that are not answered, and returns it. It returns nil if
// there is no such response.
func (s *subscription) takeAnswered(nonce string) *response {
	if nonce == "" {
		return nil
	}
	i := slices.IndexFunc(s.unanswered, func(f *response) bool { return f.response.GetNonce() == nonce })
	if i < 0 {
		return nil
	}
	f := s.unanswered[i]
	s.unanswered = slices.Delete(s.unanswered, i, i+1)
	return f
}

func (s *subscription) accept(f *response, now time.Time) {
	for name, version := range f.versions {
		s.accepted[name] = version
		if version == "" {
			delete(s.accepted, name)
		}
		delete(s.refused, name)
		delete(s.separate, name)
	}
	s.acknowledged = now
	s.recordVersion(f.collection)
}

func (s *subscription) refuse(f *response, text string) {
	s.refusals++
	s.variant++
	s.refusal, s.errorText = f.collection.version, text
	for name, version := range f.versions {
		if len(f.versions) == 1 {
			s.refused[name] = version
			continue
		}
		s.separate[name] = true
		s.sent[name] = unknownVersion
		if _, held := s.accepted[name]; held {
			s.accepted[name] = unknownVersion
		}
	}
}

// dropRefusals drops the refusals of resources that no longer exist.
func (s *subscription) dropRefusals(c *collection) {
	maps.DeleteFunc(s.refused, func(name, version string) bool { return version != "" && c.resources[name] == nil })
	if !s.wildcard {
		maps.DeleteFunc(s.separate, func(name string, _ bool) bool { return c.resources[name] == nil })
	}
}

// recordVersion records the version of c if Envoy holds all of c.
func (s *subscription) recordVersion(c *collection) {
	if s.hasAll(c) {
		s.version = c.version
	}
}

// hasAll reports whether Envoy has accepted everything of c that it should have, and holds nothing that it was to drop
// by now.
func (s *subscription) hasAll(c *collection) bool {
	if s.wildcard && !s.holds && len(s.accepted) != len(c.resources) {
		return false
	}
	for name, r := range c.resources {
		_, named := s.names[name]
		if (named || requiredByAll(s.typ)) && meaning(s.accepted[name]) != meaning(r.GetVersion()) {
			return false
		}
	}
	return true
}

// hasRemovals reports whether something that was sent is not in c.
func (s *subscription) hasRemovals(c *collection) bool {
	for name := range s.sent {
		if c.resources[name] == nil {
			return true
		}
	}
	return false
}

// requiredByAll reports whether every Envoy should have all resources of a type. That is so for listeners and clusters,
// which Envoys ask for by wildcard, and for routes and endpoints, which those refer to. Of the other types an Envoy has
// only the resources that it asks for.
func requiredByAll(t resource.Type) bool {
	switch t {
	case resource.ListenerType, resource.ClusterType, resource.RouteType, resource.EndpointType:
		return true
	default:
		return false
	}
}

// hasRefusals reports whether Envoy has refused something that it should still have.
func (s *subscription) hasRefusals() bool { return len(s.refused)+len(s.separate) > 0 }

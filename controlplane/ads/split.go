package ads

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// GroupMetadata is the name in a node's metadata of the group that the Envoy belongs to.
const GroupMetadata = "harmony.group"

// Split gives some Envoys other configurations of extensions than the rest.
type Split struct {
	// Chosen reports whether the Envoy with an id and a group gets the other configurations. Envoys with the same id and
	// group get the same.
	Chosen func(id, group string) bool
	// Replace returns the configuration that a chosen Envoy gets instead of config, which it must not change.
	Replace func(config *corev3.TypedExtensionConfig) *corev3.TypedExtensionConfig
}

// SetSplit replaces the split, also for Envoys that are connected. Nil ends it. The split also applies to the
// resources of each later [Server.Set]. An Envoy that holds what it is to get now is sent nothing.
func (s *Server) SetSplit(split *Split) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	others, err := split.collection(s.extensions)
	if err != nil {
		return err
	}
	s.split, s.others = split, others
	for st := range s.streams {
		st.choose()
		st.push()
	}
	s.notify()
	return nil
}

// collection returns what chosen Envoys get instead of configurations of extensions, or nil without a split.
func (s *Split) collection(all []types.Resource) (*collection, error) {
	if s == nil {
		return nil, nil
	}
	replaced := make([]types.Resource, 0, len(all))
	for _, one := range all {
		config, ok := one.(*corev3.TypedExtensionConfig)
		if !ok {
			return nil, fmt.Errorf("ads: a configuration of an extension is a %T", one)
		}
		replaced = append(replaced, s.Replace(config))
	}
	c, err := newCollection(resource.ExtensionConfigType, replaced, nil)
	if err != nil {
		return nil, fmt.Errorf("ads: the other extensions: %w", err)
	}
	return c, nil
}

// choose decides whether the stream's Envoy is chosen. The caller holds the server's mutex.
func (st *stream) choose() {
	split := st.server.split
	st.chosen = split != nil && st.node != nil && split.Chosen(st.node.GetId(), group(st.node))
}

// collection returns the resources of a type that the stream's Envoy should have, or nil if there are none yet.
func (st *stream) collection(t resource.Type) *collection {
	if st.chosen && t == resource.ExtensionConfigType && st.server.snapshot != nil {
		return st.server.others
	}
	return st.server.snapshot[t]
}

// group returns the group of an Envoy, or "".
func group(n *corev3.Node) string {
	return n.GetMetadata().GetFields()[GroupMetadata].GetStringValue()
}

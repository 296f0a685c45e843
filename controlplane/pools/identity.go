package pools

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
)

// Vocabulary is what a comparison of a server's vocabulary with the gateway's has shown.
type Vocabulary string

// The outcomes of a comparison (RATIONALE.md#102).
const (
	// VocabularyNotAsked is the outcome if the server has no path for it, or has not been asked.
	VocabularyNotAsked Vocabulary = "not asked"
	// SameVocabulary means that the server's ids are the gateway's.
	SameVocabulary Vocabulary = "same"
	// OtherVocabulary means that the server reads the gateway's ids as other text. Such a server is [NotReady].
	OtherVocabulary Vocabulary = "other"
)

// identity is what a server tells about itself once after each start.
type identity struct {
	facts engine.Facts
	texts engine.Texts
	// complete reports whether all questions were answered, with an error or without.
	complete bool
}

// is reports whether a model list comes from the server that was identified. nil comes from none. A server with another
// vocabulary is asked again each time, since no absence shows its repair where several servers share an address.
func (i *identity) is(list *engine.Facts) bool {
	return i != nil && i.vocabulary() != OtherVocabulary && slices.Equal(i.facts.Models, list.Models)
}

func (i *identity) vocabulary() Vocabulary {
	switch {
	case i.texts.Other > 0:
		return OtherVocabulary
	case i.texts.All() > 0:
		return SameVocabulary
	default:
		return VocabularyNotAsked
	}
}

// set sets what is shown of a server's identity. Without all answers, a missing comparison says nothing about the
// vocabulary, and the one that is shown stays.
func (s *Server) set(i *identity) {
	s.Program, s.Engine, s.Context = i.facts.Program(), i.facts.Engine, i.facts.Context
	if v := i.vocabulary(); i.complete || v == OtherVocabulary {
		s.Vocabulary, s.VocabularyExample = v, i.texts.Example
	}
}

// updateIdentity updates what is known of a server after a probe. found is nil if the server was not asked what it is.
// After an error, and after another list, it will be asked again: it may have been restarted.
func (w *Watcher) updateIdentity(m *member, found *identity, list *engine.Facts, err error) {
	switch {
	case found != nil:
		if m.Context != found.facts.Context {
			notify(w.changed)
		}
		m.set(found)
		if !found.complete {
			return
		}
		before := m.identified
		m.identified = found
		if before == nil || before.vocabulary() != OtherVocabulary || found.vocabulary() != OtherVocabulary {
			w.log.Info("a server has been identified", "pool", m.probe.pool, "server", m.Endpoint.String(), "address",
				m.Address, "program", m.Program, "context", m.Context, "vocabulary", m.Vocabulary)
		}
	case err != nil || !m.identified.is(list):
		m.identified = nil
	}
}

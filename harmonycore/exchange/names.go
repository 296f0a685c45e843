package exchange

import (
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// mayBeRenamed reports whether clients may call the model otherwise than its servers do.
func (m *Model) mayBeRenamed() bool { return m.ServerModel != m.Name || len(m.Aliases) > 0 }

// names finds a model by what a client calls it.
type names struct {
	// exact are the models' names and their aliases without a star, in order.
	exact []exactName
	// patterns are the aliases with a star. The first that fits a name counts.
	patterns []patternName
}

type exactName struct {
	name  string
	model *Model
}

type patternName struct {
	contract.Pattern
	model *Model
}

// newNames returns the names of models, which must not move.
func newNames(models []Model) names {
	var n names
	for i := range models {
		m := &models[i]
		n.exact = append(n.exact, exactName{m.Name, m})
		for _, alias := range m.Aliases {
			if p, ok := contract.PatternOf(alias); ok {
				n.patterns = append(n.patterns, patternName{p, m})
			} else {
				n.exact = append(n.exact, exactName{alias, m})
			}
		}
	}
	slices.SortStableFunc(n.exact, func(a, b exactName) int { return strings.Compare(a.name, b.name) })
	slices.SortStableFunc(n.patterns, func(a, b patternName) int { return a.Compare(b.Pattern) })
	return n
}

// model returns the model that clients call by this name, or nil.
func (n *names) model(name string) *Model {
	at, found := slices.BinarySearchFunc(n.exact, name, func(e exactName, name string) int {
		return strings.Compare(e.name, name)
	})
	if found {
		return n.exact[at].model
	}
	for i := range n.patterns {
		if n.patterns[i].Fits(name) {
			return n.patterns[i].model
		}
	}
	return nil
}

package contract

import (
	"slices"
	"strings"
)

// Names finds a model by what a client calls it: by its name, by an alias, or by a pattern among its aliases.
type Names struct {
	// exact are the models' names and their aliases without a star, in order.
	exact []exactName
	// patterns are the aliases with a star. The first that fits a name counts.
	patterns []patternName
}

type exactName struct {
	name  string
	model int
}

type patternName struct {
	Pattern
	model int
}

// NewNames returns the names of models, of which [CheckNames] has found none that is used twice.
func NewNames(models []Named) Names {
	var n Names
	for i := range models {
		n.exact = append(n.exact, exactName{models[i].Name, i})
		for _, alias := range models[i].Aliases {
			if p, ok := PatternOf(alias); ok {
				n.patterns = append(n.patterns, patternName{p, i})
			} else {
				n.exact = append(n.exact, exactName{alias, i})
			}
		}
	}
	slices.SortStableFunc(n.exact, func(a, b exactName) int { return strings.Compare(a.name, b.name) })
	slices.SortStableFunc(n.patterns, func(a, b patternName) int { return a.Compare(b.Pattern) })
	return n
}

// Find returns the index of the model that clients call by a name, or -1.
func (n *Names) Find(name string) int {
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
	return -1
}

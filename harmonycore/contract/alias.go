package contract

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// MaxNameLength is the greatest length of a model's name or alias, in bytes. A longer name fits no pattern: answers
// repeat the name that the client used, a stream in every chunk.
const MaxNameLength = 256

// maxAliases is how many aliases a model may have. A request's name is compared with every pattern.
const maxAliases = 64

func validAlias(s string) bool {
	if s == "" || len(s) > MaxNameLength || strings.Count(s, "*") > 1 {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Pattern is an alias with a star, which stands for any text, none included.
type Pattern struct{ Before, After string }

// PatternOf returns the pattern that an alias is. ok is false for an alias without a star.
func PatternOf(alias string) (p Pattern, ok bool) {
	p.Before, p.After, ok = strings.Cut(alias, "*")
	return p, ok
}

// Fits reports whether the pattern stands for a name.
func (p Pattern) Fits(name string) bool {
	return len(name) >= len(p.Before)+len(p.After) && len(name) <= MaxNameLength &&
		strings.HasPrefix(name, p.Before) && strings.HasSuffix(name, p.After)
}

// Compare orders patterns. The first that fits a name is the one that counts: the one with the longest text, and among
// those the one with the longest text before the star. Two different patterns that fit one name are never equal.
func (p Pattern) Compare(q Pattern) int {
	return cmp.Or(
		cmp.Compare(len(q.Before)+len(q.After), len(p.Before)+len(p.After)),
		cmp.Compare(len(q.Before), len(p.Before)),
	)
}

// Named is what clients call a model.
type Named struct {
	Name    string
	Aliases []string
}

// NameError says which name clients could not use. Alias is its index in the model's aliases, or -1 for its name.
type NameError struct {
	Model, Alias int
	Reason       string
}

// CheckNames returns an error if clients could mean two models by one name, or if one has too many aliases. The error
// is about the first model that has one.
func CheckNames(models []Named) *NameError {
	type use struct {
		name         string
		model, alias int
	}
	var uses []use
	for i := range models {
		if n := len(models[i].Aliases); n > maxAliases {
			return &NameError{Model: i, Alias: maxAliases,
				Reason: "is one of " + strconv.Itoa(n) + " aliases, and a model has at most " + strconv.Itoa(maxAliases) +
					"; write one with a star for several"}
		}
		uses = append(uses, use{models[i].Name, i, -1})
		for j, alias := range models[i].Aliases {
			uses = append(uses, use{alias, i, j})
		}
	}
	slices.SortStableFunc(uses, func(a, b use) int { return cmp.Compare(a.name, b.name) })
	var first *NameError
	for i := 1; i < len(uses); i++ {
		before, here := &uses[i-1], &uses[i]
		if before.name != here.name || first != nil && first.Model <= here.model {
			continue
		}
		first = &NameError{Model: here.model, Alias: here.alias}
		owner := models[before.model].Name
		switch {
		case before.alias < 0 && here.alias < 0:
			first.Reason = here.name + " is listed twice; list all its servers in one entry"
		case here.alias < 0:
			first.Reason = here.name + " is also an alias of the model " + owner + "; a name stands for one model"
		case before.alias < 0 && before.model == here.model:
			first.Reason = here.name + " is the model's own name; leave it out"
		case before.alias < 0:
			first.Reason = here.name + " is also the name of a model; a name stands for one model"
		case before.model == here.model:
			first.Reason = here.name + " is listed twice; remove one"
		default:
			first.Reason = here.name + " is also an alias of the model " + owner + "; a name stands for one model"
		}
	}
	return first
}

package translate

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/lark"
)

// rememberedGrammar is what a client's grammar was turned into.
type rememberedGrammar struct {
	owner, definition string
	translation       lark.Translation
}

// The limits of remembered grammars: how many there are, and how long one is with its EBNF, in bytes.
const (
	maxRememberedGrammars    = 8
	maxRememberedGrammarSize = 16 << 10
)

// grammars turns Lark grammars into EBNF, and remembers what became of them. memory may be nil.
type grammars struct {
	memory *ToolMemory
	owner  string
}

func (e *Env) grammars() grammars { return grammars{e.Tools, e.Owner} }

func (g grammars) translate(definition string) lark.Translation {
	if g.memory == nil {
		return lark.Translate(definition)
	}
	all := g.memory.grammars
	for i := range all {
		if all[i].definition == definition && all[i].owner == g.owner {
			found := all[i]
			copy(all[1:i+1], all[:i])
			all[0] = found
			return found.translation
		}
	}
	t := lark.Translate(definition)
	if len(definition)+len(t.EBNF) <= maxRememberedGrammarSize {
		if len(all) < maxRememberedGrammars {
			all = append(all, rememberedGrammar{})
		}
		copy(all[1:], all)
		all[0] = rememberedGrammar{g.owner, strings.Clone(definition), t}
		g.memory.grammars = all
	}
	return t
}

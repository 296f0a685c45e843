package lark

// Translation is what a grammar is turned into.
type Translation struct {
	// EBNF is the grammar in EBNF. It begins at the rule root. It is empty if there is nothing to enforce, or no way to.
	EBNF string
	// Any reports whether the grammar allows every text that is not empty. Nothing is to be enforced then.
	Any bool
	// LeftRecursive reports whether a rule of the EBNF begins with itself, at once or by others. llama.cpp refuses that.
	LeftRecursive bool
	// Reason says why the grammar has no EBNF. It is empty if there is an EBNF, or if Any is true.
	Reason string
}

// The limits of a grammar. A grammar beyond them has no EBNF, since it would cost the gateway or a server too much.
const (
	maxDefinition = 64 << 10
	maxSymbols    = 512
	maxNodes      = 4096
	// maxDepth is how deep the groups of an expression may be, and how deep those of a regular expression.
	maxDepth = 24
	// maxRepeat is the greatest bound of a repetition. maxWeight is how many parts all rules have if each bounded repetition
	// is written out.
	maxRepeat = 1000
	maxWeight = 16 << 10
	maxSpans  = 256
	maxEBNF   = 64 << 10
	// maxWork is how many steps an analysis of the rules may take.
	maxWork = 256 << 10
)

// The reasons why a grammar has no EBNF.
const (
	tooLarge     = "the grammar is too large"
	tooDeep      = "groups are nested too deep"
	tooMany      = "a repetition is too long"
	notLark      = "this is not Lark's syntax"
	noStart      = "there is no rule named start"
	noText       = "a rule has no text"
	undefined    = "a name has no definition"
	redefined    = "a name has two definitions"
	badDirective = "this directive is not supported"
	badImport    = "only %import common.NAME is supported"
	badTemplate  = "templates and attributes are not supported"
	badString    = "this string is not supported"
	badFlag      = "this flag of a regular expression is not supported"
	badGroup     = "lookaround, flags and references in a regular expression are not supported"
	badAnchor    = "anchors and boundaries in a regular expression are not supported"
	badEscape    = "this escape in a regular expression is not supported"
	badClass     = "this class of a regular expression is not supported"
	badRepeat    = "lazy and possessive repetitions in a regular expression are not supported"
	badRegex     = "this is not a regular expression"
)

// Translate turns a grammar into EBNF. A terminal matches each text that its definition allows, and not only the longest
// one at its place: the EBNF has no lexer. Priorities and aliases do not change which texts a grammar allows.
func Translate(definition string) Translation {
	g := grammar{index: make(map[string]int)}
	ebnf, covers, leftRecursive := "", false, false
	if r := (reader{grammar: &g, in: definition}); r.read() && g.check() {
		if covers = g.covers(g.start, maxDepth); !covers {
			leftRecursive = g.leftRecursive()
			g.unroll()
			ebnf = g.print()
		}
	}
	if g.reason != "" {
		return Translation{Reason: g.reason}
	}
	return Translation{EBNF: ebnf, Any: covers, LeftRecursive: leftRecursive}
}

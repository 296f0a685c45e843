package mesh

import (
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/printer"
	"github.com/goccy/go-yaml/token"
)

// Marshal writes a value as YAML that every reader takes for the same. Of the library's own output that is not true: it
// writes some texts without quotes that others read as numbers, as kubectl does with 1e3 (findings/README.md).
func Marshal(value any) ([]byte, error) {
	node, err := yaml.ValueToNode(value, yaml.Indent(2), yaml.IndentSequence(true))
	if err != nil {
		return nil, err
	}
	ast.Walk(quoter{}, node)
	var p printer.Printer
	return p.PrintNode(node), nil
}

// quoter puts the texts that need them into double quotes.
type quoter struct{}

// Visit implements [ast.Visitor].
func (q quoter) Visit(node ast.Node) ast.Visitor {
	switch n := node.(type) {
	case *ast.MappingValueNode:
		if key, ok := n.Key.(*ast.StringNode); ok && strings.ContainsAny(key.Value, "\n") {
			quote(key)
		}
	case *ast.StringNode:
		if misread.MatchString(n.Value) {
			quote(n)
		}
	}
	return q
}

// quote puts a text into double quotes, unless the library has already made them part of it.
func quote(n *ast.StringNode) {
	if !strings.HasPrefix(n.Value, `"`) {
		n.Token.Type = token.DoubleQuoteType
	}
}

// misread matches the texts that the library leaves without quotes, and that a reader takes for something else:
// numbers, infinities, a merge of maps, a key, the end of a document, blanks at the beginning of a text or at the end of a line,
// and characters that may not stand there or that some readers drop.
var misread = regexp.MustCompile(`^[-+]?\.?[0-9][0-9_]*\.?[0-9_]*([eE][-+]?[0-9_]+)?$|^[-+]?\.(?i:inf)$|^\.(?i:nan)$` +
	`|<<$|^\?|^\.\.\.|^[ \n]| (\n|$)|[\x00-\x09\x0b-\x1f\x7f-\x{a0}\x{2028}\x{2029}\x{feff}]`)

package pools

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// ReadFile reads a file of servers as a [Watcher] does. Its errors begin with the path.
func ReadFile(path string) ([]config.Endpoint, error) {
	s := (source[list]{path: path, parse: parseServers}).reread()
	return s.valid.endpoints, s.err
}

// parseServers parses a file of servers: a list of URLs in YAML or JSON. before is what the file had at the last
// reading. Errors begin with file:line where they have a line.
//
// A file that is empty, or has only comments, is an error. Programs that write a file in place empty it first, and the
// pool must not lose its servers then. For no servers the operator writes [].
func parseServers(path string, data []byte, before list) (list, error) {
	data = config.TrimMark(data)
	if plain, ok := readPlain(data, before); ok {
		return plain, nil
	}
	endpoints, err := parseYAML(path, data)
	return list{endpoints: endpoints}, err
}

// parseYAML parses a file of servers of any form.
func parseYAML(path string, data []byte) ([]config.Endpoint, error) {
	fail := func(t *token.Token, reason string) ([]config.Endpoint, error) {
		if t == nil || t.Position == nil {
			return nil, fmt.Errorf("%s: %s", path, reason)
		}
		return nil, fmt.Errorf("%s:%d: %s", path, t.Position.Line, reason)
	}
	if line := blockLine(data); line > 0 {
		return nil, fmt.Errorf("%s:%d: %s", path, line, notURLList)
	}
	tokens := lexer.Tokenize(string(data))
	if t := notFlat(tokens); t != nil {
		return fail(t, notURLList)
	}
	tree, err := parser.Parse(tokens, 0)
	var y yaml.Error
	switch {
	case errors.As(err, &y):
		return fail(y.GetToken(), y.GetMessage())
	case err != nil:
		return fail(nil, err.Error())
	case len(tree.Docs) == 0 || tree.Docs[0].Body == nil:
		return fail(nil, "is empty; write [] for no servers")
	case len(tree.Docs) > 1:
		return fail(nil, "holds more than one document; remove the --- lines")
	}
	sequence, ok := tree.Docs[0].Body.(*ast.SequenceNode)
	if !ok {
		return fail(tree.Docs[0].Body.GetToken(), notURLList)
	}
	servers := make([]config.Endpoint, 0, len(sequence.Values))
	lines := make(map[config.Endpoint]int, len(sequence.Values))
	for _, node := range sequence.Values {
		t := node.GetToken()
		text, ok := node.(*ast.StringNode)
		if !ok {
			return fail(t, "is not a URL; write http://host:port")
		}
		e, err := config.ParseURL(text.Value)
		if err != nil {
			return fail(t, err.Error())
		}
		if line, twice := lines[e]; twice {
			return fail(t, fmt.Sprintf("%s is already on line %d; remove one", e, line))
		}
		lines[e] = t.Position.Line
		servers = append(servers, e)
	}
	return servers, nil
}

const notURLList = "is not a list of URLs; write one in each line, such as - http://10.0.0.7:8000"

// blockLine returns the line of the first character that could begin a block scalar, or 0. A URL has none, and the
// lexer takes minutes for a block scalar of a few thousand empty lines.
func blockLine(data []byte) int {
	line, comment := 1, false
	for _, c := range data {
		switch c {
		case '\n':
			line++
			comment = false
		case '\r':
			comment = false
		case '#':
			comment = true
		case '|', '>':
			if !comment {
				return line
			}
		}
	}
	return 0
}

// notFlat returns the first token that a flat list of scalars does not have. The parser's time and memory grow with the
// square of the nesting depth: 128 KiB of brackets exhaust a machine.
func notFlat(tokens token.Tokens) *token.Token {
	open, column := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType:
			if open++; open > 1 || column > 0 {
				return t
			}
		case token.SequenceEntryType:
			if column == 0 {
				column = t.Position.Column
			}
			if open > 0 || t.Position.Column != column {
				return t
			}
		case token.MappingStartType, token.MappingKeyType, token.MappingValueType, token.MergeKeyType, token.AnchorType,
			token.AliasType, token.TagType, token.DirectiveType:
			return t
		}
	}
	return nil
}

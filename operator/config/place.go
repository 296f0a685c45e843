package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/harmonyedge/harmonyedge/internal/nearest"
)

// fieldPath returns the path of the setting at a place in a file, such as models[0].name, or "" if no setting is there.
// Unknown settings have a path too.
func fieldPath(tree *ast.File, at *token.Token) string {
	if at == nil || at.Position == nil {
		return ""
	}
	f := placeFinder{at: *at.Position}
	for _, d := range tree.Docs {
		if d.Body != nil {
			ast.Walk(&f, d.Body)
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(f.path, "$"), ".")
}

// placeFinder visits nodes until one is at the place.
type placeFinder struct {
	at   token.Position
	path string
}

// Visit implements ast.Visitor.
func (f *placeFinder) Visit(node ast.Node) ast.Visitor {
	if t := node.GetToken(); f.path == "" && t != nil && t.Position != nil && t.Position.Line == f.at.Line &&
		t.Position.Column == f.at.Column {
		if path := node.GetPath(); path != "$" {
			f.path = path
		}
	}
	return f
}

// suggestion returns an error text for an unknown setting. It names a setting of the same block with a similar name, or
// the blocks that have a setting of this name.
func suggestion(path string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	if strings.HasPrefix(name, "-") {
		return dashReason(strconv.Quote(name))
	}
	if meant := meantBy(path); meant != "" {
		return name + " is not a setting; did you mean " + meant[strings.LastIndexByte(meant, '.')+1:] + "?"
	}
	top := Default().Fields()
	if blocks := blocksWith(top, name); len(blocks) > 0 {
		return name + " is not a setting here; it belongs " + strings.Join(blocks, " or ") + ": check its indentation"
	}
	return name + " is not a setting; check its spelling and its indentation"
}

// meantBy returns the path of the setting that an unknown one may have been meant to be, or "".
func meantBy(path string) string {
	cut := strings.LastIndexByte(path, '.')
	block := blockAt(Default().Fields(), path[:max(cut, 0)])
	if known := nearest.Word(path[cut+1:], keysOf(block)); known != "" {
		return path[:cut+1] + known
	}
	return ""
}

// inner returns the settings of a block, or of the entries of a list, or nil.
func (f *Field) inner() []Field {
	if f.Entries != nil {
		return f.Entries.blank()
	}
	return f.Block
}

// keysOf returns the names of a block's settings.
func keysOf(fields []Field) []string {
	var keys []string
	for i := range fields {
		keys = append(keys, fields[i].Key)
	}
	return keys
}

// blockAt returns the settings of the block at a path, such as models[0].answers, or nil.
func blockAt(fields []Field, path string) []Field {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		name, _, _ = strings.Cut(name, "[")
		at := slices.Index(keysOf(fields), name)
		if at < 0 {
			return nil
		}
		fields = fields[at].inner()
	}
	return fields
}

// blocksWith returns the places where a setting of this name belongs: the top of the file, or its blocks.
func blocksWith(top []Field, name string) []string {
	var found []string
	if slices.Contains(keysOf(top), name) {
		found = append(found, "at the top of the file")
	}
	for i := range top {
		if f := &top[i]; slices.Contains(keysOf(f.inner()), name) {
			where := "in "
			if f.Entries != nil {
				where += "each of "
			}
			found = append(found, where+f.Key)
		}
	}
	return found
}

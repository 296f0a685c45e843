package config

import (
	"reflect"
	"slices"
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
func suggestion(field string) string {
	block, name := "", field
	if cut := strings.LastIndexByte(field, '.'); cut >= 0 {
		block, name = field[:cut], field[cut+1:]
	}
	siblings := settings(typeOf(block))
	if known := nearest.Word(name, siblings); known != "" {
		return name + " is not a setting; did you mean " + known + "?"
	}
	if blocks := blocksWith(name); len(blocks) > 0 {
		return name + " is not a setting here; it belongs " + strings.Join(blocks, " or ") + ": check its indentation"
	}
	return name + " is not a setting; check its spelling and its indentation"
}

// typeOf returns the type of the block at a path, such as models[0].answers, or nil.
func typeOf(path string) reflect.Type {
	t := reflect.TypeFor[Config]()
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		name, _, list := strings.Cut(name, "[")
		t = member(t, name)
		if list && t != nil && t.Kind() == reflect.Slice {
			t = t.Elem()
		}
	}
	return t
}

func member(t reflect.Type, name string) reflect.Type {
	t = block(t)
	if t == nil {
		return nil
	}
	for _, f := range fieldsOf(t) {
		if f.Tag.Get("yaml") == name {
			return f.Type
		}
	}
	return nil
}

// block returns the struct that t is or points to, or nil.
func block(t reflect.Type) reflect.Type {
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// settings returns the names of a block's settings.
func settings(t reflect.Type) []string {
	t = block(t)
	if t == nil {
		return nil
	}
	var names []string
	for _, f := range fieldsOf(t) {
		names = append(names, f.Tag.Get("yaml"))
	}
	return names
}

// fieldsOf returns the fields of a struct that are settings, including the fields of the contract's structs that it
// embeds.
func fieldsOf(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		name := f.Tag.Get("yaml")
		return name == "" || name == "-" || f.Anonymous
	})
}

// blocksWith returns the places where a setting of this name belongs: the top of the file, or its blocks.
func blocksWith(name string) []string {
	top := reflect.TypeFor[Config]()
	var found []string
	if member(top, name) != nil {
		found = append(found, "at the top of the file")
	}
	for _, outer := range settings(top) {
		t, where := member(top, outer), outer
		if t.Kind() == reflect.Slice {
			t, where = t.Elem(), "each of "+outer
		}
		if member(t, name) != nil {
			found = append(found, "in "+where)
		}
	}
	return found
}

package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// maxDecoded is how many bytes are decoded for one file, which is decoded again without each setting that cannot be
// read.
const maxDecoded = maxFile

// decode reads a file's settings. A setting that cannot be read, because it is unknown or has another form, is an error
// and is left out, so that all such errors are found. unread has their paths, and the paths of those that they may have
// been meant to be. The configuration is nil if so much is unread that nothing can be said about the rest.
func decode(name string, data []byte, tree *ast.File) (c *Config, unread []string, _ *problems) {
	found := &problems{}
	rest, decoded := tree, 0
	for {
		c := Default()
		err := yaml.NodeToValue(rest.Docs[0].Body, c, yaml.Strict())
		if err == nil && slices.ContainsFunc(unread, isWhole) {
			return nil, nil, found
		}
		if err == nil {
			if len(c.PassthroughPaths) == 0 {
				c.PassthroughPaths = DefaultPassthroughPaths()
			}
			return c, unread, found
		}
		e := configError(name, rest, err)
		found.put(e)
		if rest == tree { // whose lines are still needed
			if rest, err = parseYAML(data); err != nil {
				return nil, nil, found
			}
		}
		path, ok := prune(rest.Docs[0], e.Field)
		decoded += len(data)
		if !ok || decoded >= maxDecoded {
			return nil, nil, found
		}
		unread = append(unread, path)
		if meant := meantBy(path); meant != "" {
			if in, _ := find(rest.Docs[0].Body, steps(meant)); in == nil {
				unread = append(unread, meant)
			}
		}
	}
}

// isWhole reports whether nothing can be said about other settings without this one: a list, or the name of an entry.
func isWhole(path string) bool {
	return slices.Contains([]string{"models", "pools", "secrets", "listeners", "responses_service"}, path) ||
		strings.HasSuffix(path, "].name") || strings.HasSuffix(path, "].label")
}

// follow adds the errors that the checks have found in the rest of a file. Errors of settings that are unread are left
// out, since they are known already.
func (p *problems) follow(more *problems, unread []string) {
	for _, e := range more.all {
		if !slices.ContainsFunc(unread, func(path string) bool { return within(e.Field, path) || within(path, e.Field) }) {
			p.put(e)
		}
	}
}

// within reports whether a path is of a block, or of a setting in it.
func within(path, block string) bool {
	rest, ok := strings.CutPrefix(path, block)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// prune removes a setting from a document, or the nearest one around it that can be removed. It returns its path, and
// whether there is one. Entries of lists stay, so that the others keep their numbers.
func prune(doc *ast.DocumentNode, path string) (string, bool) {
	for path != "" {
		if in, at := find(doc.Body, steps(path)); in != nil {
			in.Values = slices.Delete(in.Values, at, at+1)
			return path, true
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return "", false
}

// steps splits models[0].name into models, 0 and name.
func steps(path string) []string {
	return strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(path), ".")
}

// find returns the mapping within a node that has a setting, and where, or nil.
func find(node ast.Node, path []string) (in *ast.MappingNode, at int) {
	switch n := node.(type) {
	case *ast.AnchorNode:
		return find(n.Value, path)
	case *ast.MappingNode:
		at := slices.IndexFunc(n.Values, func(v *ast.MappingValueNode) bool { return v.Key.GetToken().Value == path[0] })
		switch {
		case at < 0:
			return nil, 0
		case len(path) == 1:
			return n, at
		}
		return find(n.Values[at].Value, path[1:])
	case *ast.SequenceNode:
		at, err := strconv.Atoi(path[0])
		if err != nil || len(path) == 1 || at < 0 || at >= len(n.Values) {
			return nil, 0
		}
		return find(n.Values[at], path[1:])
	}
	return nil, 0
}

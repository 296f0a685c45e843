package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

// docLink is an exported name in a comment's square brackets, after its package's if it is another's. Words in capitals
// are placeholders.
var docLink = regexp.MustCompile(`(?:^|[^\w\]])\[\*?(?:(\w+)\.)?([A-Z]\w*[a-z]\w*)(?:\.[A-Z]\w*)?\](?:[^(:\w]|$)`)

// module begins the import paths of this repository.
const module = "github.com/harmonyedge/harmonyedge/"

// TestDocLinks shows that names in the square brackets of comments are declared where they say.
func TestDocLinks(t *testing.T) {
	declared := map[string]bool{} // folder.Name
	parsed, files := map[string]*ast.File{}, token.NewFileSet()
	for name, text := range sourceFiles(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		f, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed[name] = f
		for _, n := range namesOf(f) {
			declared[path.Dir(name)+"."+n] = true
		}
	}
	links := 0
	for name, f := range parsed {
		folders := map[string]string{"": path.Dir(name)} // by the names of packages
		for _, i := range f.Imports {
			if folder, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ours && i.Name == nil {
				folders[path.Base(folder)] = folder
			}
		}
		for _, c := range f.Comments {
			for _, m := range docLink.FindAllStringSubmatch(c.Text(), -1) {
				folder, known := folders[m[1]]
				if !known {
					continue // another module's
				}
				links++
				if !declared[folder+"."+m[2]] {
					t.Errorf("%s: %s has no %s", name, folder, m[2])
				}
			}
		}
	}
	if links < 500 {
		t.Errorf("only %d links were found", links)
	}
}

// namesOf returns the names that a file declares in its package.
func namesOf(f *ast.File) (all []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				all = append(all, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					all = append(all, s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						all = append(all, n.Name)
					}
				}
			}
		}
	}
	return all
}

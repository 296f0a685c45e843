package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// guides are the pages that say where things are.
var guides = []string{"CONTRIBUTING.md", "docs/hacking.md"}

var (
	// place is the name of a file or a folder, and fileName one that names a file even without a folder.
	place    = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)*/?$`)
	fileName = regexp.MustCompile(`\.(go|json|md|py|sh|txt|txtar|yaml)$`)
	// notInTree is what is built or installed, and what every folder has.
	notInTree = regexp.MustCompile(`^dist/|^\.tools/|^doc\.go$`)
	// listNumber begins an entry of a numbered list.
	listNumber = regexp.MustCompile(`^\d+\. `)
	// testName and target are in a code span.
	testName = regexp.MustCompile(`\bTest[A-Z]\w*\b`)
	target   = regexp.MustCompile("`make ([a-z][a-z0-9-]*)")
	// testFunction and targetLine make them.
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	targetLine   = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
)

// TestPlaces shows that every file and folder exists that the pages for contributors name, also those by a short name,
// which is looked for beside the places before it in the same row, entry or paragraph.
func TestPlaces(t *testing.T) {
	for _, page := range guides {
		found := 0
		for _, text := range units(sourceFiles(t)[page]) {
			_, known, unknown := placesIn(text)
			found += known
			for _, name := range unknown {
				t.Errorf("%s: there is no %s in %q", page, name, text)
			}
		}
		if found < 50 {
			t.Errorf("%s: only %d places were found", page, found)
		}
	}
}

// placesOf returns the files and folders that a text names.
func placesOf(text string) (all []string) {
	for _, one := range units(text) {
		named, _, _ := placesIn(one)
		all = append(all, named...)
	}
	return all
}

// placesIn returns the files and folders that a row, an entry or a paragraph names, with the folders that they are in,
// how many were found, and which were not.
func placesIn(text string) (near []string, found int, unknown []string) {
	for _, span := range codeSpan.FindAllString(text, -1) {
		name := strings.Trim(span, "`")
		if !place.MatchString(name) || testName.MatchString(name) || notInTree.MatchString(name) {
			continue
		}
		at, ok := resolve(name, near)
		if ok {
			found++
			for ; at != "."; at = path.Dir(at) {
				near = append(near, at)
			}
		} else if strings.Contains(name, "/") || fileName.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	return near, found, unknown
}

// TestTree shows that the tree in CONTRIBUTING.md has every folder at the root, and no folder that is not there. A line
// begins with folders of the root. Folders in its text are in the first of these.
func TestTree(t *testing.T) {
	_, tree, _ := strings.Cut(sourceFiles(t)["CONTRIBUTING.md"], "\n## Where things are\n")
	tree, _, _ = strings.Cut(tree, "\nEvery package's")
	named, room := map[string]bool{}, ""
	for _, line := range strings.Split(tree, "\n") {
		text, isTree := strings.CutPrefix(line, "    ")
		if !isTree {
			continue
		}
		begins := !strings.HasPrefix(text, " ")
		for i, word := range strings.Fields(text) {
			folder, isFolder := strings.CutSuffix(strings.Trim(word, "(),:;"), "/")
			if begins && i == 0 {
				room = folder
			}
			if !isFolder {
				begins = false
				continue
			}
			if begins {
				top, _, _ := strings.Cut(folder, "/")
				named[top] = true
			} else {
				folder = path.Join(room, folder)
			}
			if info, err := os.Stat(filepath.Join(root, folder)); err != nil || !info.IsDir() {
				t.Errorf("there is no folder %s", folder)
			}
		}
	}
	folders, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		name := f.Name()
		if f.IsDir() && !strings.HasPrefix(name, ".") && !slices.Contains(notSources, name) && !named[name] {
			t.Errorf("the tree has no line for %s/", name)
		}
	}
}

// TestRooms shows that e2e/doc.go has every room.
func TestRooms(t *testing.T) {
	rooms, err := os.ReadDir(filepath.Join(root, "e2e"))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.FieldsFunc(sourceFiles(t)["e2e/doc.go"], func(r rune) bool { return !unicode.IsLetter(r) })
	for _, room := range rooms {
		if room.IsDir() && !slices.Contains(words, room.Name()) {
			t.Errorf("e2e/doc.go does not name the room %s", room.Name())
		}
	}
}

// TestArrows shows that the packages in CONTRIBUTING.md's list of imports exist.
func TestArrows(t *testing.T) {
	folders := map[string]bool{}
	for name := range sourceFiles(t) {
		for _, folder := range strings.Split(path.Dir(name), "/") {
			folders[folder] = true
		}
	}
	words := regexp.MustCompile(`\w+`)
	arrows := 0
	for _, span := range codeSpan.FindAllString(sourceFiles(t)["CONTRIBUTING.md"], -1) {
		if !strings.Contains(span, "→") {
			continue
		}
		arrows++
		for _, name := range words.FindAllString(span, -1) {
			if !folders[name] {
				t.Errorf("%s: there is no package %s", span, name)
			}
		}
	}
	if arrows < 5 {
		t.Errorf("only %d arrows were found", arrows)
	}
}

// TestNames shows that tests and targets exist that pages name. CHANGELOG.md may name what is gone.
func TestNames(t *testing.T) {
	tests, targets := map[string]bool{}, map[string]bool{}
	for name, text := range sourceFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range testFunction.FindAllStringSubmatch(text, -1) {
				tests[m[1]] = true
			}
		}
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range targetLine.FindAllSubmatch(makefile, -1) {
		targets[string(m[1])] = true
	}
	for name, text := range sourceFiles(t) {
		if path.Ext(name) != ".md" || name == "CHANGELOG.md" {
			continue
		}
		for _, span := range codeSpan.FindAllString(fenced.ReplaceAllString(text, ""), -1) {
			for _, test := range testName.FindAllString(span, -1) {
				if !tests[test] {
					t.Errorf("%s: there is no test %s", name, test)
				}
			}
			if m := target.FindStringSubmatch(span); m != nil && !targets[m[1]] {
				t.Errorf("%s: there is no target %s", name, m[1])
			}
		}
	}
}

// units returns the rows, list entries and paragraphs of a page.
func units(text string) (all []string) {
	var open []string
	end := func() {
		if len(open) > 0 {
			all = append(all, strings.Join(open, "\n"))
		}
		open = nil
	}
	for _, line := range strings.Split(fenced.ReplaceAllString(text, ""), "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "":
			end()
			continue
		case strings.HasPrefix(line, "    ") && len(open) == 0:
			continue // code
		case strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "- "), listNumber.MatchString(trimmed):
			end()
		}
		open = append(open, line)
	}
	end()
	return all
}

// resolve returns the path of a place from the root of the checkout. It may be beside other places.
func resolve(name string, near []string) (at string, ok bool) {
	for _, folder := range append([]string{"."}, near...) {
		at := path.Join(folder, name)
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(at))); err == nil {
			return at, true
		}
	}
	return "", false
}

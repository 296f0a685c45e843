package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	fenced     = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan   = regexp.MustCompile("`[^`]*`")
	heading    = regexp.MustCompile(`(?m)^#+ (.+)$`)
	anchor     = regexp.MustCompile(`<a id="([^"]+)">`)
	inlineLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	linkTarget = regexp.MustCompile(`(?m)^\[[^\]]+\]: (\S+)`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	// citation is a page that a comment cites, from the checkout's root.
	citation = regexp.MustCompile(`\b(docs/[\w/-]+\.md|RATIONALE\.md)(?:#([\w-]+))?`)
	// namedPath is a path in the checkout, alone in a code span.
	namedPath = regexp.MustCompile(
		"`((?:bench|cmd|controlplane|docs|e2e|envoy|examples|filter|findings|harmonycore|inspect|internal|operator|services|" +
			"sight|sim|tools)/[\\w./-]+)`")
)

// notSources are folders without source files of this repository.
var notSources = []string{"build", "dist", "node_modules", "testdata"}

// TestLinks shows that links between pages, and the pages that comments cite, lead to existing files and headings.
func TestLinks(t *testing.T) {
	sources := sourceFiles(t)
	anchors := map[string]map[string]bool{}
	for name, text := range sources {
		if path.Ext(name) == ".md" {
			anchors[name] = anchorsOf(text)
		}
	}
	links := 0
	check := func(from, target, fragment string) {
		links++
		known, isPage := anchors[target]
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
			t.Errorf("%s: there is no %s", from, target)
		} else if fragment != "" && isPage && !known[fragment] {
			t.Errorf("%s: %s has no #%s", from, target, fragment)
		}
	}
	for name, text := range sources {
		if path.Ext(name) != ".md" {
			for _, m := range citation.FindAllStringSubmatch(text, -1) {
				check(name, m[1], m[2])
			}
			continue
		}
		prose := codeSpan.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
		found := append(inlineLink.FindAllStringSubmatch(prose, -1), linkTarget.FindAllStringSubmatch(prose, -1)...)
		for _, m := range found {
			if strings.Contains(m[1], ":") {
				continue // another site's
			}
			target, fragment, _ := strings.Cut(m[1], "#")
			if target == "" {
				target = name
			} else {
				target = path.Join(path.Dir(name), target)
			}
			check(name, target, fragment)
		}
	}
	if links < 200 {
		t.Errorf("only %d links were found", links)
	}
}

// TestPaths shows that files and folders named in code spans exist. A name may be a prefix of several. CHANGELOG.md may
// name what is gone.
func TestPaths(t *testing.T) {
	for name, text := range sourceFiles(t) {
		if path.Ext(name) != ".md" || name == "CHANGELOG.md" {
			continue
		}
		for _, m := range namedPath.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if files, err := filepath.Glob(filepath.Join(root, m[1]) + "*"); err != nil || len(files) == 0 {
				t.Errorf("%s: there is no %s (%v)", name, m[1], err)
			}
		}
	}
}

// sourceFiles returns the pages, programs and scripts of the checkout by their paths from its root.
func sourceFiles(t *testing.T) map[string]string {
	t.Helper()
	sources, err := readSources()
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

var readSources = sync.OnceValues(func() (map[string]string, error) {
	sources := map[string]string{}
	return sources, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != root && (strings.HasPrefix(name, ".") || slices.Contains(notSources, name)) {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".md", ".go", ".py", ".sh":
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(root, file)
			sources[filepath.ToSlash(relative)] = string(text)
			return err
		}
		return nil
	})
})

// anchorsOf returns the anchors of a page.
func anchorsOf(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range anchor.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		found[slug(linkText.ReplaceAllString(m[1], "$1"))] = true
	}
	return found
}

package main

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// walks are the walks of CONTRIBUTING.md, by the words with which they begin, with the spellings of their examples in
// the source files of some folders. Tests are left out.
var walks = []struct {
	title            string
	example, folders []string
}{
	{title: "**A Chat field**", example: []string{`"seed"`, "sampling_seed", "s.Seed", " Seed string"},
		folders: []string{"harmonycore", "filter", "operator", "services", "sim"}},
	{title: "**A server kind**", example: []string{"VLLMGenerate", "vllmGenerate", `"vllm-generate"`},
		folders: []string{"cmd", "controlplane", "e2e", "envoy", "filter", "harmonycore", "inspect", "operator", "services",
			"sim"}},
	// Requests have a HideReasoning of their own.
	{title: "**A setting**", example: []string{"nswers.HideReasoning", "a.HideReasoning", "hide_reasoning"},
		folders: []string{"cmd", "controlplane", "envoy", "filter", "harmonycore", "inspect", "operator", "services",
			"sight"}},
	{title: "A setting that the filter does not read", example: []string{"p.Capacity", `yaml:"capacity"`},
		folders: []string{"cmd", "controlplane", "envoy", "operator", "services"}},
	{title: "**A metric**", example: []string{"DroppedParts", "harmony_dropped_parts_total"},
		folders: []string{"controlplane", "filter", "harmonycore", "inspect", "services", "sight", "tools"}},
	{title: "**A built-in tool**", example: []string{"IsBuiltIn(", "ContainerNamespace", "ContainerTools(",
		"newBuiltInTools(", `"container"`},
		folders: []string{"harmonycore", "operator/config", "services", "e2e/grammar", "e2e/lab", "tools/harmonyvectors"}},
	{title: "A tool that its client runs", example: []string{"LocalShell", `"local_shell`},
		folders: []string{"harmonycore", "operator", "services", "e2e/grammar"}},
}

// TestWalks searches the tree for the example of each walk of CONTRIBUTING.md. The walk must name each file that has
// it.
func TestWalks(t *testing.T) {
	sources := sourceFiles(t)
	page := sources["CONTRIBUTING.md"]
	for i, walk := range walks {
		_, text, found := strings.Cut(page, "\n"+walk.title)
		if !found {
			t.Errorf("there is no walk %q", walk.title)
			continue
		}
		end := "\n## "
		if i+1 < len(walks) {
			end = "\n" + walks[i+1].title
		}
		text, _, _ = strings.Cut(text, end)
		named := placesOf(text)
		files := 0
		for name, source := range sources {
			at := slices.IndexFunc(walk.example, func(e string) bool { return strings.Contains(source, e) })
			if at < 0 || !isUnder(name, walk.folders) || strings.HasSuffix(name, "_test.go") || path.Ext(name) == ".md" {
				continue
			}
			files++
			if !slices.Contains(named, name) {
				t.Errorf("%s: %s is in %s too", walk.title, walk.example[at], name)
			}
		}
		if files == 0 {
			t.Errorf("%s: no file has the example", walk.title)
		}
	}
}

// isUnder reports whether a file is one of the places, or in a folder that is one.
func isUnder(name string, places []string) bool {
	return slices.ContainsFunc(places, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
}

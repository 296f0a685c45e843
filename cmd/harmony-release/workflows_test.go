package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
)

// workflow is what is checked of a file in .github/workflows.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Steps []struct {
			Uses string
			With map[string]any
		}
	}
}

var pinned = regexp.MustCompile(`(?m)^ *- uses: ([a-z0-9-]+/[a-z0-9-]+)@([0-9a-f]{40}) # v[0-9.]+$`)

// TestWorkflows: workflows run actions of a pinned commit, the same one in all of them, with the same Go. Without
// permissions of its own a job may only read.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	commits, versions := map[string]string{}, map[any]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: permissions %v", file, w.Permissions)
		}
		var used, pins []string
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				if step.Uses != "" {
					used = append(used, step.Uses)
				}
				if version := step.With["go-version"]; version != nil {
					versions[version] = true
				}
			}
		}
		for _, m := range pinned.FindAllStringSubmatch(string(text), -1) {
			pins = append(pins, m[1]+"@"+m[2])
			if commits[m[1]] == "" {
				commits[m[1]] = m[2]
			}
			if commits[m[1]] != m[2] {
				t.Errorf("%s: %s is %s, elsewhere %s", file, m[1], m[2], commits[m[1]])
			}
		}
		slices.Sort(used)
		slices.Sort(pins)
		if len(used) == 0 || !slices.Equal(used, pins) {
			t.Errorf("%s: uses %q, of which these are pinned: %q", file, used, pins)
		}
	}
	if len(versions) != 1 {
		t.Errorf("versions of Go: %v", versions)
	}
}

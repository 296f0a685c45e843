package main

import (
	"os"
	"path/filepath"
	"testing"
)

const root = "../.."

// TestIndex shows that RATIONALE.md is up to date and that every file in docs/rationale is a chapter.
func TestIndex(t *testing.T) {
	want, err := index(root)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(root, "RATIONALE.md")); err != nil || string(got) != string(want) {
		t.Errorf("RATIONALE.md is not what docs/rationale makes it (%v): make rationale", err)
	}
	files, err := filepath.Glob(filepath.Join(root, "docs/rationale/*.md"))
	if err != nil || len(files) != len(chapters) {
		t.Errorf("%d files in docs/rationale for %d chapters (%v)", len(files), len(chapters), err)
	}
}

// TestSlug compares anchors with those that GitHub gives.
func TestSlug(t *testing.T) {
	for heading, want := range map[string]string{
		"19. Why do large texts stay in the request's body?": "19-why-do-large-texts-stay-in-the-requests-body",
		"6. Why `response.failed`?":                          "6-why-responsefailed",
		"Übersicht: A & B_c":                                 "übersicht-a--b_c",
	} {
		if got := slug(heading); got != want {
			t.Errorf("slug(%q) = %q, want %q", heading, got, want)
		}
	}
}

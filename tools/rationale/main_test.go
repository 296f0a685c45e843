package main

import (
	"os"
	"path/filepath"
	"strings"
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

// TestReadFirst shows that the index begins with the 15 marked entries.
func TestReadFirst(t *testing.T) {
	page, err := index(root)
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "\n## Read these first\n")
	list, _, _ = strings.Cut(list, "\n## ")
	if n := strings.Count(list, "\n- ["); n != 15 {
		t.Errorf("%d entries are marked \"*Read first: …*\", not 15; a newcomer reads no more:\n%s", n, list)
	}
}

// TestMarks shows that a mark that is not a paragraph below its heading is a mistake, and is not passed over.
func TestMarks(t *testing.T) {
	for mark, wrong := range map[string]bool{
		"## 1. Why?\n\n*Read first: because.*\n\n**Decision.** So.\n": false,
		"## 1. Why?\n\n**Decision.** So.\n":                           false,
		"## 1. Why?\n*Read first: because.*\n\n**Decision.** So.\n":   true,
		"## 1. Why?\n\n**Decision.** So.\n\n*Read first: because.*\n": true,
		"## 1. Why?\n\n*Read first.*\n\n**Decision.** So.\n":          true,
	} {
		folder := t.TempDir()
		if err := os.MkdirAll(filepath.Join(folder, "docs/rationale"), 0o755); err != nil {
			t.Fatal(err)
		}
		for i, chapter := range chapters {
			text := "# Chapter\n\n"
			if i == 0 {
				text += mark
			}
			if err := os.WriteFile(filepath.Join(folder, "docs/rationale", chapter+".md"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := index(folder); (err != nil) != wrong {
			t.Errorf("%q: %v", mark, err)
		}
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

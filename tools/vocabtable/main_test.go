package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestWrite: a file is written whole, and one that has the content already keeps its time, so that make does not build
// what needs it again.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	for _, content := range []string{"old", "a longer table", "short"} {
		if err := write(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Fatalf("%q, %v; want %q", got, err, content)
		}
	}
	past := time.Unix(1_000_000, 0)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	if err := write(path, []byte("short")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(past) {
		t.Errorf("a file with the same content was written again: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".table-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if err := write(filepath.Join(path, "below a file"), bytes.Repeat([]byte("x"), 9)); err == nil {
		t.Error("no error where nothing can be written")
	}
}

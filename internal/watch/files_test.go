package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// watched returns a Files that watches paths, and closes it when the test ends.
func watched(t *testing.T, paths ...string) *Files {
	t.Helper()
	f := New(nil)
	t.Cleanup(f.Close)
	f.Set(paths)
	return f
}

// awaitChange fails unless an event reports the change, well before the files would be read again.
func awaitChange(t *testing.T, f *Files) {
	t.Helper()
	start := time.Now()
	select {
	case <-f.Changed():
		t.Logf("told after %v", time.Since(start))
	case <-time.After(rereadInterval * 6 / 10):
		t.Fatal("the change is not told")
	}
}

// drainChanges takes the value that reports the rest of a change that came in several steps.
func drainChanges(t *testing.T, f *Files) {
	t.Helper()
	f.check()
	select {
	case <-f.Changed():
	default:
	}
	expectNoChange(t, f)
}

// expectNoChange reads the files once more, as run would later, and fails if something has changed.
func expectNoChange(t *testing.T, f *Files) {
	t.Helper()
	f.check()
	select {
	case <-f.Changed():
		t.Fatal("a change is told and there is none")
	default:
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// must fails the test if a step of its preparation fails.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestChanges replaces a file in each way that programs use, and expects one report.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name           string
		prepare, alter func(t *testing.T, dir string)
	}{
		{"in place", nil, func(t *testing.T, dir string) { write(t, filepath.Join(dir, "f"), "two") }},
		{"by rename", nil, func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".f.tmp"), "two")
			must(t, os.Rename(filepath.Join(dir, ".f.tmp"), filepath.Join(dir, "f")))
		}},
		{"with a backup first, as vim", nil, func(t *testing.T, dir string) {
			must(t, os.Rename(filepath.Join(dir, "f"), filepath.Join(dir, "f~")))
			write(t, filepath.Join(dir, "f"), "two")
			must(t, os.Remove(filepath.Join(dir, "f~")))
		}},
		{"removed", nil, func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "f"))) }},
		{"made", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "f"))) },
			func(t *testing.T, dir string) { write(t, filepath.Join(dir, "f"), "one") }},
		{"its folder replaced", nil, func(t *testing.T, dir string) {
			must(t, os.Rename(dir, dir+".old"))
			must(t, os.Mkdir(dir, 0o700))
			write(t, filepath.Join(dir, "f"), "two")
		}},
		{"its folder made", func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) }, func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700))
			write(t, filepath.Join(dir, "f"), "one")
		}},
		{"behind a symlink", func(t *testing.T, dir string) {
			other := t.TempDir()
			write(t, filepath.Join(other, "real"), "one")
			must(t, os.Remove(filepath.Join(dir, "f")))
			must(t, os.Symlink(filepath.Join(other, "real"), filepath.Join(dir, "f")))
		}, func(t *testing.T, dir string) {
			real, err := filepath.EvalSymlinks(filepath.Join(dir, "f"))
			must(t, err)
			write(t, real, "two")
		}},
		// This is a volume of Kubernetes: f -> ..data/f, ..data -> ..1. An update makes ..2 and replaces ..data by a rename.
		{"a volume of Kubernetes", func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "f")))
			must(t, os.Mkdir(filepath.Join(dir, "..1"), 0o700))
			write(t, filepath.Join(dir, "..1", "f"), "one")
			must(t, os.Symlink("..1", filepath.Join(dir, "..data")))
			must(t, os.Symlink(filepath.Join("..data", "f"), filepath.Join(dir, "f")))
		}, func(t *testing.T, dir string) {
			must(t, os.Mkdir(filepath.Join(dir, "..2"), 0o700))
			write(t, filepath.Join(dir, "..2", "f"), "two")
			must(t, os.Symlink("..2", filepath.Join(dir, "..data_tmp")))
			must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
			must(t, os.RemoveAll(filepath.Join(dir, "..1")))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			must(t, os.Mkdir(dir, 0o700))
			write(t, filepath.Join(dir, "f"), "one")
			if c.prepare != nil {
				c.prepare(t, dir)
			}
			f := watched(t, filepath.Join(dir, "f"))
			expectNoChange(t, f)
			c.alter(t, dir)
			awaitChange(t, f)
			drainChanges(t, f)
		})
	}
}

// TestSameContent checks that a file does not count as changed when it is written with the same content, or when
// another file of its folder changes.
func TestSameContent(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "one")
	write(t, filepath.Join(dir, "g"), "one")
	f := watched(t, filepath.Join(dir, "f"))
	f.mu.Lock() // check waits while the file is half written
	write(t, filepath.Join(dir, "f"), "one")
	write(t, filepath.Join(dir, "neighbour"), "two")
	folder := f.folders[dir]
	f.mu.Unlock()
	expectNoChange(t, f)
	if places := *f.watchedPaths.Load(); !folder || !places[filepath.Join(dir, "f")] ||
		places[filepath.Join(dir, "neighbour")] {
		t.Error("the folder is not watched, or its other files are")
	}
}

// TestSet checks three kinds of files: one in both sets keeps its last known content, a new one counts as it is, and
// changes of one that is no longer in the set are not reported.
func TestSet(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	write(t, filepath.Join(one, "f"), "one")
	write(t, filepath.Join(two, "f"), "one")
	f := watched(t, filepath.Join(one, "f"))
	write(t, filepath.Join(one, "f"), "two")
	write(t, filepath.Join(two, "f"), "two")
	f.Set([]string{filepath.Join(one, "f"), filepath.Join(two, "f")})
	awaitChange(t, f) // one/f has changed
	drainChanges(t, f)
	f.Set([]string{filepath.Join(two, "f")})
	write(t, filepath.Join(one, "f"), "three")
	expectNoChange(t, f)
	f.mu.Lock()
	if f.folders[one] || !f.folders[two] {
		t.Errorf("watched are %v, want that of the one file alone", f.folders)
	}
	f.mu.Unlock()
	write(t, filepath.Join(two, "f"), "three")
	awaitChange(t, f)
}

// TestRead checks that only regular files are read, because reading others may block, and only up to the limit.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	expectNoChange(t, watched(t, dir, os.DevNull))
	file := filepath.Join(dir, "f")
	write(t, file, "four")
	if data, err := Read(file, 4); err != nil || string(data) != "four" {
		t.Errorf("got %q, %v", data, err)
	}
	for path, want := range map[string]string{
		dir: "not a regular file", os.DevNull: "not a regular file", file: "larger than 3 bytes"} {
		if _, err := Read(path, 3); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

func TestSymlinkChain(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	link := func(target, name string) { must(t, os.Symlink(target, filepath.Join(dir, name))) }
	must(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	write(t, filepath.Join(dir, "a", "b", "f"), "")
	link("a", "relative")
	link(filepath.Join(dir, "a")+"/", "absolute")
	link("../"+filepath.Base(dir)+"/relative/./b/f", "long")
	link("circle", "circle")
	for path, want := range map[string][]string{
		"a/b/f":        {"a/b/f"},
		"relative/b/f": {"relative", "a/b/f"},
		"absolute/b/f": {"absolute", "a/b/f"},
		"long":         {"long", "relative", "a/b/f"},
		"a/none/f":     {"a/none"},
		"none":         {"none"},
	} {
		var got []string
		for _, p := range symlinkChain(filepath.Join(dir, path)) {
			if rel, err := filepath.Rel(dir, p.path()); err == nil && fs.ValidPath(rel) {
				got = append(got, rel)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if n := len(symlinkChain(filepath.Join(dir, "circle"))); n != maxLinks+1 {
		t.Errorf("a circle has %d places", n)
	}
}

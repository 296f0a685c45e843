package record

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// namesIn returns the names of a folder's files, and how many bytes its records have together.
func namesIn(t *testing.T, folder string) (names []string, size int64) {
	t.Helper()
	all, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		info, err := one.Info()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, one.Name())
		if info.Mode().IsRegular() && isRecord(one.Name()) {
			size += info.Size()
		}
	}
	return names, size
}

// TestFolderLimit: the oldest records go, also from earlier runs, and nothing else in the folder does.
func TestFolderLimit(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"20260102T030405.006Z-first.jsonl", "20260102T030405.007Z-second.jsonl", "notes.jsonl",
		"20260102T030405.006Z-first.txt", "20260102T030405.006Z-.jsonl", "20261302T030405.006Z-x.jsonl"} {
		if err := os.WriteFile(filepath.Join(folder, name), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "20260102T030405.005Z-folder.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRecorder(t, Options{Folder: folder, FolderLimit: MinFolderLimit})
	if r.files.used != 2000 || len(r.files.ended) != 2 {
		t.Fatalf("%d bytes of %d earlier records", r.files.used, len(r.files.ended))
	}
	r.files.limit = 20_000
	for i := range 100 {
		var b batch
		b.begin(uint32(i), fmt.Sprint("r", i), vllmHead()).add(tap.End, uint32(i), 5, "{}").post(t, r, "1")
		if _, size := namesIn(t, folder); size != r.files.used || size > r.files.limit {
			t.Fatalf("after %d: the records have %d bytes, and %d are counted", i, size, r.files.used)
		}
	}
	names, size := namesIn(t, folder)
	all := strings.Join(names, " ")
	if size < 10_000 || !strings.Contains(all, "-r99.jsonl") || strings.Contains(all, "-r0.jsonl") ||
		strings.Contains(all, "second") {
		t.Errorf("%d bytes: %s", size, all)
	}
	for _, name := range []string{"notes.jsonl", "-first.txt", "Z-.jsonl", "20261302", "-folder.jsonl"} {
		if !strings.Contains(all, name) {
			t.Errorf("%s is gone: %s", name, all)
		}
	}
}

// TestMaxFiles: of small records, the number is what ends first.
func TestMaxFiles(t *testing.T) {
	folder := t.TempDir()
	r := newRecorder(t, Options{Folder: folder, FolderLimit: MinFolderLimit})
	r.files.maxFiles = 3
	for i := range 10 {
		var b batch
		b.begin(uint32(i), fmt.Sprint("r", i), vllmHead()).add(tap.End, uint32(i), 5, "{}").post(t, r, "1")
		if names, _ := namesIn(t, folder); len(names) > 4 {
			t.Errorf("%d files", len(names))
		}
	}
}

// TestFolderIsFull: requests that run at once cannot fill the disk either. Their lines stay whole.
func TestFolderIsFull(t *testing.T) {
	folder := t.TempDir()
	log := &strings.Builder{}
	r := newRecorder(t, Options{Folder: folder, FolderLimit: MinFolderLimit, Log: slog.New(slog.NewTextHandler(log, nil))})
	r.files.limit = 10_000
	for i := range 50 {
		var b batch
		b.begin(uint32(i), fmt.Sprint("r", i), vllmHead()).post(t, r, "1")
	}
	names, size := namesIn(t, folder)
	if size > r.files.limit || size < 5_000 || strings.Count(log.String(), "up to its limit") == 0 {
		t.Errorf("%d bytes, log %s", size, log)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(text); n > 0 && text[n-1] != '\n' {
			t.Errorf("%s ends within a line: %.100s", name, text[max(n-100, 0):])
		}
	}
	var b batch
	for i := range 50 {
		b.add(tap.End, uint32(i), 5, "{}")
	}
	b.post(t, r, "1")
	b.begin(99, "later", vllmHead()).add(tap.End, 99, 5, "{}").post(t, r, "1")
	names, size = namesIn(t, folder)
	if all := strings.Join(names, " "); !strings.Contains(all, "-later.jsonl") || size > r.files.limit {
		t.Errorf("%d bytes, and afterwards there is no room again: %s", size, all)
	}
}

// TestFullDiskIsLoggedSeldom: on a full disk each request fails by itself, since its file can be made. The log has a
// line in each minute, with their number.
func TestFullDiskIsLoggedSeldom(t *testing.T) {
	log := &strings.Builder{}
	now := time.Unix(1_800_000_000, 0)
	r := newRecorder(t, Options{Folder: t.TempDir(), FolderLimit: MinFolderLimit,
		Log: slog.New(slog.NewTextHandler(log, nil)), Now: func() time.Time { return now }})
	stream := uint32(0)
	record := func(n int) {
		for range n {
			stream++
			var b batch
			b.begin(stream, fmt.Sprint("r", stream), vllmHead()).add(tap.End, stream, 5, "{}").post(t, r, "1")
		}
	}
	lines := func(want ...string) {
		t.Helper()
		got := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
		if log.Len() == 0 {
			got = nil
		}
		log.Reset()
		ok := len(got) == len(want)
		for i := range want {
			ok = ok && strings.Contains(got[i], want[i])
		}
		if !ok {
			t.Errorf("the log has %q, want %q", got, want)
		}
	}
	record(5)
	lines()
	limit := r.files.limit
	r.files.limit = 1
	record(100)
	lines("cannot write records' files")
	now = now.Add(logInterval - 1)
	record(100)
	lines()
	now = now.Add(1)
	record(100)
	lines("records=200") // of the 100 of the first minute one was in its line
	r.files.limit = limit
	record(5)
	lines()
	now = now.Add(logInterval)
	record(5)
	lines("msg=\"records' files are written again\" records_not_written=99")
	now = now.Add(logInterval)
	record(5)
	lines()
}

func TestFolderLimitIsTooSmall(t *testing.T) {
	if _, err := New(Options{Folder: t.TempDir(), FolderLimit: 1 << 20}); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("got %v", err)
	}
}

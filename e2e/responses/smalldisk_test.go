//go:build e2e && smalldisk

package responses

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestSmallDisk fills a real disk, a small one that is mounted at $HARMONY_SMALL_DISK: first with conversations, then
// every last byte. Stored responses can be deleted, as often as is wished and after a restart as well, and new ones
// take their room.
func TestSmallDisk(t *testing.T) {
	folder := os.Getenv("HARMONY_SMALL_DISK")
	f := startFleet(t, "wazero", filepath.Join(folder, "responses.db"), "", 1, atOnce())
	one, two := f.Create(`"input":"first question"`), f.Create(`"input":"second question"`)
	large := `{"items":[{"type":"message","role":"user","content":"` + strings.Repeat("x", 1<<20) + `"}]}`
	post := func() (id string, full bool) {
		t.Helper()
		a := lab.Do(f.Client, "POST", f.URL+"/v1/conversations", nil, strings.NewReader(large))
		if full = a.Status == 507; full {
			return "", true
		}
		var c struct{ ID string }
		f.Object("ConversationResource", a, &c)
		return c.ID, false
	}
	others := fill(t, filepath.Join(folder, "others"), 24<<20)
	var ids []string
	for id, full := post(); !full; id, full = post() {
		ids = append(ids, id)
	}
	if len(ids) < 10 {
		t.Fatalf("the disk is full with %d conversations", len(ids))
	}
	rest := fill(t, filepath.Join(folder, "rest"), math.MaxInt)
	remove := func(path string) {
		t.Helper()
		f.Do("DELETE", path, "", 200)
	}
	f.Refused("POST", "conversations", large, 507, "store_full")
	remove("responses/" + one.ID)
	for range 3 { // more than the room that was given up
		for len(ids) > 0 {
			remove("conversations/" + ids[0])
			ids = ids[1:]
		}
		for id, full := post(); !full; id, full = post() {
			ids = append(ids, id)
		}
		if len(ids) < 10 {
			t.Fatalf("%d conversations have room where there were more", len(ids))
		}
	}
	f.replicas[0].restart()
	remove("responses/" + two.ID)

	others()
	rest()
	for range 2 { // more than was removed
		if _, full := post(); full {
			t.Error("the disk has room, and the store has none")
		}
	}
	f.replicas[0].interrupt() // SQLite removes its log, and needs room for a new one
	fill(t, filepath.Join(folder, "rest"), math.MaxInt)
	f.replicas[0].launch()
	remove("conversations/" + ids[0])
}

// fill takes so much of a disk, or all that is left, and returns what gives it back.
func fill(t *testing.T, path string, size int) (free func()) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; err == nil && n < size; n += 4096 {
		_, err = fmt.Fprintf(file, "%4096d", 0)
	}
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	file.Close()
	return func() {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

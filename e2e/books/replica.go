//go:build e2e

package books

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/services/limits"
	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

// replica is one run of harmony limits.
type replica struct {
	*lab.Program
	address, status string
}

// startReplica runs a replica. options are more of its flags.
func startReplica(t *testing.T, keys string, options ...string) *replica {
	t.Helper()
	r := &replica{Program: lab.RunHarmony(t, nil, append([]string{"limits", "--keys", keys, "--listen", "127.0.0.1:0",
		"--status", "127.0.0.1:0"}, options...)...)}
	r.address = r.Announced(t, `serving Envoys on (\S+)`)
	r.status = r.Announced(t, `ready: (\S+)/ready`)
	return r
}

// awaitBooks returns the sum of the books when nothing is open, and so much was used. A reservation whose settlement
// never comes is lost after the lifetime of its slot. A settlement without a reservation may come late. Up to missing
// tokens may never be settled, of settlements that a replica was asked for when it was killed.
func (r *replica) awaitBooks(t *testing.T, used, missing int64) ledger.Book {
	t.Helper()
	for end := time.Now().Add(lab.Patience); ; time.Sleep(20 * time.Millisecond) {
		b := r.books(t).Sum
		if b.OpenRequests == 0 && b.Used == used {
			return b
		}
		if time.Now().After(end) {
			if b.OpenRequests == 0 && b.Used < used && b.Used >= used-missing {
				return b
			}
			t.Errorf("the access logs say that %d were used, and the ledger has %+v", used, b)
			return b
		}
	}
}

// books returns what the replica says of all clients. Each of its books balances.
func (r *replica) books(t *testing.T) limits.Books {
	t.Helper()
	resp, err := http.Get(r.status + "/books")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b limits.Books
	if err := json.NewDecoder(resp.Body).Decode(&b); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("books: %s %v", resp.Status, err)
	}
	for i := range b.Books {
		if err := b.Books[i].Balance(); err != nil {
			t.Error(err)
		}
	}
	return b
}

// writeKeys writes a keys file into a folder of its own and returns its path.
func writeKeys(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

//go:build e2e

package books

import (
	"io"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

// TestServiceFails has what becomes of requests while the ledger, and then the whole service, does not answer: they are
// let through and count at their end, or they are refused, as it is configured.
func TestServiceFails(t *testing.T) {
	for _, c := range []struct {
		onFailure string
		status    int
	}{{"allow", 200}, {"refuse", 503}} {
		t.Run(c.onFailure, func(t *testing.T) {
			f := startFleet(t, map[string]string{"a": "tokens_per_day: 100000"}, ", on_failure: "+c.onFailure)
			ask := func(want int) {
				t.Helper()
				resp, err := f.post(t.Context(), 0, "a", 5, 8)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != want || want != 200 && !strings.Contains(string(body), `{"error":{`) {
					t.Fatalf("%s %v %s, want %d", resp.Status, err, body, want)
				}
			}
			sum := func() ledger.Book { return f.replicas[0].books(t).Sum }
			ask(200)
			until(t, "the first request is settled", func() bool { return sum().Used > 0 && sum().OpenRequests == 0 })
			used := sum().Used

			f.redis.Kill(t)
			ask(c.status)
			f.redis.Start() // it is empty
			if c.status == 200 {
				until(t, "what was let through counts", func() bool { return sum().Unreserved == used && sum().Used == used })
			}
			ask(200)

			for _, r := range f.replicas {
				r.Kill(t)
			}
			ask(c.status)
		})
	}
}

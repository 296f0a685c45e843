//go:build e2e

package books

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

// TestProtocol has what Envoy's rate limit filter sends, and what becomes of the service's answers.
func TestProtocol(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer server.Close()
	service := startReplica(t, writeKeys(t,
		"clients: [{name: acme, limits: {requests_per_minute: 100, tokens_per_day: 1000}}]"))
	address := startProxy(t, []string{server.Listener.Addr().String()}, []string{service.address}).address

	for _, c := range []struct {
		id, reserve, used string
		status            int
		headers, body     string
	}{
		{"a", "400", "150", 200, `x-ratelimit-limit-requests: 100; x-ratelimit-remaining-requests: 99; ` +
			`x-ratelimit-reset-requests: 600ms; x-ratelimit-limit-tokens: 1000; x-ratelimit-remaining-tokens: 600; ` +
			`x-ratelimit-reset-tokens: 9h36m0s`, "ok"},
		{"b", "900", "0", 429, "content-type: application/json; x-ratelimit-limit-tokens: 1000; x-envoy-ratelimited: true",
			`"message":"Rate limit reached for all models on tokens per day (TPD): Limit 1000, Used 150, Requested 900. ` +
				`Please try again in 1h11m5`},
		{"c", "2000", "0", 429, "x-should-retry: false; retry-after: ", `"code":"rate_limit_exceeded"`},
		// A filter that fails says nothing of the end: the reservation stays, until its slot ends.
		{"d", "300", "", 200, "x-ratelimit-remaining-tokens: 550", "ok"},
		// A filter that names no reservation limits nothing.
		{"", "300", "20", 200, "x-ratelimit-remaining-tokens: ", "ok"},
	} {
		resp := send(t, address, "acme", c.id, c.reserve, c.used)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.body) {
			t.Errorf("%s: %s %v\n got %s\nwant %s", c.id, resp.Status, err, body, c.body)
		}
		if c.id == "a" {
			until(t, "a is settled", func() bool { return service.books(t).Sum.Used == 150 })
		}
		for header := range strings.SplitSeq(c.headers, "; ") {
			if name, want, _ := strings.Cut(header, ": "); resp.Header.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", c.id, name, resp.Header.Get(name), want)
			}
		}
	}
	want := ledger.Book{Client: "acme", Model: lab.Model, Requests: 2, Refused: 2, Reserved: 700, Used: 150, Refunded: 250,
		Open: 300, OpenRequests: 1}
	until(t, "the books are complete", func() bool {
		b := service.books(t).Books
		return len(b) == 1 && b[0] == want
	})
}

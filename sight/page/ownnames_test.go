package page

import (
	"net/http"
	"strings"
	"testing"
)

// TestOwnNames checks that everything is refused under a name of someone else, also what was there before the page.
func TestOwnNames(t *testing.T) {
	s := source()
	s.OwnNames = true
	server := serve(t, s)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if status, body := ask(t, server, method, "/stats", "Host", "evil.example"); status != http.StatusForbidden ||
			!strings.Contains(body, "unknown_host") {
			t.Errorf("%s: %d, %s", method, status, body)
		}
		for _, host := range []string{"localhost:9901", "127.0.0.1", "[::1]:9901"} {
			if status, body := ask(t, server, method, "/stats", "Host", host); status != http.StatusOK {
				t.Errorf("%s of %s: %d, %s", method, host, status, body)
			}
		}
	}
}

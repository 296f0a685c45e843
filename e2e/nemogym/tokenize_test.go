//go:build e2e

package nemogym

import (
	"maps"
	"net/http"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestTokenize asks the gateway's /tokenize what a VLLMModel has asked its server's. The server must get the same, and
// the client the server's ids.
func TestTokenize(t *testing.T) {
	asked := 0
	for _, v := range readVectors(t) {
		for i := range v.Turns {
			for _, s := range v.Turns[i].Sent {
				if s.Path != "/tokenize" {
					continue
				}
				asked++
				t.Run(v.String(), func(t *testing.T) {
					server := runScripted(t)
					host := lab.RunNative(t, configuration(t, &vector{}, server.url))
					body := maps.Clone(s.Body)
					body["model"] = "any-name"
					server.next(v.Turns[i].Answer)
					a := lab.Ask(lab.HTTP1(t), host.URL+"/tokenize", encode(t, body))
					if a.Err != nil || a.Status != http.StatusOK {
						t.Fatalf("got %+v", a)
					}
					want := map[string]any{"tokens": v.Turns[i].Answer["tokenize"]}
					got := map[string]any{"tokens": object(t, a.Body)["tokens"]}
					found := compare(nil, "answer", want, got)
					if requests := server.requests(); len(requests) == 1 {
						found = compare(found, "sent", s.Body, requests[0].Body)
					} else {
						t.Errorf("the server was asked %d times", len(requests))
					}
					for _, d := range found {
						t.Errorf("%s: %s, want %s", d.path, shown(t, d.ours), shown(t, d.theirs))
					}
				})
			}
		}
	}
	if asked == 0 {
		t.Error("no vector asks /tokenize")
	}
}

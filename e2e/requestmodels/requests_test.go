//go:build e2e

package requestmodels

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// requestsTo returns the names of the suite's cases that reach a server of a kind, and the requests to it, one a line.
func requestsTo(t *testing.T, kind string) (names []string, requests []byte) {
	t.Helper()
	for _, c := range cases.All(t) {
		config, err := c.On(kind).Config("http://127.0.0.1:9") // never reached
		if err != nil {
			t.Fatal(err)
		}
		config.Mode = contract.ModeFull
		action, _ := c.Begin(exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary}))
		// Raw prompts that a client may send pass as they are.
		if action.Forward != nil && action.Forward.Body != nil && c.API() != "" {
			names = append(names, c.Name)
			requests = append(append(requests, action.Forward.Body...), '\n')
		}
	}
	return names, requests
}

// apisOf returns the APIs of the suite's cases.
func apisOf(t *testing.T) map[string]string {
	t.Helper()
	apis := map[string]string{}
	for _, c := range cases.All(t) {
		apis[c.Name] = c.API()
	}
	return apis
}

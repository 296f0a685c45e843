package e2e

import (
	"flag"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
)

var update = flag.Bool("update", false, "write what the native host does into the cases")

// seen is what a run of a case shows: the client's side, and the prompt on the server's.
type seen struct {
	view   string
	prompt string
	ids    []uint32
}

// start is a host that one case is run on.
type start func(hosts.Setup) (*hosts.Host, error)

func runCase(t *testing.T, c *testCase, on start, cut int) seen {
	t.Helper()
	server, err := c.server()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config, err := c.config(url)
	if err != nil {
		t.Fatal(err)
	}
	host, err := on(hosts.Setup{Config: config, Cut: cut})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Stop()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	view, err := send(client, host.URL, c)
	if err != nil {
		t.Fatal(err)
	}
	out := seen{view: view.text, prompt: "none\n"}
	for _, r := range server.Requests() {
		if len(r.PromptIDs) > 0 {
			out.ids = r.PromptIDs
			out.prompt = vocabulary.DecodeString(r.PromptIDs) + "\n"
		}
	}
	return out
}

// TestSuite runs every case natively, whole and cut into single bytes, and on Envoy with the filter that ships. What
// the client sees and what the server gets must be the same everywhere, and equal to what the case says.
func TestSuite(t *testing.T) {
	var (
		mu       sync.Mutex
		requests []oracleRequest
		prompts  []seen
		names    []string
	)
	for _, c := range loadCases(t) {
		t.Run(c.name, func(t *testing.T) {
			native := runCase(t, c, hosts.Native, 0)
			if *update {
				if err := c.update(native.view, native.prompt); err != nil {
					t.Fatal(err)
				}
			} else {
				compare(t, "native", native, seen{view: c.member("want"), prompt: c.member("prompt")})
			}
			compare(t, "native, one byte at a time", runCase(t, c, hosts.Native, 1), native)
			compare(t, "envoy", runCase(t, c, hosts.Envoy, 0), native)
			if api, ok := isTranslated(c); ok && native.ids != nil {
				r := oracleRequest{API: api, Body: c.body, Effort: "medium"}
				date := caseDate
				if set, ok := c.settings["date"]; ok {
					date = set
				}
				if date != "omit" {
					r.Date = &date
				}
				if effort, ok := c.settings["effort"]; ok {
					r.Effort = effort
				}
				mu.Lock()
				defer mu.Unlock()
				requests, prompts, names = append(requests, r), append(prompts, native), append(names, c.name)
			}
		})
	}
	t.Run("prompts equal the reference's", func(t *testing.T) {
		if len(requests) == 0 {
			t.Fatal("no case reached a server")
		}
		for i, answer := range askOracle(t, requests) {
			if err := sameIDs(prompts[i].ids, answer.IDs); err != nil {
				t.Errorf("%s: %v", names[i], err)
			}
		}
		t.Logf("%d prompts equal openai-harmony's", len(requests))
	})
}

func compare(t *testing.T, host string, got, want seen) {
	t.Helper()
	if got.view != want.view {
		t.Errorf("%s: the client sees\n%s\nwant\n%s", host, got.view, want.view)
	}
	if got.prompt != want.prompt {
		t.Errorf("%s: the server gets\n%s\nwant\n%s", host, got.prompt, want.prompt)
	}
}

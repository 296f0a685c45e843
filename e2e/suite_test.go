package e2e

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/sim"
)

var update = flag.Bool("update", false, "write what the native host does into the cases")

// seen is what a run of a case shows: the client's side, and the prompt on the server's.
type seen struct {
	view   string
	prompt string
	ids    []uint32
}

// stage is every host with one configuration, before a server that changes from case to case.
type stage struct {
	server                                      atomic.Pointer[sim.Server]
	native, nativeCut, wazero, wazeroCut, envoy *hosts.Host
}

// newStage starts the hosts for the settings of a case.
func newStage(t *testing.T, c *testCase) *stage {
	t.Helper()
	s := &stage{}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.server.Load().Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(listener.Close)
	config, err := c.config(listener.URL)
	if err != nil {
		t.Fatal(err)
	}
	start := func(on func(hosts.Setup) (*hosts.Host, error), cut int) *hosts.Host {
		host, err := on(hosts.Setup{Config: config, Cut: cut})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(host.Stop)
		return host
	}
	s.native, s.nativeCut, s.envoy = start(hosts.Native, 0), start(hosts.Native, 1), start(hosts.Envoy, 0)
	s.wazero, s.wazeroCut = start(hosts.Wazero, 0), start(hosts.Wazero, 1)
	return s
}

// run runs a case on a host; the server's stream is written in pieces of so many bytes, 0 being whole events.
func (s *stage) run(t *testing.T, c *testCase, on *hosts.Host, pieces int) seen {
	t.Helper()
	server, err := c.server(pieces)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s.server.Store(server)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	view, err := send(client, on.URL, c)
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

// TestSuite runs every case natively, and on Envoy with the filter that ships, each also with the server's stream in
// single bytes. What the client sees and what the server gets must be the same everywhere, and what the case says.
func TestSuite(t *testing.T) {
	stages := map[string]*stage{}
	var asked []oracleRequest
	var prompts []seen
	var names []string
	for _, c := range loadCases(t) {
		key := c.gatewaySettings()
		if stages[key] == nil {
			stages[key] = newStage(t, c)
		}
		s := stages[key]
		t.Run(c.name, func(t *testing.T) {
			native := s.run(t, c, s.native, 0)
			if *update {
				if err := c.update(native.view, native.prompt); err != nil {
					t.Fatal(err)
				}
			} else {
				compare(t, "native", native, seen{view: c.member("want"), prompt: c.member("prompt")})
			}
			compare(t, "native, one byte at a time", s.run(t, c, s.nativeCut, 0), native)
			compare(t, "wazero", s.run(t, c, s.wazero, 0), native)
			compare(t, "wazero, one byte at a time", s.run(t, c, s.wazeroCut, 0), native)
			compare(t, "envoy", s.run(t, c, s.envoy, 0), native)
			compare(t, "envoy, one byte at a time", s.run(t, c, s.envoy, 1), native)
			if api, ok := isTranslated(c); ok && native.ids != nil {
				asked = append(asked, c.oracleRequest(api))
				prompts, names = append(prompts, native), append(names, c.name)
			}
		})
	}
	t.Run("prompts equal the reference's", func(t *testing.T) {
		if len(asked) == 0 {
			t.Fatal("no case reached a server")
		}
		for i, answer := range askOracle(t, asked) {
			if err := sameIDs(prompts[i].ids, answer.IDs); err != nil {
				t.Errorf("%s: %v", names[i], err)
			}
		}
		t.Logf("%d prompts equal openai-harmony's", len(asked))
	})
}

// gatewaySettings are the settings that make a host of its own necessary.
func (c *testCase) gatewaySettings() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(c.settings)) {
		if key != "server_fault" && key != "tokens_per_chunk" {
			fmt.Fprintf(&b, "%s %s\n", key, c.settings[key])
		}
	}
	return b.String()
}

// oracleRequest is the case as the oracle reads it.
func (c *testCase) oracleRequest(api string) oracleRequest {
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
	return r
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

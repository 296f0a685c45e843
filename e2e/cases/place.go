//go:build e2e

package cases

import (
	"net"
	"net/http"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// Place is an address at which the server of one case after another is found.
type Place struct{ server atomic.Pointer[sim.Server] }

// Serve listens for the server, with both protocols in clear text, and returns its URL.
func (p *Place) Serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Protocols: new(http.Protocols), ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.server.Load().Handler().ServeHTTP(w, r) }),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(l) }() // ends with Close
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

// Run runs a case at the gateway of a URL. The server writes pieces of so many bytes, and has so many tokens in an
// event; 0 is as the case says. The caller counts [Seen.Chunks].
func (p *Place) Run(c *Case, url string, pieces, tokens int) (Seen, error) {
	server, err := c.Server(pieces, tokens)
	if err != nil {
		return Seen{}, err
	}
	defer server.Close()
	p.server.Store(server)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	view, err := c.Send(client, url)
	if err != nil {
		return Seen{}, err
	}
	out := Seen{View: view, Prompt: "none\n"}
	for _, r := range server.Requests() {
		if len(r.PromptIDs) > 0 {
			out.IDs = r.PromptIDs
			out.Prompt = lab.Vocabulary.DecodeString(r.PromptIDs) + "\n"
			out.Sent = string(promptField.ReplaceAll(r.Body, []byte(`"prompt":[]`))) + "\n"
		}
	}
	return out, nil
}

var promptField = regexp.MustCompile(`"prompt":\[[0-9,]*\]`)

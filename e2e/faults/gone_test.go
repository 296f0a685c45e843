//go:build e2e

package faults

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestGoneAndSilent has a server that stops listening and keeps its connections, without another byte, as a vLLM does
// that hangs in its shutdown. Its streams end with a reset after the stall timeout, whole answers with 504, and new
// requests fail at once.
func TestGoneAndSilent(t *testing.T) { lab.OnProxies(t, goneAndSilent) }

func goneAndSilent(t *testing.T, run lab.RunProxy) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server := sim.New(sim.Options{Models: []string{lab.Model}, AllowHeaders: true,
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(lab.SixWords)})})
	t.Cleanup(server.Close)
	serving := &http.Server{Handler: server.Handler()}
	t.Cleanup(func() { _ = serving.Close() })
	go func() { _ = serving.Serve(l) }() // until the listener is closed

	c := lab.OneModel("http://" + l.Addr().String())
	c.StallTimeout = config.Duration(lab.StallTimeout)
	url, client := run(t, c).URL, lab.HTTP1(t)
	ask := func(path, body string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Sim-Fault", "stall:5")
		return r
	}
	whole := make(chan lab.Answer, 1)
	go func() {
		r := ask(lab.ChatPath, lab.ChatBody(lab.Model, "Hi"))
		whole <- lab.Do(client, r.Method, r.URL.String(), r.Header, r.Body)
	}()
	streams := map[string]*http.Response{}
	for path, body := range map[string]string{lab.ChatPath: lab.ChatBody(lab.Model, "Hi"),
		lab.ResponsesPath: lab.ResponsesBody(lab.Model, "Hi")} {
		response, err := client.Do(ask(path, `{"stream":true,`+body[1:])) // returns with the first token
		if err != nil {
			t.Fatal(err)
		}
		streams[path] = response
	}
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	if _, err := server.Await(ctx, func(list []sim.Request) bool { return len(list) == 3 }); err != nil {
		t.Fatal(err)
	}
	gone := time.Now()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for path, response := range streams {
		got := lab.ReadAnswer(response)
		if got.Status != http.StatusOK || !lab.IsReset(got.Err, "h1") || lab.Read(got.Body).Last {
			t.Errorf("%s: got %+v, want a reset", path, got)
		}
	}
	lab.WantRefused(t, <-whole, http.StatusGatewayTimeout, contract.CodeServerTimeout)
	if took := time.Since(gone); took > lab.Patience/2 {
		t.Errorf("the streams ended after %s, with a stall timeout of %s", took, lab.StallTimeout)
	}
	began := time.Now()
	if got := lab.AskChat(client, url); got.Status != http.StatusServiceUnavailable {
		t.Errorf("a new request gets %+v", got)
	} else if took := time.Since(began); took > lab.StallTimeout {
		t.Errorf("a new request is refused after %s only", took)
	}
}

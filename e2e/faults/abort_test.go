//go:build e2e

package faults

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// abortingKinds are the kinds whose servers say that they have given up an answer: vLLM when it is shut down. The
// others have no word for it.
func abortingKinds() (kinds []string) {
	for _, kind := range contract.ServerKinds() {
		if kind != contract.LlamaCPP && kind != contract.Ollama {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// TestAborts: an answer that a server of any kind gives up is a failure, and never an answer that looks whole: a status
// while the client has nothing, and otherwise an error in the stream. So it is with both APIs and on all hosts.
func TestAborts(t *testing.T) {
	c := lab.OneModel("http://127.0.0.1:1")
	c.Models = nil
	for _, kind := range abortingKinds() {
		_, url := lab.RunSim(t, sim.Options{Kind: kind, Models: []string{lab.Model}, AllowHeaders: true, TextSpecials: true,
			PrintSpecials: true, Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(lab.SixWords)})})
		m := config.DefaultModel(kind, kind+"="+url)
		m.ServerModel, m.AcceptTextPrompts = lab.Model, true
		c.Models = append(c.Models, m)
	}
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		host := run(t, c)
		var all sync.WaitGroup
		for _, kind := range abortingKinds() {
			all.Go(func() { askAborts(t, host.URL, kind) })
		}
		all.Wait()
	})
}

// askAborts asks for answers that a server gives up before their first token, and after some.
func askAborts(t *testing.T, url, kind string) {
	client := lab.HTTP1(t)
	for _, r := range []struct{ path, body string }{
		{lab.ChatPath, lab.ChatBody(kind, "Hi")}, {lab.ResponsesPath, lab.ResponsesBody(kind, "Hi")},
	} {
		for _, stream := range []bool{true, false} {
			for _, fault := range []string{"abort:0", "abort:6"} {
				body := r.body
				if stream {
					body = `{"stream":true,` + body[1:]
				}
				header := http.Header{"X-Sim-Fault": {fault}, "Content-Type": {"application/json"}}
				a := lab.Do(client, http.MethodPost, url+r.path, header, strings.NewReader(body))
				begun := a.Status == http.StatusOK && stream && fault != "abort:0" && lab.Read(a.Body).Failure != ""
				if !begun && (a.Status != http.StatusBadGateway || a.ErrorCode() != contract.CodeServerError) ||
					strings.Contains(a.Body, `"abort"`) {
					t.Errorf("%s, %s, %s, stream %t: %d %v\n%s", kind, r.path, fault, stream, a.Status, a.Err, a.Body)
				}
			}
		}
	}
}

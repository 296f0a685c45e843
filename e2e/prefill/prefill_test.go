//go:build e2e

package prefill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// counted returns the results of prefills that the filter has counted.
func counted(counts map[string]int) string {
	text := ""
	for _, result := range []string{"done", "short", "decode", "failed", "left"} {
		if n := counts["harmony_prefill_total.pool.readers.result."+result]; n > 0 {
			text += fmt.Sprintf("%s=%d ", result, n)
		}
	}
	return strings.TrimSpace(text)
}

// TestDivided: every request is read by one server and answered by another, which has fetched what the first one has
// read. Both see the same request id, and clients see an ordinary answer.
func TestDivided(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		for _, kind := range kinds {
			t.Run(kind, func(t *testing.T) {
				p := runPools(t, kind, 2, 2, sim.Options{}, sim.Options{})
				h := run(t, p.config())
				var all sync.WaitGroup
				const each = 5
				for _, client := range []*http.Client{lab.HTTP1(t), lab.HTTP2(t)} {
					for path, body := range map[string]string{
						lab.ChatPath: lab.ChatBody(lab.Model, "Hi"), lab.ResponsesPath: lab.ResponsesBody(lab.Model, "Hi")} {
						for _, body := range []string{body, `{"stream":true,` + body[1:]} {
							for range each {
								all.Go(func() {
									a := lab.Ask(client, h.URL+path, body)
									if a.Err != nil || a.Status != 200 || !strings.Contains(a.Body, "six") {
										t.Errorf("%s: %+v", body, a)
									}
								})
							}
						}
					}
				}
				all.Wait()
				const n = 8 * each
				read, written := completions(p.readers), completions(p.writers)
				done, kept := transfers(p.readers)
				if len(read) != n || len(written) != n || done != n || kept != 0 {
					t.Errorf("%d prompts were read, %d answers written, %d fetched, %d left", len(read), len(written), done, kept)
				}
				ids := map[string][]byte{}
				for _, q := range read {
					ids[q.Header.Get("x-request-id")] = q.Body
					if q.Header.Get("x-gateway-destination-endpoint") != "" || q.Header.Get("authorization") != "" {
						t.Errorf("a reader gets %v", q.Header)
					}
				}
				for _, q := range written {
					body, ok := ids[q.Header.Get("x-request-id")]
					if q.PromptFrom == "" || !ok || isSGLang(kind) != bytes.Equal(body, q.Body) || !json.Valid(q.Body) {
						t.Errorf("the prompt is from %q, id %q\n%s\n%s", q.PromptFrom, q.Header.Get("x-request-id"), body, q.Body)
					}
				}
				for _, s := range p.readers {
					if isSGLang(kind) && len(completions([]*sim.Server{s})) == 0 {
						t.Error("a reader had no request")
					}
				}
				if got, want := counted(lab.Counters(t, h)), fmt.Sprintf("done=%d", n); got != want {
					t.Errorf("counted are %s, want %s", got, want)
				}
			})
		}
	})
}

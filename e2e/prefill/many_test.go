//go:build e2e

package prefill

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestManyRequests: a thousand requests, of which every fifth client leaves at some moment. At the end no server works
// on any, every request is counted once, and clients that stayed have their answers.
func TestManyRequests(t *testing.T) {
	const requests, clients = 1000, 24
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		for _, kind := range []string{contract.VLLM, contract.SGLang} {
			t.Run(kind, func(t *testing.T) {
				p := runPools(t, kind, 2, 2, sim.Options{Keep: 2 * requests}, sim.Options{Keep: 2 * requests})
				h := run(t, p.config())
				work := make(chan int)
				var all sync.WaitGroup
				for range clients {
					client := lab.HTTP1(t)
					all.Go(func() {
						for i := range work {
							send(t, client, h.URL, i%5 == 0)
						}
					})
				}
				for i := range requests {
					work <- i
				}
				close(work)
				all.Wait()
				// Some clients leave before their requests are read.
				read := 0
				for _, q := range completions(p.readers) {
					if q.PromptIDs != nil {
						read++
					}
				}
				counts, sum := "", 0
				for end := time.Now().Add(lab.Patience); sum < read && time.Now().Before(end); {
					all := lab.Counters(t, h)
					counts, sum = counted(all), 0
					for _, result := range []string{"done", "decode", "failed", "left"} {
						sum += all["harmony_prefill_total.pool.readers.result."+result]
					}
				}
				t.Logf("%d prompts were read; counted are %s", read, counts)
				if strings.Contains(counts, "failed") || strings.Contains(counts, "decode") || sum < read || sum > requests {
					t.Errorf("counted are %s", counts)
				}
				for _, s := range append(p.readers, p.writers...) {
					await(t, s, func(all []sim.Request) bool {
						for _, q := range all {
							if !q.Done {
								return false
							}
						}
						return true
					})
				}
				if _, kept := transfers(p.readers); isSGLang(kind) && kept != 0 {
					t.Errorf("%d prompts are kept", kept)
				}
			})
		}
	})
}

// send sends a request, and leaves at some moment if it is to.
func send(t *testing.T, client *http.Client, url string, leaves bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if leaves {
		time.AfterFunc(time.Duration(rand.IntN(20_000))*time.Microsecond, cancel)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+lab.ChatPath, strings.NewReader(
		`{"stream":true,`+lab.ChatBody(lab.Model, "Hi")[1:]))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("content-type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		if !leaves {
			t.Error(err)
		}
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if !leaves && (err != nil || response.StatusCode != 200 || !strings.Contains(string(body), "six")) {
		t.Errorf("got %d %s, %v", response.StatusCode, body, err)
	}
}

// TestStoredResponses: what the responses service asks goes the same way.
func TestStoredResponses(t *testing.T) {
	for _, kind := range []string{contract.VLLM, contract.SGLang} {
		p := runPools(t, kind, 1, 1, sim.Options{}, sim.Options{})
		port := ""
		if isSGLang(kind) {
			port = fmt.Sprintf(", bootstrap_port: %d", p.bootstrapPort)
		}
		file := lab.WriteConfig(t, fmt.Sprintf(`
responses_service: {listen: '%s'}
models: [{name: %s, pool: writers}]
pools:
- {name: readers, kind: %s, servers: ['%s']}
- {name: writers, kind: %s, servers: ['%s'], prefill: {pool: readers%s}}
`, lab.FreeAddress(t), lab.Model, kind, p.readerURLs[0], kind, p.writerURLs[0], port))
		up, url := lab.StartUp(t, "--config", file, "--store", filepath.Join(t.TempDir(), "store.db"))
		previous := ""
		for turn := range 3 {
			a := lab.Ask(lab.HTTP1(t), url+lab.ResponsesPath,
				fmt.Sprintf(`{"model":%q,"input":"Hi","store":true%s}`, lab.Model, previous))
			var r struct{ ID, Status string }
			if err := json.Unmarshal([]byte(a.Body), &r); err != nil || a.Status != 200 || r.Status != "completed" {
				t.Fatalf("%s, turn %d: %+v", kind, turn, a)
			}
			previous = `,"previous_response_id":"` + r.ID + `"`
		}
		written := completions(p.writers)
		if len(written) != 3 || len(completions(p.readers)) != 3 {
			t.Errorf("%s: %d prompts were read, %d answers written", kind, len(completions(p.readers)), len(written))
		}
		for _, q := range written {
			if q.PromptFrom == "" {
				t.Errorf("%s: the writer has read a prompt itself", kind)
			}
		}
		up.Stop(t, syscall.SIGTERM)
	}
}

//go:build e2e

package prefill

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// askChat sends a Chat request for a stream or for a whole answer.
func askChat(t *testing.T, h *hosts.Host, stream bool) lab.Answer {
	t.Helper()
	body := lab.ChatBody(lab.Model, "Hi")
	if stream {
		body = `{"stream":true,` + body[1:]
	}
	return lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, body)
}

func await(t *testing.T, s *sim.Server, ok func([]sim.Request) bool) []sim.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	all, err := s.Await(ctx, ok)
	if err != nil {
		for _, q := range all {
			t.Logf("%s %s done %t aborted %t status %d finish %s", q.Method, q.Path, q.Done, q.Aborted, q.Status, q.Finish)
		}
		t.Fatalf("%v", err)
	}
	return all
}

// TestReadersFail: where a prompt cannot be read, vLLM's other servers read it, or the client gets an error at once, as
// the operator has chosen. SGLang's other servers cannot.
func TestReadersFail(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		for name, tt := range map[string]struct {
			kind, onFailure string
			fault           sim.Fault
			dead            bool
			status          int
			code            string
		}{
			"vllm, dead": {kind: contract.VLLM, dead: true, status: 200},
			"vllm, dead, refused": {contract.VLLM, contract.PrefillRefuse, sim.Fault{}, true, 503,
				"server_unavailable"},
			"vllm, overloaded": {kind: contract.VLLM, fault: sim.Fault{Kind: sim.FaultStatus, Status: 503},
				status: 200},
			"vllm, drops":          {kind: contract.VLLMGenerate, fault: sim.Fault{Kind: sim.FaultDrop}, status: 200},
			"vllm, half an answer": {kind: contract.VLLM, fault: sim.Fault{Kind: sim.FaultNoFinish}, status: 200},
			"vllm, garbage":        {kind: contract.VLLM, fault: sim.Fault{Kind: sim.FaultGarbage}, status: 200},
			"vllm, a refusal": {kind: contract.VLLM, fault: sim.Fault{Kind: sim.FaultStatus, Status: 400},
				status: 400, code: "invalid_request"},
			"vllm, an error with a 200": {contract.VLLM, contract.PrefillRefuse, sim.Fault{Kind: sim.FaultError200},
				false, 500, "server_error"},
			"sglang, dead": {kind: contract.SGLang, dead: true, status: 503, code: "server_unavailable"},
			"sglang, overloaded": {kind: contract.SGLang, fault: sim.Fault{Kind: sim.FaultStatus, Status: 429},
				status: 429, code: "rate_limit_exceeded"},
			"sglang, drops": {kind: contract.SGLangCompletions, fault: sim.Fault{Kind: sim.FaultDrop},
				status: 503, code: "server_unavailable"},
			"sglang, an error in a stream": {kind: contract.SGLang, fault: sim.Fault{Kind: sim.FaultError200},
				status: 500, code: "server_error"},
		} {
			t.Run(name, func(t *testing.T) {
				p := runPools(t, tt.kind, 1, 1, sim.Options{}, sim.Options{Fault: tt.fault})
				c := p.config()
				c.Pools[1].Prefill.OnFailure = tt.onFailure
				h := run(t, c)
				if tt.dead {
					p.readers[0].Close()
				}
				for _, stream := range []bool{false, true} {
					began := time.Now()
					a := askChat(t, h, stream)
					// The writer may learn of a dead reader before the gateway does, and say so.
					writer := tt.kind == contract.SGLang && tt.dead && strings.Contains(a.Body, "Failed to reach the prefill server")
					if a.Err != nil || !writer && (a.Status != tt.status || a.ErrorCode() != tt.code) {
						t.Errorf("stream %t: got %+v", stream, a)
					}
					if took := time.Since(began); took > lab.Patience/2 {
						t.Errorf("stream %t: it took %v", stream, took)
					}
				}
				want := "decode=2"
				if tt.status != 200 {
					want = "failed=2"
				}
				if got := counted(lab.Counters(t, h)); got != want {
					t.Errorf("counted are %s, want %s", got, want)
				}
				// Nobody works on a request that has failed.
				await(t, p.writers[0], func(all []sim.Request) bool {
					for _, q := range all {
						if !q.Done {
							return false
						}
					}
					return true
				})
			})
		}
	})
}

// TestDeadReaderIsAvoided: of two readers one is dead. At most one request of each worker fails by it.
func TestDeadReaderIsAvoided(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		p := runPools(t, contract.SGLang, 2, 1, sim.Options{}, sim.Options{})
		h := run(t, p.config())
		p.readers[0].Close()
		failed := 0
		for range 20 {
			if a := askChat(t, h, true); a.Status != 200 {
				failed++
			}
		}
		workers := 1
		if h.Process == nil {
			workers = runtime.GOMAXPROCS(0)
		}
		if failed > workers {
			t.Errorf("%d of 20 requests have failed", failed)
		}
	})
}

// TestClientLeaves: when a client leaves, nobody works for it. SGLang's two servers are told; vLLM's first one ends by
// itself after the prompt, and the second one never begins.
func TestClientLeaves(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		for _, kind := range []string{contract.VLLM, contract.SGLang} {
			t.Run(kind, func(t *testing.T) {
				p := runPools(t, kind, 1, 1, sim.Options{}, sim.Options{TimeToFirstToken: time.Hour})
				h := run(t, p.config())
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+lab.ChatPath,
					strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("content-type", "application/json")
				left := make(chan struct{})
				go func() {
					defer close(left)
					if response, err := lab.HTTP1(t).Do(r); err == nil {
						response.Body.Close()
						t.Errorf("got %d", response.StatusCode)
					}
				}()
				accepted := func(all []sim.Request) bool { return len(all) > 0 && all[0].PromptIDs != nil }
				await(t, p.readers[0], accepted)
				if isSGLang(kind) {
					await(t, p.writers[0], accepted)
				}
				leave()
				<-left
				got := ""
				for end := time.Now().Add(lab.Patience); got == "" && time.Now().Before(end); {
					got = counted(lab.Counters(t, h)) // the proxy counts a client that leaves when it notices
					time.Sleep(lab.Pause)
				}
				if got != "left=1" {
					t.Errorf("counted are %s", got)
				}
				over := func(all []sim.Request) bool { return all[0].Done && all[0].Aborted }
				if isSGLang(kind) {
					await(t, p.readers[0], over)
					await(t, p.writers[0], over)
				} else {
					p.readers[0].Release()
					await(t, p.readers[0], func(all []sim.Request) bool { return all[0].Done })
					if n := len(completions(p.writers)); n != 0 {
						t.Errorf("%d requests reach the server that writes the answer", n)
					}
				}
			})
		}
	})
}

// TestWriterDies: when the server dies that is to write the answer, the client learns it, and the reader is not left
// waiting.
func TestWriterDies(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		p := runPools(t, contract.SGLang, 1, 1, sim.Options{}, sim.Options{TimeToFirstToken: time.Hour})
		h := run(t, p.config())
		answer := make(chan lab.Answer, 1)
		go func() { answer <- askChat(t, h, true) }()
		await(t, p.readers[0], func(all []sim.Request) bool { return len(all) > 0 && all[0].PromptIDs != nil })
		await(t, p.writers[0], func(all []sim.Request) bool { return len(all) > 0 && all[0].Status == 200 })
		p.writers[0].Close()
		if a := <-answer; a.Status != 502 && a.Status != 503 {
			t.Errorf("got %+v", a)
		}
		await(t, p.readers[0], func(all []sim.Request) bool { return all[0].Done && all[0].Aborted })
	})
}

// TestShortPrompts: a prompt that is too short for the readers is read by the server that answers it. The access log
// says who has done what.
func TestShortPrompts(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		p := runPools(t, contract.VLLM, 1, 1, sim.Options{}, sim.Options{})
		c := p.config()
		c.Pools[1].Prefill.MinTokens = 500
		c.AccessLog = filepath.Join(t.TempDir(), "access.log")
		h := run(t, c)
		for _, text := range []string{"Hi", "Hi " + strings.Repeat("again ", 500)} {
			if a := lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, lab.ChatBody(lab.Model, text)); a.Status != 200 {
				t.Errorf("got %+v", a)
			}
		}
		if read, written := completions(p.readers), completions(p.writers); len(read) != 1 || len(written) != 2 ||
			written[0].PromptFrom != "" || written[1].PromptFrom == "" {
			t.Errorf("read are %+v, written %+v", read, written)
		}
		if got := counted(lab.Counters(t, h)); got != "done=1 short=1" {
			t.Errorf("counted are %s", got)
		}
		checkLog(t, c, [2]string{`"prefill":"short"`, `"role":"decode"`}, [2]string{`"prefill":"done"`,
			`"role":"prefill_decode"`})
	})
}

// checkLog waits for lines with these members. Envoy writes lines every ten seconds.
func checkLog(t *testing.T, c *config.Config, want ...[2]string) {
	t.Helper()
	var lines []string
	for end := time.Now().Add(lab.Patience); len(lines) < len(want) && time.Now().Before(end); {
		log, _ := os.ReadFile(c.AccessLog)
		lines = strings.Split(strings.TrimSpace(string(log)), "\n")
		if len(log) == 0 {
			lines = nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	if len(lines) != len(want) {
		t.Fatalf("the log is %q", lines)
	}
	for i, members := range want {
		for _, member := range members {
			if !strings.Contains(lines[i], member) {
				t.Errorf("line %d has no %s: %s", i, member, lines[i])
			}
		}
	}
}

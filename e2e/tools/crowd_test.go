//go:build e2e

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/sim"
)

// The crowd: so many loops at once, each with so many calls, of which the server sees a part before it dies.
const (
	crowd, callsEach = 100, 6
	beforeDeath      = crowd * callsEach / 3
)

// TestCrowd has many loops at once while their server is killed. Each response ends, with calls that have failed or
// not, and each call that was made was made once.
func TestCrowd(t *testing.T) {
	onHosts(t, crowded)
}

func crowded(t *testing.T, host string) {
	var mu sync.Mutex
	seen, reached := map[string]int{}, make(chan struct{})
	server := toolservers.Plain(t, tool("step", func(_ context.Context, arguments string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if seen[arguments]++; len(seen) == beforeDeath {
			close(reached)
		}
		return "done " + arguments, nil
	}))
	steady := counter(t, "steady")
	var script []sim.Line
	for loop := range crowd {
		step := func(n int) string { return fmt.Sprintf(`{"loop":%d,"step":%d}`, loop, n) }
		question := fmt.Sprintf("Loop %d.", loop)
		script = append(script, asked(question, calls("step", step(1))))
		for n := 1; n < callsEach; n++ {
			script = append(script, told("done "+step(n)+"<|end|>", calls("step", step(n+1))))
		}
		script = append(script, told("done "+step(callsEach)+"<|end|>", says("All done.")))
	}
	script = append(script, counting("steady", 1)...)
	script = append(script, told("", says("It broke.")))
	g := start(t, host, configuration{servers: []string{at("a", server.Streamable()), at("steady", steady.Streamable())},
		script: script, settings: []string{"call_time: 10s"}})
	began := time.Now()
	ended := make([]*response, crowd)
	var all sync.WaitGroup
	for n := range crowd {
		all.Go(func() { ended[n] = loop(g, t, n) })
	}
	select {
	case <-reached:
		server.Close()
	case <-time.After(lab.Patience):
		t.Error("the server was not called often enough")
	}
	all.Wait()
	took := time.Since(began)
	outcomes, made, failed, ids := map[string]int{}, 0, 0, map[string]bool{}
	for loop, r := range ended {
		if r == nil {
			continue // told by loop
		}
		if ids[r.ID] {
			t.Errorf("%s was created twice", r.ID)
		}
		ids[r.ID] = true
		outcomes[r.Status+": "+r.Text()]++
		for n, c := range r.Of("mcp_call") {
			if want := fmt.Sprintf(`{"loop":%d,"step":%d}`, loop, n+1); c.Arguments != want {
				t.Errorf("call %d of loop %d has the arguments %s", n, loop, c.Arguments)
			}
			switch {
			case c.Status != "completed":
				failed++
			case output(c) != "done "+c.Arguments || seen[c.Arguments] != 1:
				t.Errorf("%s was called %d times, with %s", c.Arguments, seen[c.Arguments], c.Output)
			default:
				made++
			}
		}
	}
	for arguments, n := range seen {
		if n != 1 {
			t.Errorf("%s was called %d times", arguments, n)
		}
	}
	t.Logf("%s: %d loops in %s: %v; %d calls were made and %d failed; the server was called %d times", host, crowd,
		took.Round(time.Millisecond), outcomes, made, failed, len(seen))
	if made < beforeDeath/2 || failed == 0 {
		t.Error("the server has died before or after all loops")
	}
	// Everything else goes on.
	if r := g.Create(ask("Count.", mcp("steady"))); r.Text() != "Counted." {
		t.Errorf("%+v", r)
	}
}

// loop makes one response of the crowd, half of them streamed, and reads it to its end.
func loop(g *gateway, t *testing.T, n int) *response {
	stream := n%2 == 0
	body := g.Body(fmt.Sprintf(`"stream":%t,`, stream) + ask(fmt.Sprintf("Loop %d.", n), mcp("a")))
	a := lab.Do(g.Client, http.MethodPost, g.URL+lab.ResponsesPath, header(tenantHeader, fmt.Sprint("t", n%10)),
		strings.NewReader(body))
	if a.Err != nil || a.Status != 200 {
		t.Errorf("loop %d: %d %s %v", n, a.Status, a.Body, a.Err)
		return nil
	}
	if !stream {
		r := &response{}
		if err := json.Unmarshal([]byte(a.Body), r); err != nil {
			t.Errorf("loop %d: %v", n, err)
			return nil
		}
		return r
	}
	if err := g.Schemas.CheckStream(a.Body); err != nil {
		t.Errorf("loop %d: %v", n, err)
	}
	frames := strings.Split(strings.TrimSpace(a.Body), "\n\n")
	_, data, _ := strings.Cut(frames[len(frames)-1], "data: ")
	var last struct{ Response *response }
	if err := json.Unmarshal([]byte(data), &last); err != nil || last.Response == nil {
		t.Errorf("loop %d: %v: %s", n, err, data)
	}
	return last.Response
}

//go:build e2e

package agents_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/agents"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/filter/filtertest"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// eachVM is how many requests a VM gets, before another one begins anew.
const eachVM = 200

// memories are the sizes of the memory in turns: from one that has room for nothing to one that forgets nothing.
var memories = []config.Size{4 << 20, 4 << 20, 512 << 10, 4 << 20, 128 << 10, 8 << 10}

// TestFilterSendsTheSame plays conversations that change through the filter with a memory of prefixes and without one:
// both send the same. Time passes, so a day ends, and sealed reasoning expires.
func TestFilterSendsTheSame(t *testing.T) {
	n, hits, refused := conversations(t), uint64(0), 0
	for i := 0; i*eachVM < n; i++ {
		with := startFilter(t, memories[i%len(memories)])
		without := startFilter(t, 0)
		c := agents.NewChanging(uint64(i), with.Now, lab.Model, small)
		for at := range min(eachVM, n-i*eachVM) {
			r := c.Next()
			with.Advance(r.After)
			without.Advance(r.After)
			want, got := sentBy(without, &r), sentBy(with, &r)
			if got != want {
				t.Fatalf("VM %d, request %d, %s, at %s: %.400s\nsent %.400s\nwant %.400s", i, at, r, with.Now(), r.Body, got,
					want)
			}
			if strings.HasPrefix(want, "refused") {
				refused++
				c.Refused()
			}
		}
		hits += with.Metrics()["harmony_prefix_requests_total.kind.hit"]
	}
	t.Logf("%d requests: %d were recalled, %d refused", n, hits, refused)
	if n >= eachVM && (hits < uint64(n/3) || refused > n/2 || refused == 0) {
		t.Errorf("of %d requests %d were recalled, and %d refused", n, hits, refused)
	}
}

// startFilter starts the filter some time before midnight.
func startFilter(t *testing.T, memory config.Size) *filtertest.Host {
	t.Helper()
	c := settings("http://127.0.0.1:1", memory)
	c.Models[0].System.Date = contract.DateUTC
	return filtertest.New(t, lab.Tool(t, "HARMONY_WASM"), string(filterconfig.AppendJSON(nil, c.Filter())),
		filtertest.Environment(map[string]string{contract.SealKeysVariable: agents.SealKeys}),
		filtertest.StartAt(time.Date(2026, time.November, 29, 23, 50, 0, 0, time.UTC)))
}

// sentBy returns what a server gets of a request, or how it is refused.
func sentBy(host *filtertest.Host, r *agents.Request) string {
	headers := []string{"content-type", "application/json"}
	if r.Key != "" {
		headers = append(headers, "authorization", "Bearer "+r.Key)
	}
	if r.Tenant != "" {
		headers = append(headers, tenantHeader, r.Tenant)
	}
	x := host.Request(http.MethodPost, r.Form.Path(), r.Body, headers...)
	if x.Server().State == filtertest.Nothing {
		reply := x.Client()
		return fmt.Sprintf("refused: %d %s", reply.Status, reply.Body())
	}
	sent := x.Server()
	x.BeginResponse(http.StatusOK, "content-type", "text/event-stream")
	x.EndResponse(shortAnswer)
	return sent.Header(":path") + " " + sent.Body() + " answered " + fmt.Sprint(x.Client().Status)
}

//go:build e2e && badservers

package routing

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestBadServersTable asks 200 requests under every policy, until the headers and until the first token, and writes
// what clients see to docs/bench/bad-servers.md. It takes some minutes, of which servers that hang take most, so only
// make bad-servers builds it.
func TestBadServersTable(t *testing.T) {
	const requests = 200
	var b strings.Builder
	b.WriteString(badServersHead)
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		host := strings.TrimPrefix(t.Name(), "TestBadServersTable/")
		policies := []config.Pool{{Policy: config.PolicyLeastRequest}, {Policy: config.PolicyRoundRobin},
			{Policy: config.PolicyPrefix}, {Policy: config.PolicySession, Session: config.Session{Header: "x-session"}}}
		if host == "envoy" {
			policies = append(policies, config.Pool{Policy: config.PolicyPicker})
		}
		var cells [2][]int64
		for i, until := range []string{config.RetryUntilHeaders, config.RetryUntilFirstToken} {
			address := lab.FreeAddress(t)
			for j := range policies {
				p := &policies[j]
				if p.RetryUntil = until; p.Policy == config.PolicyPicker {
					p.Picker.URL = "http://" + address
				}
			}
			pools := badPools(t, policies)
			if host == "envoy" {
				runPicker(t, address, pools)
			}
			proxy := run(t, badConfig(t, pools))
			for _, p := range pools {
				cells[i] = append(cells[i], askMany(t, proxy.URL, p.Name, requests))
			}
		}
		b.WriteString("\n## " + host + "\n\n| the bad server |")
		for _, p := range policies {
			b.WriteString(" `" + p.Policy + "` |")
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(policies)) + "\n")
		for i, bad := range badServers {
			b.WriteString("| " + bad.name + " |")
			for j := range policies {
				at := j*len(badServers) + i
				fmt.Fprintf(&b, " %d → %d |", cells[0][at], cells[1][at])
			}
			b.WriteString("\n")
		}
	})
	if err := os.WriteFile(lab.File("docs/bench/bad-servers.md"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

const badServersHead = `# Bad servers

Of two servers of a pool one is bad: its health is good, and its answers are not. Four clients send 200 requests. The
figures are those that fail for a client, with ` + "`retry_until: headers` → `first_token`" + `, which is the default
([failed attempts](../pools.md#failed-attempts)). Health checks and the control plane's readiness are off, so requests
alone find the server bad. ` + "`stall_timeout`" + ` is a second.

` + "`make bad-servers`" + ` writes this page. ` + "`TestBadServers` in `make test`" + ` demands at most two failures.
`

package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// twoPools has two pools, each with a servers file.
const twoPools = `passthrough: http://127.0.0.1:9
models: [{name: m, pool: a}, {name: n, pool: b}]
pools:
- {name: a, servers_file: a.yaml, health: {path: none}}
- {name: b, servers_file: b.yaml, health: {path: none}}
`

// urls returns the URLs of a pool's servers from the status.
func (p *testServer) urls(pool int) string {
	pools := p.Status().Pools
	if pool >= len(pools) {
		return "" // Envoys are served shortly before the status shows it
	}
	var all []string
	for _, s := range pools[pool].Servers {
		all = append(all, s.URL)
	}
	return strings.Join(all, " ")
}

// TestServersThatDoNotFit checks that a server with the other scheme, or one that gets untranslated requests, is left
// out and reported, and that nothing else is affected.
func TestServersThatDoNotFit(t *testing.T) {
	p := start(t, folderWith(t, twoPools, "a.yaml", "- http://127.0.0.1:1\n", "b.yaml", "- http://127.0.0.1:2\n"))
	p.ready()
	e := startEnvoy(t, p.ads, "one")
	eventually(t, "current", p.current)
	p.write("a.yaml", "- http://127.0.0.1:1\n- https://localhost:3\n- http://127.0.0.1:9\n")
	eventually(t, "reported", func() bool {
		problem := p.Status().Pools[0].Problem
		return strings.Contains(problem, "https://localhost:3 is left out: the pool's servers are http") &&
			strings.Contains(problem, "http://127.0.0.1:9 is left out: it is the server of passthrough")
	})
	if got := p.urls(0); got != "http://127.0.0.1:1" {
		t.Errorf("the pool has %s", got)
	}
	p.write("b.yaml", "- http://127.0.0.1:4\n")
	eventually(t, "the other pool goes on", func() bool {
		return p.current() && strings.Contains(e.text(t, resource.EndpointType, "harmony-pool-b"), "127.0.0.1:4")
	})
	if text := e.text(t, resource.EndpointType, "harmony-pool-a"); strings.Contains(text, "127.0.0.1:9") ||
		strings.Contains(text, "localhost") {
		t.Errorf("Envoy has %s", text)
	}
}

// TestFromHTTPToHTTPS checks that a pool in force can change its scheme.
func TestFromHTTPToHTTPS(t *testing.T) {
	const text = "models: [{name: m, servers: ['vllm=http://localhost:1']}]\n"
	p := start(t, folderWith(t, text), func(o *testOptions) { o.CAFile = "/etc/ssl/certs/ca-certificates.crt" })
	p.ready()
	p.write("config.yaml", strings.ReplaceAll(text, "http:", "https:"))
	eventually(t, "https", func() bool {
		return p.Status().Configuration.Error == "" &&
			p.urls(0) == "https://localhost:1"
	})
}

// TestABadServersFileAtTheStart checks that a bad servers file at the start is an error of the configuration.
func TestABadServersFileAtTheStart(t *testing.T) {
	p := start(t, folderWith(t, twoPools, "a.yaml", "- nonsense\n", "b.yaml", "[]\n"))
	var wrong *config.Error
	if err := p.failure(); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "a.yaml:1: ") {
		t.Errorf("got %v", err)
	}
}

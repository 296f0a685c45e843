//go:build e2e

package controlplane

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// partial is a server that can be unreachable for some of its clients. It distinguishes them by path: the control plane
// asks for /v1/models, Envoys ask for /health.
type partial struct {
	url            string
	models, health atomic.Bool // whether these are answered, or their connections closed
}

func newPartial(t *testing.T) *partial {
	p := &partial{}
	p.models.Store(true)
	p.health.Store(true)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answered := map[string]*atomic.Bool{"/v1/models": &p.models, "/health": &p.health}[r.URL.Path]
		if answered == nil || !answered.Load() {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"` + lab.Model + `"}]}`))
	}))
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

// TestControlPlaneTellsWhoIsReached shows that the states of servers are what Envoys experience, also when only the
// Envoys reach a server, or only the control plane, or neither.
func TestControlPlaneTellsWhoIsReached(t *testing.T) {
	one, two := newPartial(t), newPartial(t)
	p := startPlane(t, planeSettings{servers: []string{one.url, two.url}, envoys: 2,
		pool: "    health: { interval: 1s }\n"})
	find := func(s server.Status, url string) server.PoolServer {
		for _, one := range s.Pools[0].Servers {
			if one.URL == url {
				return one
			}
		}
		return server.PoolServer{}
	}
	is := func(url string, state pools.State, reach, fail int, reason string) func(server.Status) bool {
		return func(s server.Status) bool {
			one := find(s, url)
			return one.State == state && one.Envoys == server.Reached{Reach: reach, Fail: fail} &&
				strings.Contains(one.Reason, reason)
		}
	}
	p.await("both Envoys reach both", func(s server.Status) bool {
		return is(one.url, pools.Ready, 2, 0, "")(s) && is(two.url, pools.Ready, 2, 0, "")(s)
	})
	endpoints := p.versions()["endpoints"]

	one.models.Store(false)
	p.await("only the Envoys reach a server", is(one.url, pools.Ready, 2, 0, "reached by Envoys, but not by the "+
		"control plane: it closes the connection without an answer"))
	two.health.Store(false)
	took := p.await("only the control plane reaches a server",
		is(two.url, server.Unreachable, 0, 2, "no Envoy reaches it; the control plane does"))
	t.Logf("the Envoys' reports came after %s", took.Round(time.Millisecond))
	one.health.Store(false)
	p.await("nobody reaches a server", func(s server.Status) bool {
		return is(one.url, server.Unreachable, 0, 2, "no Envoy reaches it; it closes the connection without an answer")(s) &&
			!s.Pools[0].Down.IsZero()
	})
	if now := p.versions()["endpoints"]; now != endpoints {
		t.Errorf("servers were taken from the Envoys: endpoints %s, then %s", endpoints, now)
	}
	two.health.Store(true)
	p.await("a server is reached again", func(s server.Status) bool {
		return is(two.url, pools.Ready, 2, 0, "")(s) && s.Pools[0].Down.IsZero()
	})
}

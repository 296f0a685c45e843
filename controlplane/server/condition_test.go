package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/internal/reach"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
)

// TestConditionOf has a row for each combination of who reaches a server.
func TestConditionOf(t *testing.T) {
	silent := pools.Server{State: pools.Ready, Reason: "connection refused", Silent: time.Now()}
	ready := pools.Server{State: pools.Ready}
	for name, tt := range map[string]struct {
		server pools.Server
		envoys reach.Count
		state  pools.State
		reason string
	}{
		"everybody":                       {ready, reach.Count{Reach: 2}, pools.Ready, ""},
		"the control plane, no Envoy yet": {ready, reach.Count{}, pools.Ready, ""},
		"nobody": {silent, reach.Count{Fail: 2}, Unreachable,
			"no Envoy reaches it; connection refused"},
		"nobody, no Envoy yet": {silent, reach.Count{}, Unreachable, "connection refused"},
		"Envoys alone": {silent, reach.Count{Reach: 2}, pools.Ready,
			"reached by Envoys, but not by the control plane: connection refused"},
		"the control plane alone": {ready, reach.Count{Fail: 2}, Unreachable, "no Envoy reaches it; the control plane does"},
		"one of three Envoys":     {ready, reach.Count{Reach: 1, Fail: 2}, pools.Ready, "2 of 3 Envoys do not reach it"},
		"one of two Envoys alone": {silent, reach.Count{Reach: 1, Fail: 1}, pools.Ready, "1 of 2 Envoys do not reach it; " +
			"reached by Envoys, but not by the control plane: connection refused"},
		"a password is expected": {pools.Server{State: pools.Unknown, Reason: "answers 401 to GET /v1/models"},
			reach.Count{Reach: 1}, pools.Unknown, "answers 401 to GET /v1/models"},
		"another model": {pools.Server{State: pools.NotReady, Reason: "does not serve"}, reach.Count{Reach: 1},
			pools.NotReady, "does not serve"},
	} {
		if got := conditionOf(&tt.server, tt.envoys); got.state != tt.state || got.reason != tt.reason {
			t.Errorf("%s: %s (%s), want %s (%s)", name, got.state, got.reason, tt.state, tt.reason)
		}
	}
}

// TestAPoolThatIsDown kills the server of a pool, and checks the status, the metrics and the log until the server is
// back.
func TestAPoolThatIsDown(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, oneModel(engine.URL)))
	server := func() PoolServer {
		if all := p.Status().Pools; len(all) == 1 && len(all[0].Servers) == 1 {
			return all[0].Servers[0]
		}
		return PoolServer{} // Ready is closed shortly before the servers' states are known
	}
	up := func() string { return p.metric(`harmony_controlplane_pool_up{pool="p"}`) }
	p.ready()
	eventually(t, "ready", func() bool { return server().State == pools.Ready })
	if up() != "1" || !p.Status().Pools[0].Down.IsZero() || strings.Contains(p.log.String(), "is down") {
		t.Errorf("up %s, %+v\n%s", up(), p.Status().Pools, p.log)
	}
	endpoints := p.Status().Snapshot.Versions["endpoints"]
	engine.Close()
	eventually(t, "unreachable", func() bool { s := server(); return s.State == Unreachable && s.Reason == "connection refused" })
	if s := server(); time.Since(s.Since) > 10*time.Second {
		t.Errorf("%+v", s)
	}
	eventually(t, "down", func() bool { return !p.Status().Pools[0].Down.IsZero() })
	if up() != "0" || p.metric(`harmony_controlplane_servers{pool="p",state="unreachable"}`) != "1" ||
		p.metric(`harmony_controlplane_servers{pool="p",state="ready"}`) != "0" {
		t.Errorf("up %s", up())
	}
	if want := `msg="a pool is down: no server is reachable and ready" pool=p servers=1`; !strings.Contains(
		p.log.String(), want) {
		t.Errorf("no %s in\n%s", want, p.log)
	}
	if now := p.Status().Snapshot.Versions["endpoints"]; now != endpoints {
		t.Errorf("what Envoys have of servers was changed for it: %s, then %s", endpoints, now)
	}
	newEngineAt(t, engine.Listener.Addr().String(), `{"id":"m"}`)
	eventually(t, "up again", func() bool {
		return up() == "1" && server().State == pools.Ready &&
			p.Status().Pools[0].Down.IsZero()
	})
	if !strings.Contains(p.log.String(), `msg="a pool is up again" pool=p`) {
		t.Errorf("log:\n%s", p.log)
	}
}

// TestAPoolWithoutServersIsDown checks that a pool without servers is down if a model needs it, and only then: and not
// if its queue holds requests until there is one.
func TestAPoolWithoutServersIsDown(t *testing.T) {
	folder := folderWith(t, "", "empty.yaml", "[]\n")
	file := filepath.Join(folder, "empty.yaml")
	text := fmt.Sprintf("models:\n- name: m\n  pool: p\n- name: n\n  pool: zero\npools:\n- name: p\n  servers_file: %s\n"+
		"- name: unused\n  servers_file: %s\n- name: zero\n  servers_file: %s\n  policy: picker\n  picker: "+
		"{ url: http://127.0.0.1:1 }\n  capacity: 8\n  queue: { max_requests: 9, hold: 1m }\n", file, file, file)
	if err := os.WriteFile(filepath.Join(folder, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, folder)
	p.ready()
	eventually(t, "down", func() bool { return p.metric(`harmony_controlplane_pool_up{pool="p"}`) == "0" })
	if got := p.metric(`harmony_controlplane_pool_up{pool="unused"}`); got != "1" {
		t.Errorf("a pool that no model needs: %s", got)
	}
	if got := p.metric(`harmony_controlplane_pool_up{pool="zero"}`); got != "1" {
		t.Errorf("a pool whose queue holds requests until there is a server: %s", got)
	}
	for _, pool := range p.Status().Pools {
		if pool.AtZero != (pool.Name == "zero") || pool.Down.IsZero() != (pool.Name != "p") {
			t.Errorf("%s: at zero: %v, down since %v", pool.Name, pool.AtZero, pool.Down)
		}
	}
	if err := os.WriteFile(file, []byte("no list\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a list that cannot be read", func() bool {
		return p.metric(`harmony_controlplane_pool_up{pool="zero"}`) == "0"
	})
	if err := os.WriteFile(file, []byte("[]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "at zero again", func() bool {
		return p.metric(`harmony_controlplane_pool_up{pool="zero"}`) == "1"
	})
	if err := os.WriteFile(file, []byte("[http://127.0.0.1:1]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a server that does not answer", func() bool {
		return p.metric(`harmony_controlplane_pool_up{pool="zero"}`) == "0"
	})
}

// TestShortFormsAreProbedToo checks a server in a model's own list: it is reported as not ready if it does not list the
// model, and still gets requests.
func TestShortFormsAreProbedToo(t *testing.T) {
	engine := newEngine(t, `{"id":"openai/m"}`)
	p, e := startWithEnvoy(t, "models:\n- name: m\n  servers: [ vllm="+engine.URL+" ]\n")
	eventually(t, "asked", func() bool {
		pools := p.Status().Pools
		return len(pools) == 1 && pools[0].Servers[0].Reason == `does not serve "m"; it serves "openai/m"` &&
			p.metric(`harmony_controlplane_pool_up{pool="m"}`) == "0"
	})
	eventually(t, "current", p.current)
	if health := e.health(t, "harmony-pool-m"); health != corev3.HealthStatus_UNKNOWN {
		t.Errorf("it is taken out: %s", health)
	}
}

package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// twoServers returns a configuration with one model on two servers. setting is a line of the model.
func twoServers(setting string, servers ...*modelServer) string {
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.URL)
	}
	return "models:\n- name: m\n  pool: p\n" + setting + "pools:\n- name: p\n  servers: [ " + strings.Join(urls, ", ") +
		" ]\n"
}

// TestSmallestContextCounts checks that a model without context_length has the smallest context of its servers, that a
// server which goes and comes changes nothing, and that a larger one counts once the smallest has been gone for long.
func TestSmallestContextCounts(t *testing.T) {
	large, small := newModelServer(t, 131072, 400), newModelServer(t, 4096, 400)
	other := newModelServer(t, 131072, 400) // so that another server can always be asked, as the filter is told
	folder := folderWith(t, twoServers("", large, other, small))
	hold := func(o *testOptions) { o.WeightInterval = 5 * time.Millisecond }
	p := start(t, folder, hold)
	e := startEnvoy(t, p.ads, "one")
	has := func(n int) bool {
		return strings.Contains(e.text(t, resource.ExtensionConfigType, "harmony"), fmt.Sprintf(`"context_length":%d`, n))
	}
	eventually(t, "the smallest context", func() bool { return p.current() && has(4096) })
	if pool := p.Status().Pools[0]; pool.Contexts["m"] != 4096 || len(pool.Warnings) != 0 {
		t.Errorf("status %+v", pool)
	}
	version := p.Status().Snapshot.Versions["extensions"]
	unchanged := func(when string) {
		t.Helper()
		if now := p.Status().Snapshot.Versions["extensions"]; now != version || version == "" {
			t.Errorf("%s: the filter's configuration has changed: %v", when, p.Status().Snapshot.Versions)
		}
	}
	for range 3 {
		small.away.Store(true)
		small.askedAgain(t)
		small.away.Store(false)
		small.askedAgain(t)
	}
	unchanged("after three absences")
	p.write("config.yaml", twoServers("", large, other))
	eventually(t, "in force", func() bool { return len(p.Status().Pools[0].Servers) == 2 })
	large.askedAgain(t)
	unchanged("without the server")

	// After a restart the context is the snapshot's, before a server has answered.
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	large.away.Store(true)
	p = start(t, folder, hold)
	e = startEnvoy(t, p.ads, "one")
	eventually(t, "current", p.current)
	large.askedAgain(t)
	unchanged("after a restart")
	large.away.Store(false)

	// A short hold stands for ten minutes.
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	p = start(t, folder, hold, func(o *testOptions) { o.ContextHold = time.Nanosecond })
	e = startEnvoy(t, p.ads, "one")
	eventually(t, "the larger context", func() bool {
		return p.current() && !strings.Contains(e.text(t, resource.ExtensionConfigType, "harmony"), "context_length")
	})
	// A server that is started with another context is known by its absence.
	large.away.Store(true)
	large.askedAgain(t)
	large.context.Store(8192)
	large.away.Store(false)
	eventually(t, "the context of the server that was started again", func() bool { return p.current() && has(8192) })
}

// TestContextThatServersLack checks that a context_length above a server's is in the status and in the log, once.
func TestContextThatServersLack(t *testing.T) {
	large, small := newModelServer(t, 131072, 400), newModelServer(t, 4096, 400)
	p, e := startWithEnvoy(t, twoServers("  context_length: 131072\n", large, small))
	p.ready()
	eventually(t, "current", p.current)
	eventually(t, "in force", func() bool { return len(p.Status().Pools) == 1 })
	warnings := func() []string { return p.Status().Pools[0].Warnings }
	eventually(t, "a warning", func() bool { return len(warnings()) == 1 })
	counted := func() string { return p.metric(`harmony_controlplane_short_context_servers{model="m",pool="p"}`) }
	if got := counted(); got != "1" {
		t.Errorf("%q servers are counted", got)
	}
	want := "context_length of m is 131072, and " + small.URL + " has a context of 4096 tokens: it refuses requests " +
		"without max_tokens; set context_length to 4096 or leave it out, or start the server with more"
	if got := warnings()[0]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	small.askedAgain(t)
	if n := strings.Count(p.log.String(), "level=WARN msg=\"a server's context is smaller than the model's\""); n != 1 {
		t.Errorf("%d lines in the log:\n%s", n, p.log)
	}
	if text := e.text(t, resource.ExtensionConfigType, "harmony"); strings.Contains(text, `"context_length":4096`) {
		t.Errorf("the operator's context does not count: %s", text)
	}
	p.write("config.yaml", twoServers("  context_length: 4096\n", large, small))
	eventually(t, "no warning", func() bool { return len(warnings()) == 0 })
	if got := counted(); got != "0" {
		t.Errorf("%q servers are counted", got)
	}
	eventually(t, "logged", func() bool { return strings.Contains(p.log.String(), "the servers' contexts fit the models' again") })
}

// TestSparesCountToo checks that a spare's context counts for the models of the pool that it helps, and the context of
// a server without requests does not.
func TestSparesCountToo(t *testing.T) {
	c, err := config.Parse("c.yaml", []byte("models:\n- {name: m, pool: p}\n- {name: c, pool: chat}\npools:\n"+
		"- {name: p, servers: ['http://10.0.0.1:1'], spares: [q]}\n- {name: q, servers: ['http://10.0.0.2:1']}\n"+
		"- {name: chat, kind: chat, servers: ['http://10.0.0.3:1']}\n"))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	states := func(p, q, chat pools.Server) map[string]pools.PoolState {
		return map[string]pools.PoolState{
			"p": {Servers: []pools.Server{p}}, "q": {Servers: []pools.Server{q}}, "chat": {Servers: []pools.Server{chat}}}
	}
	for _, tt := range []struct {
		p, q pools.Server
		want string
	}{
		{pools.Server{Context: 100}, pools.Server{Context: 50}, "map[m:50]"},
		{pools.Server{Context: 100}, pools.Server{}, "map[m:100]"},
		{pools.Server{}, pools.Server{}, "map[]"},
		{pools.Server{Context: 100}, pools.Server{Context: 50, State: pools.NotReady}, "map[m:100]"},
		{pools.Server{Context: 1 << 20}, pools.Server{}, "map[m:131072]"},
	} {
		if got := fmt.Sprint(SmallestContexts(resolved, states(tt.p, tt.q, pools.Server{Context: 7}))); got != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}

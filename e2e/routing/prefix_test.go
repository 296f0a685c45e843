//go:build e2e

package routing

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// farm is a pool of servers behind a host.
type farm struct {
	t       *testing.T
	host    *hosts.Host
	servers []*sim.Server
	urls    []string
}

func newFarm(t *testing.T, n int, pool config.Pool, o sim.Options) *farm {
	f := &farm{t: t}
	for range n {
		s, url := lab.RunSim(t, o)
		f.servers, f.urls = append(f.servers, s), append(f.urls, url)
	}
	pool.Policy, pool.Kind = config.PolicyPrefix, o.Kind
	f.host = lab.RunEnvoy(t, poolOf(pool, f.urls...))
	awaitWell(t, f.host)
	return f
}

// ask sends a request and returns the index of the server that answered it.
func (f *farm) ask(path, body string, header ...string) int {
	f.t.Helper()
	before := servedBy(f.servers)
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	a := lab.Do(lab.HTTP1(f.t), http.MethodPost, f.host.URL+path, h, strings.NewReader(body))
	if a.Status != 200 || a.Err != nil {
		f.t.Fatalf("got %+v", a)
	}
	for i, n := range servedBy(f.servers) {
		if n > before[i] {
			return i
		}
	}
	f.t.Fatal("no server got the request")
	return -1
}

// conversation returns a Chat request with so many earlier turns.
func conversation(name string, turns int) string {
	messages := `{"role":"system","content":"You help."},{"role":"user","content":` + lab.Quote("About "+name) + `}`
	for i := range turns {
		messages += fmt.Sprintf(`,{"role":"assistant","content":"Answer %d."},{"role":"user","content":"More, %d."}`, i, i)
	}
	return `{"model":"` + lab.Model + `","messages":[` + messages + `]}`
}

// TestPrefix: a conversation stays with its server over all its turns. A server that is gone takes only its own
// conversations with it, and they stay together at their next server.
func TestPrefix(t *testing.T) {
	const conversations = 60
	f := newFarm(t, 5, config.Pool{Health: config.Health{Interval: config.Duration(100 * time.Millisecond)}}, sim.Options{})
	homes, used := map[string]int{}, map[int]int{}
	for i := range conversations {
		name := fmt.Sprint("matter ", i)
		homes[name] = f.ask(lab.ChatPath, conversation(name, 0))
		used[homes[name]]++
		for turns := 1; turns < 3; turns++ {
			if at := f.ask(lab.ChatPath, conversation(name, turns)); at != homes[name] {
				t.Errorf("%s: turn %d went to server %d, and the first to %d", name, turns, at, homes[name])
			}
		}
	}
	t.Logf("conversations of each server: %v", used)
	if len(used) != 5 {
		t.Errorf("%d of 5 servers are used", len(used))
	}
	gone := homes["matter 0"]
	f.servers[gone].Close()
	var first []int
	for i := range 6 { // Envoy may not have noticed yet
		first = append(first, f.ask(lab.ChatPath, conversation("matter 0", i)))
	}
	t.Logf("at once: %v", first)
	awaitAdmin(t, f.host, "/clusters", "failed_active_hc")
	moved, homeless := 0, 0
	for name, home := range homes {
		at := f.ask(lab.ChatPath, conversation(name, 3))
		switch {
		case home == gone:
			homeless++
		case at != home:
			moved++
		}
		if again := f.ask(lab.ChatPath, conversation(name, 4)); again != at || at == gone {
			t.Errorf("%s went from server %d to %d and %d, and %d is gone", name, home, at, again, gone)
		}
	}
	t.Logf("%d conversations lost their server, and %d others moved", homeless, moved)
	if homeless == 0 || moved > conversations/10 {
		t.Errorf("%d of %d conversations left servers that are well", moved, conversations-homeless)
	}
}

// TestPrefixAtOnce: more servers are gone than Envoy ejects. The retries of a conversation go to one server.
func TestPrefixAtOnce(t *testing.T) {
	f := newFarm(t, 5, config.Pool{Health: config.Health{Path: config.NoHealthChecks}}, sim.Options{})
	homes := map[string]int{}
	for i := range 30 {
		name := fmt.Sprint("matter ", i)
		homes[name] = f.ask(lab.ChatPath, conversation(name, 0))
	}
	for i := range 3 {
		f.servers[i].Close()
	}
	for i := range 20 { // until two of them are ejected
		f.ask(lab.ChatPath, conversation(fmt.Sprint("matter ", i), 1))
	}
	for name, home := range homes {
		seen := map[int]int{}
		for turns := range 8 {
			seen[f.ask(lab.ChatPath, conversation(name, turns))]++
		}
		if len(seen) != 1 || home >= 3 && seen[home] == 0 {
			t.Errorf("%s, which was at server %d, is at servers %v", name, home, seen)
		}
	}
}

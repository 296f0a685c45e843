//go:build e2e

package routing

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// farm is a pool of servers behind a host.
type farm struct {
	t       *testing.T
	host    *hosts.Host
	servers []*sim.Server
	urls    []string
}

func newFarm(t *testing.T, run lab.RunProxy, n int, pool config.Pool, o sim.Options) *farm {
	lab.NeedsPrefix(t)
	f := &farm{t: t}
	for range n {
		s, url := lab.RunSim(t, o)
		f.servers, f.urls = append(f.servers, s), append(f.urls, url)
	}
	pool.Policy, pool.Kind = config.PolicyPrefix, o.Kind
	c := poolOf(pool, f.urls...)
	if o.Kind == contract.Chat {
		c.Models[0].System = config.DefaultModel("").System // the servers write the prompt
	}
	f.host = run(t, c)
	if f.host.Process != nil {
		awaitWell(t, f.host)
	}
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
	checked := config.Pool{Health: config.Health{Interval: config.Duration(100 * time.Millisecond)}}
	f := newFarm(t, lab.RunEnvoy, 5, checked, sim.Options{})
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
	f := newFarm(t, lab.RunEnvoy, 5, config.Pool{Health: config.Health{Path: config.NoHealthChecks}}, sim.Options{})
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

// TestPrefixOfOthers: session, key and conversation decide at other hosts and servers too, and what a client says with
// internal headers decides nothing. The servers do not get them.
func TestPrefixOfOthers(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		for _, kind := range []string{contract.VLLM, contract.SGLang, contract.Chat} {
			t.Run(kind, func(t *testing.T) { prefixOf(t, run, kind) })
		}
	})
}

func prefixOf(t *testing.T, run lab.RunProxy, kind string) {
	f := newFarm(t, run, 4, config.Pool{Session: config.Session{Header: "X-Session"},
		Health: config.Health{Path: config.NoHealthChecks}}, sim.Options{Kind: kind})
	used := map[int]bool{}
	for i := range 16 {
		name := fmt.Sprint("matter ", i)
		home := f.ask(lab.ChatPath, conversation(name, 0))
		used[home] = true
		for turns := range 3 {
			if at := f.ask(lab.ChatPath, conversation(name, turns), contract.AffinityHeader, fmt.Sprintf("%016x", turns),
				"X-Harmony-Internal-Blocks", "0", "X-Gateway-Destination-Endpoint", f.urls[turns][len("http://"):]); at != home {
				t.Errorf("%s went from server %d to %d", name, home, at)
			}
		}
	}
	if len(used) < 3 {
		t.Errorf("%d of 4 servers are used", len(used))
	}
	bySession, byKey := map[int]bool{}, map[int]bool{}
	for i := range 8 {
		body := conversation(fmt.Sprint("other ", i), i%3)
		bySession[f.ask(lab.ChatPath, body, "x-session", "one")] = true
		body = strings.Replace(body, "{", `{"prompt_cache_key":"one key",`, 1)
		byKey[f.ask(lab.ChatPath, body)] = true
		input := `{"model":"` + lab.Model + `","input":"Again","prompt_cache_key":"one key","store":false}`
		byKey[f.ask(lab.ResponsesPath, input)] = true
	}
	if len(bySession) != 1 || len(byKey) != 1 {
		t.Errorf("one session is at servers %v, one key at %v", bySession, byKey)
	}
	for _, s := range f.servers {
		for _, r := range lab.Completions(s) {
			for name := range r.Header {
				if contract.IsInternalHeader(strings.ToLower(name)) {
					t.Errorf("a server got %s", name)
				}
			}
		}
	}
	client := lab.HTTP1(t)
	long := `{"model":"` + lab.Model + `","prompt_cache_key":"` + strings.Repeat("k", 900_000) +
		`","messages":[{"role":"user","content":"Hi"}]}`
	if a := lab.Ask(client, f.host.URL+lab.ChatPath, long); a.Status != 400 && kind != contract.Chat || a.Status >= 500 {
		t.Errorf("a key of 900 kB: %d %.200s", a.Status, a.Body)
	}
	large := conversation("matter 0", 0)
	large = strings.Replace(large, "About", strings.Repeat("word ", 180_000), 1)
	if a := lab.Ask(client, f.host.URL+lab.ChatPath, large); a.Status >= 500 || a.Err != nil {
		t.Errorf("a prompt of 180,000 words: %d %.200s", a.Status, a.Body)
	}
}

// TestPrefixOfAll: all clients have one key, and their requests still share the servers.
func TestPrefixOfAll(t *testing.T) {
	script := sim.NewScript(sim.Line{Tokens: lab.Tokens(lab.SixWords)})
	f := newFarm(t, lab.RunEnvoy, 4, config.Pool{Health: config.Health{Path: config.NoHealthChecks}},
		sim.Options{Script: script, HoldAfter: 2})
	const requests = 40
	answers := make(chan lab.Answer, requests)
	body := strings.Replace(conversation("all", 0), "{", `{"prompt_cache_key":"everybody",`, 1)
	total := func() (n int) {
		for _, served := range servedBy(f.servers) {
			n += served
		}
		return n
	}
	for i := range requests {
		go func() { answers <- lab.Ask(lab.HTTP1(t), f.host.URL+lab.ChatPath, body) }()
		for end := time.Now().Add(lab.Patience); total() <= i; {
			if time.Now().After(end) {
				t.Fatal("a request does not reach a server")
			}
			time.Sleep(lab.Pause)
		}
	}
	shares := servedBy(f.servers)
	t.Logf("requests of each server: %v", shares)
	if most := slices.Max(shares); most > 14 { // 125 % of 10, and the one that is passed over
		t.Errorf("a server has %d of %d requests", most, requests)
	}
	for _, s := range f.servers {
		s.Release()
	}
	for range requests {
		if a := <-answers; a.Status != 200 {
			t.Errorf("got %+v", a)
		}
	}
}

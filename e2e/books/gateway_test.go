//go:build e2e

package books

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/sim"
)

// fleet is two Envoys with the shipped filter, and the replicas that they ask.
type fleet struct {
	redis     *lab.Redis
	replicas  []*replica
	servers   []*sim.Server
	envoys    []*envoy.Process
	addresses []string
	logs      []string // the access log of each
}

// keyOf returns the key of a client.
func keyOf(client string) string { return "sk-harmony-" + client }

// startFleet starts a fleet. limits are the settings of limits beside the replicas' addresses.
func startFleet(t *testing.T, keys map[string]string, limits string) *fleet {
	t.Helper()
	f := &fleet{redis: lab.StartRedis(t)}
	var text strings.Builder
	text.WriteString("clients:\n")
	for name, limits := range keys {
		fmt.Fprintf(&text, "- {name: %s, hashes: [%q], limits: {%s}}\n", name, clients.HashOf(keyOf(name)), limits)
	}
	file := writeKeys(t, text.String())
	var urls, servers []string
	for range 2 {
		r := startReplica(t, file, "--redis", f.redis.URL, "--slot-lifetime", "20s")
		f.replicas, urls = append(f.replicas, r), append(urls, "http://"+r.address)
	}
	for range 4 {
		s, url := lab.RunSim(t, sim.Options{TokensPerSecond: 2000, Keep: int(bookedRequests)})
		f.servers, servers = append(f.servers, s), append(servers, "vllm="+url)
	}
	for i := range 2 {
		// Each Envoy has a control plane of its own, for an access log of its own: Envoy writes a line in pieces, between
		// which another Envoy's line may come.
		log, plane := filepath.Join(t.TempDir(), "access.log"), lab.FreeAddress(t)
		config := lab.WriteConfig(t, fmt.Sprintf("listen: 127.0.0.1:0\naccess_log: %s\nclients: {keys_file: %s}\n"+
			"limits: {urls: ['%s'], timeout: 20s%s}\nmodels: [{name: %s, servers: ['%s']}]\n", log, file,
			strings.Join(urls, "', '"), limits, lab.Model, strings.Join(servers, "', '")))
		lab.RunHarmony(t, nil, "controlplane", "--config", config, "--listen", plane, "--status", lab.FreeAddress(t),
			"--state", "none", "--wasm", lab.Tool(t, "HARMONY_WASM")).Announced(t, `serving Envoys on (\S+)`)
		one, address := lab.StartEdge(t, lab.EdgeBootstrap(t, plane, fmt.Sprint("edge-", i)))
		f.envoys, f.addresses, f.logs = append(f.envoys, one), append(f.addresses, address), append(f.logs, log)
	}
	return f
}

// post sends a request for an answer of some tokens. 0 leaves the number out.
func (f *fleet) post(ctx context.Context, envoy int, client string, words, tokens int) (*http.Response, error) {
	limit := ""
	if tokens > 0 {
		limit = fmt.Sprintf(`"max_tokens":%d,`, tokens)
	}
	body := fmt.Sprintf(`{"model":%q,"stream":true,%s"messages":[{"role":"user","content":%q}]}`, lab.Model, limit,
		strings.Repeat("word ", words))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+f.addresses[envoy]+lab.ChatPath,
		strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+keyOf(client))
	return http.DefaultClient.Do(req)
}

// TestGateway is TestBooks with the shipped filter: it says what is reserved and used. Servers die, too. Some requests
// say no length, and their answers are longer than is expected.
func TestGateway(t *testing.T) {
	f := startFleet(t, map[string]string{"strict": "tokens_per_minute: 20000, concurrency: 2", "a": "", "b": ""}, ", expected_answer: 5")
	var sent, left atomic.Int64
	var group sync.WaitGroup
	for c := range bookedClients {
		client := []string{"a", "b", "strict", "a"}[c%4]
		random := rand.New(rand.NewPCG(uint64(c), 2))
		group.Go(func() {
			for i := range int(bookedRequests) / bookedClients {
				switch sent.Add(1) {
				case bookedRequests / 4:
					f.servers[0].Close()
				case bookedRequests / 2:
					f.replicas[0].Kill(t)
				}
				ctx, cancel := context.WithCancel(t.Context())
				leaves := random.IntN(6) == 0
				if leaves {
					time.AfterFunc(time.Duration(random.IntN(30_000))*time.Microsecond, cancel)
				}
				resp, err := f.post(ctx, (c+i)%2, client, random.IntN(60), random.IntN(40))
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if leaves && err != nil {
					left.Add(1)
				}
				cancel()
			}
		})
	}
	group.Wait()
	w := f.witness(t)
	books := f.replicas[1].awaitBooks(t, w.used, 0)
	t.Logf("%d requests on two Envoys: %d clients have left, %d were refused, %d failed in other ways, of which no "+
		"server had accepted %d", sent.Load(), left.Load(), w.refused, w.failed, w.unserved)
	t.Logf("reserved %d + beyond it %d + without it %d = used %d + refunded %d + lost %d (of %d requests)", books.Reserved,
		books.Overrun, books.Unreserved, books.Used, books.Refunded, books.Lost, books.LostRequests)
	t.Logf("used, says the ledger: %d; used, say the access logs: %d reserved and not given back, %d of prompts and answers",
		books.Used, w.used, w.tokens)
	if t.Failed() {
		for _, e := range f.envoys {
			stats, err := e.Get(t.Context(), "/stats?usedonly&filter=^cluster."+xds.LimitsCluster+".upstream_(rq|cx)")
			t.Logf("an Envoy and the replicas: %v\n%s", err, stats)
		}
	}
	if w.tokens != w.used {
		t.Error("the access logs' tokens are not what was used")
	}
	f.checkServers(t, &w)
	if w.lines < bookedRequests*9/10 || left.Load() == 0 || w.refused == 0 {
		t.Errorf("the run has not what it is for: %+v, %d left", w, left.Load())
	}
	if books.Overrun == 0 {
		t.Error("no answer was longer than its request reserved")
	}
	if books.LostRequests > w.unasked {
		t.Errorf("%d reservations are lost, and only %d clients left before the answer", books.LostRequests, w.unasked)
	}
}

// told is what the access log tells.
type told struct {
	lines, refused, failed, unasked int64
	// unserved requests failed before a server accepted them.
	unserved int64
	// used is the reserved tokens without the returned ones, and tokens the tokens of prompts and answers.
	used, tokens int64
	// answers are what was counted of each request that a server has accepted, by its id.
	answers map[string]counted
}

// witness reads the access logs when all lines are there.
func (f *fleet) witness(t *testing.T) (w told) {
	t.Helper()
	until(t, "the access log has all lines", func() bool {
		w = told{answers: map[string]counted{}}
		var got int64
		for _, e := range f.envoys {
			got += requestsOf(t, e, "harmony")
		}
		for _, path := range f.logs {
			for _, line := range wholeLines(t, path) {
				w.add(t, line)
			}
		}
		return w.lines == got
	})
	return w
}

// wholeLines returns the lines of a log. The last one, of which only a part may be written, is left out.
func wholeLines(t *testing.T, path string) [][]byte {
	t.Helper()
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(log, []byte("\n"))
	return lines[:len(lines)-1]
}

func (w *told) add(t *testing.T, line []byte) {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	number := func(name string) int64 {
		n, _ := fields[name].(float64) // a field that is not set is null
		return int64(n)
	}
	upstream, _ := fields["upstream"].(string)
	flags, _ := fields["flags"].(string)
	status := number("status")
	w.lines++
	switch {
	case status == 429:
		w.refused++
	case upstream == "" && strings.Contains(flags, "DC"):
		w.unasked++
		return
	case status != 200:
		w.failed++
	}
	used, tokens := number("reserved_tokens")-number("unused_tokens"), number("prompt_tokens")+number("completion_tokens")
	w.used += used
	switch {
	case status == 200 || used != 0:
		w.tokens += tokens
		id, _ := fields["request_id"].(string)
		w.answers[id] = counted{prompt: number("prompt_tokens"), completion: number("completion_tokens"),
			whole: flags == "-" && fields["finish"] != nil}
	case status != 429:
		w.unserved++
	}
}

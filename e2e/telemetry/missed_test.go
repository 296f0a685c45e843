//go:build e2e

package telemetry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// agentTurn returns a turn of an agent's conversation, with a tool of this name.
func agentTurn(model string, questions int, tool string) string {
	var input []string
	for i := range questions {
		if i > 0 {
			input = append(input, `{"role":"assistant","content":"In Zürich it rains."}`)
		}
		input = append(input, fmt.Sprintf(`{"role":"user","content":"Hi, %d: %s"}`, i,
			strings.Repeat("where does it rain? ", 60)))
	}
	return fmt.Sprintf(`{"model":%q,"tools":[{"type":"function","name":%q,"parameters":{}}],"input":[%s]}`, model, tool,
		strings.Join(input, ","))
}

// TestMissedTokens: what servers had to compute again is counted by model and by client, and each line of the access
// log says why. The turns that begin as the one before them come without their ids: the filter remembers them as text.
func TestMissedTokens(t *testing.T) {
	t.Run("envoy", func(t *testing.T) { missesTokens(t, hosts.Envoy) })
	t.Run("wazero", func(t *testing.T) { missesTokens(t, hosts.Wazero) })
}

func missesTokens(t *testing.T, run func(hosts.Setup) (*hosts.Host, error)) {
	options := sim.Options{PromptTokensDetails: true, Script: sim.NewScript(sim.Line{Match: "Hi",
		Tokens: lab.Tokens("<|channel|>final<|message|>In Zürich it rains.<|return|>")})}
	one, first := lab.RunSim(t, options)
	two, second := lab.RunSim(t, options)
	log := filepath.Join(t.TempDir(), "log.json")
	c, err := config.Parse("missed.yaml", fmt.Appendf(nil, `
cache_reasons: 1MiB
access_log: %[4]s
clients: { header: x-user }
models:
  - { name: %[1]s, pool: one }
  - { name: both, pool: both, server_model: %[1]s }
pools:
  - { name: one, kind: vllm, servers: ["%[2]s"], health: { path: none } }
  - { name: both, kind: vllm, servers: ["%[2]s", "%[3]s"], policy: round_robin, health: { path: none } }
`, lab.Model, first, second, log))
	if err != nil {
		t.Fatal(err)
	}
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	h, err := run(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Stop()
	computed, moved, at := map[string]int{}, map[string]bool{}, 0
	client := lab.HTTP1(t)
	send := func(id, who, body string) {
		t.Helper()
		header := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {id}, "X-User": {who}}
		before := [2]int{len(lab.Completions(one)), len(lab.Completions(two))}
		if a := lab.Do(client, http.MethodPost, h.URL+lab.ResponsesPath, header, strings.NewReader(body)); a.Status != 200 {
			t.Fatalf("%s: %+v", id, a)
		}
		for i, s := range []*sim.Server{one, two} {
			if all := lab.Completions(s); len(all) > before[i] {
				computed[id] = len(all[before[i]].PromptIDs) - all[before[i]].CachedTokens
				moved[id], at = i != at, i
			}
		}
	}
	send("first", "ada", agentTurn(lab.Model, 1, "f"))
	send("second", "ada", agentTurn(lab.Model, 4, "f"))
	send("third", "ada", agentTurn(lab.Model, 7, "f"))
	send("tools", "ada", agentTurn(lab.Model, 8, "g"))
	send("rewritten", "ada", strings.Replace(agentTurn(lab.Model, 9, "g"), "Hi, 1", "Hi, 77", 1))
	send("stranger", "bob", agentTurn(lab.Model, 1, "h"))
	for i := range 3 { // Envoy's third turn meets the first one's server, which lacks the second turn
		send(fmt.Sprintf("both %d", i), "bob", agentTurn("both", 1+3*i, "z"))
	}
	counts := lab.Counters(t, h)
	h.Stop() // Envoy writes the log's lines then, and else every 10 seconds
	said, missed := map[string]string{}, map[string]int{}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(data)) {
		var l struct {
			ID     string `json:"request_id"`
			Reason string `json:"cache_reason"`
			Missed int    `json:"missed_tokens"`
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		said[l.ID], missed[l.ID] = l.Reason, l.Missed
	}
	if h.Process != nil && !(moved["both 1"] && moved["both 2"]) {
		t.Errorf("the servers do not take turns: %v", moved)
	}
	elsewhere := map[bool]string{true: "another_server"}
	for id, reason := range map[string]string{"first": "", "second": "", "third": "", "stranger": "", "tools": "tools",
		"rewritten": "user", "both 0": "", "both 1": elsewhere[moved["both 1"]], "both 2": elsewhere[moved["both 2"]]} {
		if got, ok := said[id]; !ok || got != reason || (missed[id] > 0) != (reason != "") || missed[id] > computed[id] {
			t.Errorf("%s: %q, %d tokens, want %q; the server computed %d", id, got, missed[id], reason, computed[id])
		}
	}
	movedTokens := missed["both 1"] + missed["both 2"]
	for name, want := range map[string]int{
		"harmony_cache_missed_tokens_total.model." + lab.Model + ".kind.tools":            missed["tools"],
		"harmony_cache_missed_tokens_total.model." + lab.Model + ".kind.rewritten":        missed["rewritten"],
		"harmony_client_cache_missed_tokens_total.client.other.kind.tools":                missed["tools"],
		"harmony_cache_missed_tokens_total.model.both.kind.another_server":                movedTokens,
		"harmony_client_cache_missed_tokens_total.client.other.kind.another_server":       movedTokens,
		"harmony_cache_missed_tokens_total.model." + lab.Model + ".kind.unknown":          0,
		"harmony_cache_missed_tokens_total.model." + lab.Model + ".kind.evicted":          0,
		"harmony_cache_missed_tokens_total.model." + lab.Model + ".kind.another_server":   0,
		"harmony_cache_missed_tokens_total.model.both.kind.rewritten":                     0,
		"harmony_client_cache_missed_tokens_total.client.other.kind.messages_removed":     0,
		"harmony_cache_missed_tokens_total.model." + lab.Model + ".kind.messages_removed": 0,
	} {
		if counts[name] != want {
			t.Errorf("%s is %d, want %d", name, counts[name], want)
		}
	}
}

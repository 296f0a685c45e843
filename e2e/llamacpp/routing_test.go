//go:build llamacpp

package llamacpp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// pool starts a gateway with two servers and a policy.
func pool(t *testing.T, policy string) *hosts.Host {
	t.Helper()
	one, two := start(t, talkers, 4096), start(t, talkers, 4096)
	c, err := config.Parse("pool.yaml", fmt.Appendf(nil, `
models:
  - { name: %s, pool: pool, server_model: puppet }
pools:
  - { name: pool, kind: llamacpp, servers: ["%s", "%s"], policy: %s, health: { path: none } }
`, lab.Model, one.URL, two.URL, policy))
	if err != nil {
		t.Fatal(err)
	}
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	return lab.RunEnvoy(t, c)
}

// talkers are how many conversations there are. Each has a slot on each server. Their number is odd, so that with
// round_robin the server changes from turn to turn.
const talkers = 5

// TestRouting lets conversations take turns with two real servers. With the policy prefix every turn but the first
// finds the one before it in the server's cache; with round_robin the second turn comes to a server that has never seen
// it.
func TestRouting(t *testing.T) {
	const turns = 4
	cached := map[string][turns]int{}
	var prompts [turns]int
	for _, policy := range []string{config.PolicyRoundRobin, config.PolicyPrefix} {
		h := pool(t, policy)
		var all [turns]int
		prompts = all
		for turn := range turns {
			for who := range talkers {
				prompt, hit := take(t, h.URL, who, turn)
				prompts[turn] += prompt
				all[turn] += hit
			}
		}
		cached[policy] = all
		t.Logf("%s: %v tokens of prompts in each turn, of which %v were cached", policy, prompts, all)
	}
	for turn := 1; turn < turns; turn++ {
		if got := cached[config.PolicyPrefix][turn]; got < prompts[turn]/2 {
			t.Errorf("prefix, turn %d: %d of %d tokens cached", turn, got, prompts[turn])
		}
	}
	if got := cached[config.PolicyRoundRobin][1]; got > prompts[1]/4 {
		t.Errorf("round_robin, turn 1: %d of %d tokens cached: nothing could be seen of a policy", got, prompts[1])
	}
}

// take sends a turn of a conversation, and returns how long the prompt was and how much of it was cached.
func take(t *testing.T, url string, who, turn int) (prompt, cached int) {
	t.Helper()
	type message map[string]string
	messages := []message{{"role": "system", "content": strings.Repeat(fmt.Sprintf("You are number %d. ", who), 150)}}
	for i := range turn + 1 {
		messages = append(messages, message{"role": "user", "content": fmt.Sprintf("This is question %d.", i)},
			message{"role": "assistant", "content": "Hello!"})
	}
	// The script is at the end of each prompt, so that it is in no later turn.
	script, err := engines.Text(hello, engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"model": lab.Model,
		"messages": append(messages, message{"role": "user", "content": script})})
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Post(url+lab.ChatPath, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Usage struct {
			Prompt  int `json:"prompt_tokens"`
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", response.StatusCode, err)
	}
	return answer.Usage.Prompt, answer.Usage.Details.Cached
}

//go:build e2e

package responses

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestTokenIDs: the service keeps the ids of tokens that an answer has, gives them back, and sends them along when a
// response is continued.
func TestTokenIDs(t *testing.T) {
	onAll(t, func(t *testing.T, host, database string) {
		g := &gateway{service.Start(t, service.Options{Host: host, Database: database, Sim: sim.Options{Keep: 100,
			Script: answers()}, ModelSettings: []string{"answers: {token_ids: true}"}})}
		g.Schemas = grammar.LoadTracedSchemas(t)
		one := g.Create(`"input":"first question"`)
		g.traced(g.Do("GET", "responses/"+one.ID, "", 200).Body)
		two, _ := g.Stream(`"input":"second question","previous_response_id":"` + one.ID + `"`)
		if two.Text() != "answer two" || !strings.Contains(g.LastPrompt(), "answer one") {
			t.Errorf("%+v after %s", two, g.LastPrompt())
		}
		g.traced(g.Do("GET", "responses/"+two.ID, "", 200).Body)
		three := g.Create(`"input":"third question","previous_response_id":"` + two.ID + `"`)
		g.traced(g.Do("GET", "responses/"+three.ID, "", 200).Body)
	})
}

// traced compares the ids of a stored response's last item with the ids of the server's last request.
func (g *gateway) traced(body string) {
	g.T.Helper()
	var stored struct {
		Output []struct {
			Prompt   []uint32  `json:"prompt_token_ids"`
			Sampled  []uint32  `json:"generation_token_ids"`
			Logprobs []float64 `json:"generation_log_probs"`
		}
	}
	if err := json.Unmarshal([]byte(body), &stored); err != nil {
		g.T.Fatal(err)
	}
	requests := lab.Completions(g.Sim) // others may come from checks of the server
	last, asked := stored.Output[len(stored.Output)-1], requests[len(requests)-1]
	if !slices.Equal(last.Prompt, asked.PromptIDs) || !slices.Equal(last.Sampled, asked.SampledIDs) ||
		len(last.Logprobs) != len(last.Sampled) || len(last.Sampled) == 0 {
		g.T.Errorf("%+v, and the server has %v and %v", last, asked.PromptIDs, asked.SampledIDs)
	}
}

package turn

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
)

// TestModelsByAlias: what is set for a model holds by every name that the gateway takes for it.
func TestModelsByAlias(t *testing.T) {
	one, two := contract.DefaultModel("m"), contract.DefaultModel("n")
	one.Relay, one.Aliases = contract.RelayRetry, []string{"gpt-4o", "team/*"}
	one.Answers.HideReasoning, one.Answers.TokenIDs = true, true
	s := newAround(testKeys(t), settings.Settings{Models: []contract.Model{two, one}})
	for name, want := range map[string]bool{"m": true, "gpt-4o": true, "team/a": true, "n": false, "gpt-4": false,
		"": false} {
		made := Turn{settings: s.settings, Request: &input.Request{Model: name}}
		m := made.settings.Model(name)
		if made.retries() != want || made.Request.Seals(made.settings) != want || m.Answers.TokenIDs != want {
			t.Errorf("%q: %t %t %t", name, made.retries(), made.Request.Seals(made.settings), m.Answers.TokenIDs)
		}
	}
}

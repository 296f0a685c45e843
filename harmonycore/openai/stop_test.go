package openai

import (
	"slices"
	"testing"
)

func TestStopAndThinkingBudget(t *testing.T) {
	const none = -1
	for _, tt := range []struct {
		members string
		stop    []string
		budget  int
	}{
		{`"stop":null`, nil, none},
		{`"stop":[]`, nil, none},
		{`"stop":"\u00e9\n"`, []string{"é\n"}, none},
		{`"stop":["a","b","c","d"],"thinking_token_budget":0`, []string{"a", "b", "c", "d"}, 0},
		{`"thinking_token_budget":null`, nil, none},
		{`"thinking_token_budget":-1`, nil, none},
		{`"thinking_token_budget":9999999999`, nil, 1<<31 - 1},
	} {
		r, err := decodeChat([]byte(`{"model":"m","messages":[{"role":"user","content":"x"}],` + tt.members + `}`))
		if err != nil {
			t.Errorf("%s: %v", tt.members, err)
			continue
		}
		budget := none
		if r.Sampling.ThinkingBudget != nil {
			budget = *r.Sampling.ThinkingBudget
		}
		if !slices.Equal(r.Stop, tt.stop) || budget != tt.budget {
			t.Errorf("%s: stop %q, budget %d", tt.members, r.Stop, budget)
		}
	}
}

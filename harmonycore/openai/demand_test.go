package openai

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestRawDemand: a request whose tokens are not counted later reserves the most that a server may read in its body.
func TestRawDemand(t *testing.T) {
	for _, tt := range []struct {
		path, body string
		want       Demand
	}{
		{contract.CompletionsPath, `{"prompt":"x","max_tokens":7,"n":3}`, Demand{Prompts: 1, Choices: 3, Answer: 7}},
		{contract.CompletionsPath, `{"prompt":"x","max_output_tokens":1}`, Demand{Prompts: 1, Choices: 1}},
		{contract.CompletionsPath, `{"prompt":["a","b",[1,2]],"max_tokens":7}`, Demand{Prompts: 3, Choices: 1, Answer: 7}},
		{contract.CompletionsPath, `{"prompt":[1,2,3],"max_tokens":7}`, Demand{Prompts: 1, Choices: 1, Answer: 7}},
		{contract.CompletionsPath, `{"max_tokens":1,"max\u005ftokens":9,"best_of":2}`,
			Demand{Prompts: 1, Choices: 2, Answer: 9}},
		{contract.CompletionPath, `{"prompt":"x","max_tokens":1}`, Demand{Prompts: 1, Choices: 1}},
		{contract.CompletionPath, `{"prompt":"x","n_predict":-1}`,
			Demand{Prompts: 1, Choices: 1, Answer: contract.MaxContextLength}},
		{contract.GeneratePath, `{"text":"x","max_tokens":1,"max_new_tokens":1,"sampling_params":{"max_new_tokens":900}}`,
			Demand{Prompts: 1, Choices: 1, Answer: 900}},
		{contract.GeneratePath, `{"text":["x","y"],"sampling_params":[{"max_new_tokens":5,"n":2},{"max_new_tokens":6}]}`,
			Demand{Prompts: 2, Choices: 2, Answer: 6}},
		{contract.GeneratePath, `{"text":["x","y"],"sampling_params":[{"max_new_tokens":5},{}]}`,
			Demand{Prompts: 2, Choices: 1}},
		{contract.GeneratePath, `{"text":"x"}`, Demand{Prompts: 1, Choices: 1}},
		{contract.InferenceGeneratePath, `{"token_ids":[1],"sampling_params":{"max_tokens":8}}`,
			Demand{Prompts: 1, Choices: 1, Answer: 8}},
		{"/api/generate", `{"prompt":"x","":5}`, Demand{Prompts: 1, Choices: 1}},
	} {
		got := RawDemand(tt.path, []byte(tt.body))
		got = Demand{Prompts: got.Prompts, Choices: got.Choices, Answer: got.Answer}
		if got != tt.want {
			t.Errorf("%s %s: got %+v, want %+v", tt.path, tt.body, got, tt.want)
		}
	}
}

// TestRawPrompts: each id of a prompt is a token, however few bytes it has, and what is no id is text.
func TestRawPrompts(t *testing.T) {
	for body, want := range map[string]Demand{
		`{"prompt":"four"}`:                {Prompts: 1, LongestText: 4},
		`{"prompt":[1,2,3]}`:               {Prompts: 1, IDs: 3, IDBytes: 6, LongestIDs: 3},
		`{"prompt":[ 1 , 2 , 200000 ]}`:    {Prompts: 1, IDs: 3, IDBytes: 11, LongestIDs: 3},
		`{"prompt":[[1,2],[3,4,5]]}`:       {Prompts: 2, IDs: 5, IDBytes: 10, LongestIDs: 3, LongestText: 1},
		`{"prompt":["ab",[3,4,5]]}`:        {Prompts: 2, IDs: 3, IDBytes: 6, LongestIDs: 3, LongestText: 2},
		`{"prompt":[1,"abc",2]}`:           {Prompts: 1, IDs: 2, IDBytes: 4, LongestIDs: 2, LongestText: 3},
		`{"token_ids":[],"input_ids":[7]}`: {Prompts: 1, IDs: 1, IDBytes: 2, LongestIDs: 1},
		`{"prompt_embeds":"AAAA"}`:         {Prompts: 1, LongestText: 4},
		`{"input_embeds":[[[0.5,1]]]}`:     {Prompts: 1, LongestText: 11},
	} {
		got := RawDemand(contract.CompletionsPath, []byte(body))
		want.Choices, want.unsaid = 1, got.unsaid
		if got != want {
			t.Errorf("%s: got %+v, want %+v", body, got, want)
		}
	}
}

//go:build e2e

package nemogym

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// idMembers are the members of items and messages that a trainer needs.
var idMembers = []string{"prompt_token_ids", "generation_token_ids", "generation_log_probs"}

// spelledNumbers are logprobs in every spelling that JSON has.
var spelledNumbers = []string{"-0.5", "-1.2345678901234567", "-1e-07", "-1E+2", "0", "-0.0", "-12.50", "-1.0e-300"}

// TestTokenIDsComeBack has conversations of several turns with ids and logprobs. The server's ids must reach
// the client to the letter, and the client's must come back to the server to the letter, each on its message.
func TestTokenIDsComeBack(t *testing.T) {
	const turns = 4
	for _, api := range []string{"responses", "chat"} {
		for _, m := range modes {
			t.Run(api+"/"+m.name, func(t *testing.T) {
				v := &vector{API: api, Settings: map[string]any{"return_token_id_information": true}}
				for i := range turns {
					v.Turns = append(v.Turns, conversationTurn(api, i))
				}
				server := runScripted(t)
				host := lab.RunNative(t, configuration(t, v, server.url))
				ours := play(t, v, m, host.URL, server)
				for i := range turns {
					checkIDs(t, fmt.Sprintf("turn %d", i), lastSaid(t, api, ours[i].Response), i)
					messages := elements(ours[i].Sent[0].Body["messages"])
					said := 0
					for _, each := range messages {
						message, _ := each.(map[string]any)
						if message["role"] == "assistant" {
							checkIDs(t, fmt.Sprintf("turn %d, the assistant's message %d", i, said), message, said)
							said++
						}
					}
					if said != i {
						t.Errorf("turn %d: %d messages of the assistant's", i, said)
					}
				}
			})
		}
	}
}

// conversationTurn is a turn in which the model thinks and answers.
func conversationTurn(api string, i int) turn {
	add := []any{map[string]any{"role": "user", "content": fmt.Sprintf("Question %d?", i)}}
	answer := map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": theModel,
		"choices": []any{map[string]any{
			"index": json.Number("0"), "finish_reason": "stop",
			"message": map[string]any{
				"role": "assistant", "content": fmt.Sprintf("Answer %d.", i), "reasoning": fmt.Sprintf("Thought %d.", i),
			},
			"token_ids": sampledIDs(i)["generation_token_ids"],
			"logprobs":  map[string]any{"content": logprobs(i)},
		}},
		"prompt_token_ids": sampledIDs(i)["prompt_token_ids"],
	}
	if api == "chat" {
		return turn{Messages: add, Answer: answer}
	}
	return turn{Input: add, Answer: answer}
}

// sampledIDs are the members of a turn, the ids from the least to the largest that a vocabulary has.
func sampledIDs(i int) map[string]any {
	var prompt, generation, scores []any
	for j := range 40 * (i + 1) {
		prompt = append(prompt, json.Number(fmt.Sprint(j*j+i)))
	}
	for j := range 10 + i {
		generation = append(generation, json.Number(fmt.Sprint((1<<31-1)/(j+1))))
		scores = append(scores, json.Number(spelledNumbers[(i+j)%len(spelledNumbers)]))
	}
	return map[string]any{"prompt_token_ids": prompt, "generation_token_ids": generation, "generation_log_probs": scores}
}

func logprobs(i int) []any {
	var all []any
	members := sampledIDs(i)
	for j, id := range elements(members["generation_token_ids"]) {
		all = append(all, map[string]any{"token": fmt.Sprintf("token_id:%v", id), "bytes": nil, "top_logprobs": []any{},
			"logprob": elements(members["generation_log_probs"])[j]})
	}
	return all
}

func checkIDs(t *testing.T, where string, got map[string]any, i int) {
	t.Helper()
	for _, name := range idMembers {
		if want := sampledIDs(i)[name]; !reflect.DeepEqual(got[name], want) {
			t.Errorf("%s: %s is %s, want %s", where, name, shown(t, got[name]), shown(t, want))
		}
	}
}

// lastSaid returns the last item of a response, or the message of a chat.completion. No other item has ids.
func lastSaid(t *testing.T, api string, response map[string]any) map[string]any {
	t.Helper()
	if api == "chat" {
		choice, _ := elements(response["choices"])[0].(map[string]any)
		message, _ := choice["message"].(map[string]any)
		return message
	}
	output := elements(response["output"])
	for _, o := range output[:len(output)-1] {
		item, _ := o.(map[string]any)
		for _, name := range idMembers {
			if item[name] != nil {
				t.Errorf("an item before the last has %s", name)
			}
		}
	}
	last, _ := output[len(output)-1].(map[string]any)
	return last
}

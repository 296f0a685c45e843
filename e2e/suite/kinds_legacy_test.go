//go:build e2e

package suite

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// legacyMembers are the members of CompletionRequest in vllm/entrypoints/openai/protocol.py before return_token_ids
// (https://github.com/vllm-project/vllm/blob/0052bed36509c7a5a2d8e48265334e40cf2f5a0e/vllm/entrypoints/openai/protocol.py).
var legacyMembers = strings.Fields(`model prompt prompt_embeds best_of echo frequency_penalty logit_bias logprobs
	max_tokens n presence_penalty seed stop stream stream_options suffix temperature top_p user use_beam_search top_k min_p
	repetition_penalty length_penalty stop_token_ids include_stop_str_in_output ignore_eos min_tokens skip_special_tokens
	spaces_between_special_tokens truncate_prompt_tokens allowed_token_ids prompt_logprobs add_special_tokens
	response_format guided_json guided_regex guided_choice guided_grammar guided_decoding_backend
	guided_whitespace_pattern priority request_id logits_processors return_tokens_as_token_ids cache_salt
	kv_transfer_params vllm_xargs`)

// TestLegacyMembers: an old vLLM knows every member that the gateway sends for the suite's requests. It would ignore
// others silently.
func TestLegacyMembers(t *testing.T) {
	sent := 0
	for _, c := range cases.All(t) {
		config, err := c.On(contract.VLLMLegacy).Config("http://127.0.0.1:9") // never reached
		if err != nil {
			t.Fatal(err)
		}
		action, _ := c.Begin(exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary}))
		if c.API() == "" || action.Forward == nil {
			continue
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(action.Forward.Body, &members); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		for name := range members {
			if !slices.Contains(legacyMembers, name) {
				t.Errorf("%s: %s is not a member", c.Name, name)
			}
		}
		sent++
	}
	if sent < 200 {
		t.Errorf("only %d requests were sent", sent)
	}
}

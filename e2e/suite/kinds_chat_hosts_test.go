//go:build e2e && kinds

package suite

import (
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestChatServers runs the suite before servers that take conversations: natively, under wazero and on Envoy, whole and
// in single bytes, where the server separates reasoning, and where it sends all text as the model writes it. Clients
// and servers must get the same on all hosts. Of Responses and Messages, and of Chat where the gateway translates it,
// clients get what they get before vLLM, or what the case wants.
func TestChatServers(t *testing.T) {
	t.Run(contract.Chat, func(t *testing.T) {
		testChatServers(t, contract.Chat, notOnChatServers, sim.ChatReasoningContent, sim.ChatHarmony)
	})
	t.Run(contract.VLLMRender, func(t *testing.T) {
		testChatServers(t, contract.VLLMRender, notOnRendering, sim.ChatHarmony)
	})
}

// testChatServers does so before servers of a kind. except returns the reason why a case is not compared with vLLM's.
func testChatServers(t *testing.T, kind string, except func(c *cases.Case, form string) string, forms ...string) {
	ran, counts := 0, map[string]int{}
	eachOnStages(t, cases.All(t), func(c *cases.Case, mode string) *cases.Case {
		c = c.On(kind)
		config, err := c.Config("http://127.0.0.1:9") // never reached
		if err != nil {
			t.Fatal(err)
		}
		if cases.InMode(config, mode); config.Validate() != nil {
			return nil
		}
		return c
	}, func(t *testing.T, s *stage, c *cases.Case, mode string) {
		if s == nil {
			counts["settings that such servers do not have"]++
			return
		}
		places := slices.Concat(s.native, s.wazero[:2], s.envoy)
		for _, form := range forms {
			why := except(c, form)
			if c.API() == "" || c.Settings["raw_prompts"] == "allow" || why == halved {
				counts[why]++
				continue
			}
			got := runAll(t, c.On(kind).Formed(form, false), places, 0)
			native := got[s.native[0]]
			for on, seen := range got {
				cases.Compare(t, form+" "+on.name, seen, native)
			}
			ran++
			if why != "" || c.API() == "chat" && !contract.KindNamed(kind).Renders {
				counts[why]++
				continue
			}
			if want, _ := c.ReducedView(); mode == contract.ModeReduced && want != c.Member("want") {
				continue // headers that are sent before the error is known
			}
			t.Run(form, func(t *testing.T) { compareChat(t, c, native.View) })
		}
	})
	t.Logf("%d runs; not compared with vLLM's: %v", ran, counts)
	if ran == 0 {
		t.Fatal("nothing has run")
	}
}

// notOnRendering returns the reason why a case is not compared with vLLM's before servers that render conversations, or
// an empty string.
func notOnRendering(c *cases.Case, _ string) string {
	if c.Settings["context_length"] != "" && c.Settings["context_error"] == "" {
		return "the length of the prompt, which another template makes"
	}
	return renderExceptions[c.Name]
}

// renderExceptions are the cases that are not compared before servers that render conversations, each with the reason.
var renderExceptions = map[string]string{}

func init() {
	for why, names := range map[string]string{
		"what the gateway refuses or changes, and servers of conversations judge themselves": "chat_custom_lark " +
			"chat_custom_regex chat_custom_tool_history chat_custom_tool_model chat_custom_tool_stream " +
			"chat_custom_tool_whole chat_server_extras chat_server_extras_none chat_thinking_budget_reasoning " +
			"chat_top_p_zero choice_allowed choice_allowed_required choice_custom_allowed choice_custom_whole " +
			"error_audio error_effort_none error_format_server error_guided_regex error_image " +
			"error_logit_bias_control error_logit_bias_unknown error_min_tokens error_reasoning_off " +
			"error_responses_configuration_update error_responses_images error_result_of_no_call " +
			"error_stop_token_unknown events_custom_tool",
		"words of a server that finds the conversation too long": "error_server_context_chat_stream " +
			"error_server_context_chat_whole rust_context_chat_stream rust_context_chat_whole " +
			"rust_context_responses_stream rust_context_responses_whole",
		"stop strings, which servers look for in all text": "chat_stop_at_once_whole chat_stop_at_the_end_stream " +
			"chat_stop_choices_stream chat_stop_choices_whole chat_stop_many_tokens_stream chat_stop_only_final_stream " +
			"chat_stop_only_final_whole chat_stop_stream chat_stop_whole events_stop",
		"headers about Harmony": "chat_strict_cut chat_strict_cut_stream chat_strict_good chat_strict_stop_stream " +
			"chat_strict_stop_whole chat_strict_stream chat_strict_whole events_strict responses_strict_stream " +
			"responses_strict_whole",
		"a conversation that goes on, which only Harmony's parser has": "events_call_required events_loop_1 " +
			"events_loop_2 events_one_call events_one_chunk events_preamble_call events_repaired_call " +
			"events_second_turn events_two_calls",
		"the server's own list of likely tokens": "chat_logprobs_half_rune chat_logprobs_markers chat_logprobs_stream " +
			"chat_logprobs_whole chat_token_ids_logprobs_stream rust_logprobs_stream rust_logprobs_whole",
		"control tokens, parts of characters or tools of the model's own in text": "chat_half_rune_at_end " +
			"chat_system_anywhere responses_own_whole typed_markers",
		"a limit on reasoning, which has the marks before it": "chat_reasoning_cap_stream " +
			"chat_reasoning_cap_whole chat_reasoning_within_cap_whole responses_reasoning_cap_stream " +
			"responses_reasoning_cap_whole",
		"choices, which this front end of vLLM does not have": "rust_n_stream rust_n_whole",
	} {
		for name := range strings.FieldsSeq(names) {
			renderExceptions[name] = why
		}
	}
}

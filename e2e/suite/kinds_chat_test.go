//go:build e2e

package suite

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestChatServersInPieces plays the answers of a server that takes conversations to every case of the suite, in every
// form in which servers show reasoning, in pieces of several sizes. The output must not depend on the pieces. It
// must be what clients get before vLLM.
func TestChatServersInPieces(t *testing.T) {
	played, counts := 0, map[string]int{}
	for _, form := range sim.ChatForms() {
		t.Run(form, func(t *testing.T) {
			for _, c := range cases.All(t) {
				if why := notOnChatServers(c, form); why != "" {
					counts[why]++
					continue
				}
				t.Run(c.Name, func(t *testing.T) {
					played += chatInPieces(t, c, form)
				})
			}
		})
	}
	t.Logf("%d cuts; cases left out: %v", played, counts)
	if played == 0 {
		t.Fatal("no answer was cut")
	}
}

// chatInPieces returns how often the answer was played.
func chatInPieces(t *testing.T, c *cases.Case, form string) int {
	t.Helper()
	own := c
	c = c.On(contract.Chat).Formed(form, true)
	config, err := c.Config("http://127.0.0.1:9") // never reached
	if err != nil {
		t.Fatal(err)
	}
	g := exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary})
	action, _ := c.Begin(g)
	got, n := "", 0
	switch {
	case action.Reply != nil:
		got = fmt.Sprintf("%d application/json\n%s", action.Reply.Status, action.Reply.Body)
	case action.Forward == nil || action.Forward.Body == nil:
		t.Fatal("it goes nowhere")
	default:
		answer := askServer(t, c, action.Forward.Body, 0)
		got, n = playInPieces(t, g, c, answer)
		for _, tokens := range c.OtherGroupings() {
			other, more := playInPieces(t, g, c, askServer(t, c, action.Forward.Body, tokens))
			if a, b := cases.LikeChat(viewOfPlayed(other)), cases.LikeChat(viewOfPlayed(got)); a != b {
				t.Errorf("with %d tokens in an event: %s", tokens, firstDifference(a, b))
			}
			n += more
		}
	}
	compareChat(t, own, viewOfPlayed(got))
	return n
}

// playInPieces returns what the client gets of an answer, and how often it was played: whole, and in pieces of several
// sizes.
func playInPieces(t *testing.T, g *exchange.Gateway, c *cases.Case, answer serverAnswer) (string, int) {
	t.Helper()
	whole := play(g, c, answer, len(answer.body))
	sizes := []int{1, 2, 3, 7, 13, 61, 331}
	for _, size := range sizes {
		if got := play(g, c, answer, size); got != whole {
			t.Errorf("in pieces of %d bytes\n%s\nwant\n%s", size, got, whole)
		}
	}
	return whole, 1 + len(sizes)
}

// viewOfPlayed returns what play returns in the form of a case's view.
func viewOfPlayed(played string) string {
	head, body, _ := strings.Cut(played, "\n")
	if rest, isReply := strings.CutPrefix(head, "reply "); isReply {
		status, retryAfter, _ := strings.Cut(rest, " ")
		head = status + " application/json"
		if retryAfter != "" {
			head += "\nretry-after: " + retryAfter
		}
	}
	status, media, _ := strings.Cut(head, " ")
	body, isCut := strings.CutSuffix(body, "reset")
	view := status + "\ncontent-type: " + media + "\n\n" + cases.Normalise(body) + "\n"
	if isCut {
		view += "cut short\n"
	}
	return view
}

// compareChat holds a view against what the case wants.
func compareChat(t *testing.T, c *cases.Case, view string) {
	t.Helper()
	if *lab.Update {
		if cases.LikeChat(view) == cases.LikeChat(c.Member("want")) {
			view = ""
		}
		if err := c.UpdateChat(view); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := cases.LikeChat(cmp.Or(c.Member(cases.WantChat), c.Member("want")))
	if got := cases.LikeChat(view); got != want {
		t.Error(firstDifference(got, want))
	}
}

// firstDifference shows the first place at which two texts differ.
func firstDifference(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	near := func(s string) string { return s[max(0, min(len(s), at)-120):min(len(s), at+300)] }
	return fmt.Sprintf("it differs at %d\n got %s\nwant %s", at, near(got), near(want))
}

// notOnChatServers returns the reason why a case is not run before servers that take conversations whose answers have
// this form, or an empty string.
func notOnChatServers(c *cases.Case, form string) string {
	switch why := chatExceptions[c.Name]; {
	case c.API() == "":
		return "requests that are not translated"
	case why == halved:
		return why
	case c.API() == "chat" && form != sim.ChatHarmony:
		return "Chat requests, which pass on"
	case c.Settings["stall_timeout_ms"] != "":
		return "a server that falls silent"
	case c.Settings["context_length"] != "":
		return "the length of the prompt, which the gateway does not know"
	case strings.Contains(c.Name, "_prefilled"):
		return "a call that begins in the prompt"
	case strings.Contains(c.Name, "_cap_"), strings.Contains(c.Name, "thinking_budget"):
		return "a limit on reasoning, whose tokens text only estimates"
	case strings.HasPrefix(c.Name, "rust_"):
		return "vLLM's front ends"
	case strings.Contains(c.Name, "_repetition_"):
		return "repetitions, which only ids show"
	case c.API() == "chat" && (strings.HasPrefix(c.Name, "events_") || strings.HasPrefix(c.Name, "chat_strict_")):
		return "headers about Harmony"
	case c.API() == "chat" && strings.HasPrefix(c.Name, "chat_stop_"):
		return "stop strings, of which servers know"
	case c.API() == "chat" && strings.HasPrefix(c.Name, "error_"), why == passedOn:
		return passedOn
	case why != "" && (why == asHarmony) == (form == sim.ChatHarmony):
		return why
	case why == noMark && (form == sim.ChatOpened || form == sim.ChatMarker):
		return why
	}
	return ""
}

// The reasons of chatExceptions.
const (
	passedOn  = "what the gateway refuses or changes, and servers of conversations judge themselves"
	asHarmony = "control tokens, parts of characters or tools of the model's own in text"
	asParsed  = "what a server's parser makes of Harmony like this"
	halved    = "half of an object that passes, whose length depends on the server's ids"
	noMark    = "an answer without the mark that its form has"
)

// chatExceptions are the cases that are not run before servers that take conversations, each with the reason. The cases
// of asHarmony are run where a server separates reasoning, and the cases of asParsed where it does not.
var chatExceptions = map[string]string{}

func init() {
	for why, names := range map[string]string{
		passedOn: "chat_custom_lark chat_custom_regex chat_custom_tool_history chat_custom_tool_model " +
			"chat_history_template " +
			"chat_custom_tool_stream chat_custom_tool_whole chat_server_extras chat_server_extras_none chat_top_p_zero " +
			"chat_thinking_budget_stream choice_allowed choice_allowed_required choice_custom_allowed choice_custom_whole " +
			"format_schema_asked error_responses_configuration_update error_responses_images",
		asHarmony: "typed_markers error_responses_own_choice responses_own_length responses_own_stream " +
			"responses_own_whole chat_half_rune_at_end chat_logprobs_half_rune chat_logprobs_markers " +
			"chat_logprobs_stream chat_logprobs_whole chat_token_ids_logprobs_stream",
		asParsed: "responses_missing_end responses_missing_start responses_stray_markers responses_unknown_channel " +
			"responses_two_finals responses_undeclared_content responses_undeclared_call " +
			"responses_builtin_browser responses_builtin_python responses_length_builtin_stream " +
			"responses_length_builtin_whole fault_error_in_builtin_call responses_token_ids_ended_item_stream " +
			"responses_undeclared_call responses_missed_name_dotted_stream responses_tool_search_deferred " +
			"responses_tool_search_no_object",
		halved: "fault_no_finish_chat_whole",
		noMark: "responses_no_header responses_only_reasoning",
	} {
		for name := range strings.FieldsSeq(names) {
			chatExceptions[name] = why
		}
	}
}

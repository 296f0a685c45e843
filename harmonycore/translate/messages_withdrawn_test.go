package translate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// change returns a block that adds or removes a tool by its name.
func change(kind, name string) string {
	return `{"type":"` + kind + `","tool":{"type":"tool_reference","name":"` + name + `"}}`
}

func systemOf(blocks ...string) string {
	return `{"role":"system","content":[` + strings.Join(blocks, ",") + `]}`
}

// TestMessagesWithdrawnTools: a tool that is withdrawn stays where it was declared. The model is told in that place,
// and the tool cannot be called from there on.
func TestMessagesWithdrawnTools(t *testing.T) {
	const noF, noG = "functions.f is no longer available. Do not call it.",
		"functions.g is no longer available. Do not call it."
	toolsRF := func(tools ...string) string { return strings.Join(tools, ",") }
	added := `{"type":"additional_tools","role":"developer","tools":[` + deferredRG + `]}`
	said := func(text string) string { return `{"role":"developer","content":` + quoted(text) + `}` }
	for _, tt := range []struct {
		name, tools, messages string
		otherTools, input     string // the same by Responses, where the model is told in the same words
		callable              string
		forServers, spoken    string // what servers of conversations get: they have one place for tools
		ignored               int
	}{
		{"in front", toolF + `,` + searcher, userQ + systemOf(change("tool_removal", "f")) + `,` + last(userQ),
			toolsRF(toolRF, searchToolR), userQ + said(noF) + `,` + last(userQ), "ToolSearch", searchToolR, userQ + last(userQ),
			0},
		{"with a text", toolF + `,` + searcher, userQ +
			systemOf(`{"type":"text","text":"s"}`, change("tool_removal", "f"), `{"type":"text","text":"t"}`),
			toolsRF(toolRF, searchToolR), userQ + said("s\n\n"+noF+"\n\nt"), "ToolSearch", searchToolR, userQ + said("s\n\nt"),
			0},
		{"two", toolF + `,` + searcher, userQ + systemOf(change("tool_removal", "f"), change("tool_removal", "ToolSearch")),
			toolsRF(toolRF, searchToolR), userQ + said(noF+"\n\n"+strings.Replace(noF, ".f", ".ToolSearch", 1)), "", "",
			last(userQ), 0},
		{"twice", toolF + `,` + searcher, userQ + systemOf(change("tool_removal", "f"), change("tool_removal", "f")) + `,` +
			systemOf(change("tool_removal", "f")),
			toolsRF(toolRF, searchToolR), userQ + said(noF), "ToolSearch", searchToolR, last(userQ), 0},
		{"added, and withdrawn", searcher + `,` + deferredG, userQ + systemOf(change("tool_addition", "g")) + `,` + userQ +
			systemOf(change("tool_removal", "g")),
			searchToolR, userQ + added + `,` + userQ + said(noG), "ToolSearch", searchToolR,
			userQ + last(userQ), 0},
		{"another of its name", toolF + `,` + searcher, userQ + systemOf(change("tool_removal", "f"),
			`{"type":"tool_addition","tool":{"type":"tool_definition","definition":`+
				strings.Replace(toolF, "F.", "New.", 1)+`}}`),
			toolsRF(toolRF, searchToolR), userQ + said(noF) + `,` +
				strings.Replace(added, deferredRG, strings.Replace(toolRF, "F.", "New.", 1), 1),
			"ToolSearch f", toolsRF(searchToolR, strings.Replace(toolRF, "F.", "New.", 1)), last(userQ), 0},
		{"before anything is said", toolF + `,` + searcher, systemOf(change("tool_removal", "f")) + `,` + last(userQ),
			searchToolR, last(userQ), "ToolSearch", searchToolR, last(userQ), 0},
		{"never shown", searcher + `,` + deferredG, userQ + systemOf(change("tool_removal", "g")),
			searchToolR, last(userQ), "ToolSearch", searchToolR, last(userQ), 0},
		{"never shown, and then added", searcher + `,` + deferredG, userQ + systemOf(change("tool_removal", "g")) + `,` +
			userQ + systemOf(change("tool_addition", "g")),
			searchToolR, userQ + userQ + added, "ToolSearch g", toolsRF(searchToolR, deferredRG),
			userQ + last(userQ), 0},
		{"not a tool", toolF, userQ + systemOf(change("tool_removal", "h")), toolRF, last(userQ), "f", toolRF, last(userQ),
			1},
		{"a tool of a server", toolF, userQ +
			systemOf(`{"type":"tool_removal","tool":{"type":"mcp_toolset_reference","server_name":"f"}}`),
			toolRF, last(userQ), "f", toolRF, last(userQ), 1},
		{"by the user", toolF, userQ + `{"role":"user","content":[` + change("tool_removal", "f") + `]}`,
			toolRF, last(userQ), "f", toolRF, last(userQ), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := func(choice string) string {
				return `{"model":"m","tools":[` + tt.tools + `],` + choice + `"max_tokens":1,"messages":[` + tt.messages + `]}`
			}
			responses := `{"model":"m","tools":[` + tt.otherTools + `],"input":[` + tt.input + `]}`
			env := testEnv
			env.Tools = &ToolMemory{}
			for range 2 { // read, and remembered
				got := mustRead(t, Messages, body(""), messagesModel, env)
				want := mustRead(t, Responses, responses, messagesModel, testEnv)
				const policy = harmony.DropBeforeLastFinal
				if !slices.Equal(rendered(t, &got.Conversation, policy), rendered(t, &want.Conversation, policy)) {
					t.Fatalf("got\n%swant\n%s", dump(&got.Conversation), dump(&want.Conversation))
				}
				if callable := callable(got.tools, false); callable != tt.callable ||
					got.Ignored[openai.IgnoredUnknown] != tt.ignored {
					t.Errorf("callable %q, ignored %v", callable, got.Ignored)
				}
			}
			onServers := `{"model":"m","tools":[` + tt.forServers + `],"input":[` + tt.spoken + `]}`
			if got, want := spokenOf(t, MessagesChat, body(""), testEnv), spokenOf(t, ResponsesChat, onServers,
				testEnv); got != want {
				t.Errorf("chat: got\n%s\nwant\n%s", got, want)
			}
			checkChoices(t, body, tt.callable)
		})
	}
}

// checkChoices checks that a call of any callable tool can be required, and of no other one.
func checkChoices(t *testing.T, body func(choice string) string, callable string) {
	t.Helper()
	names := strings.Fields(callable)
	for _, api := range []func(*openai.Body, *contract.Model, Env) (*Request, *openai.Error){Messages, MessagesChat} {
		for _, name := range []string{"f", "g", "ToolSearch"} {
			m := messagesModel
			r, err := readWith(api, body(`"tool_choice":{"type":"tool","name":"`+name+`"},`), m, testEnv)
			if (err == nil) != slices.Contains(names, name) {
				t.Errorf("%s required: %v", name, err)
			} else if err != nil && !strings.Contains(err.Message, "tool_choice") {
				t.Error(err)
			} else if err == nil && r.API == MessagesAPI && len(r.Constraint.Calls) > 1 {
				t.Errorf("%s required: %+v", name, r.Constraint.Calls)
			}
		}
	}
	r, err := readWith(Messages, body(`"tool_choice":{"type":"any"},`), messagesModel, testEnv)
	if err != nil {
		if callable != "" {
			t.Error(err)
		}
		return
	}
	var calls []string
	for i := range r.Constraint.Calls {
		calls = append(calls, strings.TrimPrefix(r.Constraint.Calls[i].Recipient, "functions."))
	}
	if strings.Join(calls, " ") != callable {
		t.Errorf("any of %v", calls)
	}
}

func mustRead(t *testing.T, api func(*openai.Body, *contract.Model, Env) (*Request, *openai.Error), body string,
	m *contract.Model, env Env) *Request {
	t.Helper()
	r, err := readWith(api, body, m, env)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return r
}

// TestWithdrawnToolsKeepPrompts: the prompt of each turn begins with all of the one before it, whatever is withdrawn
// and offered again.
func TestWithdrawnToolsKeepPrompts(t *testing.T) {
	messages := []string{last(userQ)}
	var before []uint32
	for turn := range 12 {
		body := `{"model":"m","tools":[` + toolF + `,` + searcher + `],"max_tokens":1,"messages":[` +
			strings.Join(messages, ",") + `]}`
		r := mustRead(t, Messages, body, messagesModel, testEnv)
		ids := rendered(t, &r.Conversation, harmony.KeepAnalysis)
		if n := len(before); n > 0 && !slices.Equal(ids[:min(n, len(ids))], before) {
			t.Fatalf("turn %d:\n%s", turn, dump(&r.Conversation))
		}
		if got, want := callable(r.tools, false), []string{"f ToolSearch", "ToolSearch", "ToolSearch f"}; turn > 0 &&
			got != want[1+(turn+1)%2] || turn == 0 && got != want[0] {
			t.Fatalf("turn %d: %s", turn, got)
		}
		before = ids
		if turn == 2 {
			checkOfferedAgain(t, r)
		}
		kind := []string{"tool_removal", "tool_addition"}[turn%2]
		messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":"a%d"}`, turn),
			fmt.Sprintf(`{"role":"user","content":"q%d"}`, turn), systemOf(change(kind, "f")))
	}
}

// checkOfferedAgain checks that a tool is declared where it is offered again.
func checkOfferedAgain(t *testing.T, r *Request) {
	t.Helper()
	const want = `developer: { functions=functions[ f() ToolSearch() ]}
user: q
assistant|final: a0
user: q0
developer: {functions.f is no longer available. Do not call it.}
assistant|final: a1
user: q1
developer: { functions=functions[ f() ]}
`
	if got := dump(&r.Conversation); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s", got)
	}
}

package promptrules

import (
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// rules are all rules, in the order of the table.
var rules = []rule{
	{
		name: "header of a tool's result", decided: "call", ofLibraries: true,
		alike: func(_ *testCase, p []message) []message {
			return each(p, (*message).isTool, func(m *message) { m.recipientLast = false })
		},
		says: func(p []message) string { return code(first(p, (*message).isTool).header()) },
	},
	{
		name: "header of a past call", decided: "call", ofLibraries: true,
		alike: func(_ *testCase, p []message) []message {
			return each(p, (*message).isCall, func(m *message) { m.recipientLast, m.marked = false, false })
		},
		says: func(p []message) string { return code(first(p, (*message).isCall).header()) },
	},
	{
		name: "numbers in schemas", decided: "tool_numbers", ofLibraries: true,
		alike: func(_ *testCase, p []message) []message {
			return each(p, isAuthor("developer"), func(m *message) { m.change(plainExponents) })
		},
		says: func(p []message) string {
			return code(strings.TrimSuffix(between(first(p, isAuthor("developer")).text(), "default: "), ","))
		},
	},
	{
		name: "reasoning, and text beside calls", decided: "reasoning_preamble_call",
		alike: reasoningFirst, says: kinds,
	},
	{
		name: "text beside a call, without reasoning", decided: "preamble_call", only: llamaTemplate,
		alike: func(_ *testCase, p []message) []message {
			return each(p, (*message).isPreamble, func(m *message) { m.channel = "analysis" })
		},
		says: kinds,
	},
	{
		name: "the member `reasoning` beside a call", decided: "reasoning_call", only: llamaTemplate,
		alike: func(c *testCase, p []message) []message {
			if !strings.Contains(string(c.body), `"reasoning":`) {
				return p
			}
			return slices.DeleteFunc(p, func(m message) bool { return m.isReasoning() && m.text() != "I look." })
		},
		says: kinds,
	},
	{
		name: "text before a call, as items", decided: "reasoning_preamble_phase_call",
		alike: asPreamble, says: kinds,
	},
	{
		name: "several instructions at the start", decided: "system_developer",
		alike: oneDeveloper,
		says: func(p []message) string {
			if !strings.Contains(o200k.Tokenizer().DecodeString(last(p, "developer").content), "Norwegian") {
				return "the first only"
			}
			return plural(count(p, "developer"), "message")
		},
	},
	{
		name: "instructions behind others", decided: "late_developer",
		alike: firstInstructions,
		says: func(p []message) string {
			if last(p, "developer").text() == "" {
				return "lost"
			}
			return "in their place"
		},
	},
	{
		name: "the end of instructions", decided: "system instructions",
		alike: func(_ *testCase, p []message) []message {
			return each(p, isAuthor("developer"), func(m *message) {
				m.change(func(text string) string { return strings.TrimRight(text, "\n") })
			})
		},
		says: func(p []message) string {
			if strings.HasSuffix(last(p, "developer").text(), "\n") {
				return "an empty line"
			}
			return "nothing"
		},
	},
	{
		name: "the schema of the answer", decided: "schema",
		alike: func(_ *testCase, p []message) []message {
			return withoutEmpty(each(p, isAuthor("developer"), func(m *message) {
				m.change(func(text string) string {
					instructions, tools, formats := sections(text)
					if formats == "" {
						return text
					}
					return developer(instructions, tools, "")
				})
			}))
		},
		says: func(p []message) string { return shown(p, "# Response Formats") },
	},
	{
		name: "tools under `tool_choice: none`", decided: "tool_choice_none",
		alike: func(c *testCase, p []message) []message {
			if c.name != "tool_choice_none" {
				return p
			}
			each(p, isSystem, func(m *message) {
				m.change(func(text string) string { return strings.TrimSuffix(text, callsLine) })
			})
			return withoutEmpty(each(p, isAuthor("developer"), func(m *message) {
				m.change(func(text string) string {
					instructions, _, formats := sections(text)
					return developer(instructions, "", formats)
				})
			}))
		},
		says: func(p []message) string { return shown(p, "# Tools") },
	},
	{
		name: "a user's `name`", decided: "user_name",
		alike: func(_ *testCase, p []message) []message {
			return each(p, func(m *message) bool { return strings.HasPrefix(m.author, "user:") },
				func(m *message) { m.author = "user" })
		},
		says: func(p []message) string {
			return code(first(p, func(m *message) bool { return strings.HasPrefix(m.author, "user") }).header())
		},
	},
	{
		name: "other efforts: `minimal`, `xhigh`", decided: "effort_minimal",
		refusals: []string{"reasoning_effort"}, refusable: "effort_",
		alike: func(c *testCase, p []message) []message {
			if !strings.HasPrefix(c.name, "effort_") {
				return p
			}
			return each(p, isSystem, func(m *message) {
				m.change(func(text string) string {
					return strings.Replace(text, between(text, "Reasoning: "), "any", 1)
				})
			})
		},
		says: func(p []message) string {
			return code("Reasoning: " + between(first(p, isSystem).text(), "Reasoning: "))
		},
	},
	{
		name: "a result without a call", decided: "orphan_result",
		refusals:  []string{"no call before it has this id", "unknown tool_call_id", "No call message found"},
		refusable: "orphan_",
		says:      func(p []message) string { return code(first(p, (*message).isTool).header()) },
	},
	{
		name: "a result as a list of parts", decided: "output_list",
		refusals: []string{"valid dictionary or instance of Content"}, refusable: "output_list",
		says: func(p []message) string { return code(first(p, (*message).isTool).text()) },
	},
	{
		name: "parts of a text", decided: "parts",
		alike: func(c *testCase, p []message) []message {
			if !strings.HasSuffix(c.name, "parts") {
				return p
			}
			return each(p, func(m *message) bool { return m.end != 0 && !isSystem(m) }, func(m *message) {
				m.setText(strings.NewReplacer("\n", "", `\n`, "").Replace(m.text()))
			})
		},
		says: apart,
	},
	{
		name: "a function without parameters", decided: "tool_without_parameters", ofLibraries: true,
		alike: func(_ *testCase, p []message) []message {
			return each(p, isAuthor("developer"), func(m *message) {
				m.change(func(text string) string { return strings.ReplaceAll(text, " = (_: any) => any;", " = () => any;") })
			})
		},
		says: func(p []message) string { return code(between(first(p, isAuthor("developer")).text(), "type ")) },
	},
	{
		name: "a refusal of the past", decided: "refusal",
		alike: func(c *testCase, p []message) []message {
			if c.name != "refusal" {
				return p
			}
			kept := p[:0]
			for _, m := range p {
				if m.channel != "final" {
					kept = append(kept, m)
				}
			}
			return kept
		},
		refusals: []string{"must contain text, reasoning content, or tool_calls"}, refusable: "refusal",
		says: func(p []message) string {
			final := first(p, func(m *message) bool { return m.channel == "final" })
			switch {
			case final.author == "":
				return "left out"
			case len(final.content) == 0:
				return "an empty message"
			}
			return "kept: " + code(final.text())
		},
	},
	{
		name: "a user without text", decided: "empty_user",
		refusals: []string{"content cannot be empty"}, refusable: "empty_user",
		says: func(p []message) string { return "an empty message" },
	},
	{
		name: "a call without arguments", decided: "empty_arguments",
		refusals: []string{"Failed to parse tool call arguments"}, refusable: "empty_arguments",
		alike: func(_ *testCase, p []message) []message {
			return each(p, (*message).isCall, func(m *message) {
				m.change(func(text string) string {
					if text == "{}" {
						return ""
					}
					return text
				})
			})
		},
		says: func(p []message) string { return filled(first(p, (*message).isCall).text()) },
	}, {
		name: "a call's arguments", decided: "spaced_arguments",
		refusals: []string{"Failed to parse tool call arguments"}, refusable: "bad_arguments",
		alike: func(_ *testCase, p []message) []message {
			return each(p, (*message).isCall, func(m *message) { m.change(compact) })
		},
		says: func(p []message) string { return code(first(p, (*message).isCall).text()) },
	},
	{
		name: "a tool's result", decided: "call",
		alike: func(_ *testCase, p []message) []message {
			return each(p, (*message).isTool, func(m *message) { m.change(unquoted) })
		},
		says: func(p []message) string { return code(first(p, (*message).isTool).text()) },
	},
	{
		name: "several calls in a message", decided: "two_calls",
		alike: func(c *testCase, p []message) []message {
			if c.name != "two_calls" {
				return p
			}
			return slices.DeleteFunc(p, func(m message) bool { return m.isCall() && strings.Contains(m.text(), "Bergen") })
		},
		says: func(p []message) string {
			if calls := strings.Count(kinds(p), "call"); calls > 1 {
				return "all"
			}
			return "the first only"
		},
	},
	{
		name: "an assistant's message at the end", decided: "ends_with_assistant",
		alike: func(c *testCase, p []message) []message {
			if c.name != "ends_with_assistant" {
				return p
			}
			return slices.DeleteFunc(p, func(m message) bool { return m.author == "assistant" })
		},
		says: func(p []message) string {
			if p[len(p)-1].channel == "" {
				return "is ended"
			}
			return "is continued"
		},
	},
	{
		name: "control tokens in a user's text", decided: "control_tokens",
		alike: func(c *testCase, p []message) []message {
			if c.name != "control_tokens" {
				return p
			}
			all := ""
			for _, m := range p {
				all += "<|start|>" + m.header() + "<|message|>" + m.text()
				if m.end != 0 {
					all += o200k.Tokenizer().DecodeString([]uint32{m.end})
				}
			}
			m := message{author: "user"}
			m.setText(all)
			return []message{m}
		},
		says: func(p []message) string {
			if count(p, "system") > 1 {
				return "become control tokens"
			}
			return "stay text"
		},
	},
	{
		name: "the layout of types", decided: "tool_nested", only: llamaTemplate,
		alike: func(_ *testCase, p []message) []message {
			return each(p, isAuthor("developer"), func(m *message) { m.change(namesOfTools) })
		},
		says: func(p []message) string {
			text := first(p, isAuthor("developer")).text()
			return code(strings.ReplaceAll(text[strings.Index(text, "place"):strings.Index(text, "days")], "\n", "⏎"))
		},
	},
}

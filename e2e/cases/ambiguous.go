//go:build e2e

package cases

import "strings"

// Ambiguous returns the reason why the case's answer says something else when control tokens are hidden, or an empty
// string.
func (c *Case) Ambiguous() string { return ambiguous[c.Name] }

// ambiguous are the reasons of [Case.Ambiguous], by the cases' names. Text with control tokens says the same as ids in all
// of them.
var ambiguous = map[string]string{}

func init() {
	for why, names := range map[string]string{
		"nothing separates the name of a custom tool from its input": "chat_custom_lark chat_custom_tool_model " +
			"responses_additional_tools responses_custom_lark_any responses_custom_lark_shown " +
			"chat_custom_tool_stream chat_custom_tool_whole events_custom_tool responses_custom_length " +
			"responses_custom_regex_shown responses_custom_regex_whole responses_custom_stream responses_custom_whole " +
			"responses_namespace_allowed responses_namespace_custom",
		"a message without its <|start|>assistant is a part of the one before": "chat_missing_start responses_missing_start",
		"a channel that gpt-oss does not have is a word":                       "chat_unknown_channel responses_unknown_channel",
		"a header that is cut short is the end of the message before it":       "chat_length_header",
		"a stray control token leaves no trace":                                "events_broken",
	} {
		for name := range strings.FieldsSeq(names) {
			ambiguous[name] = why
		}
	}
}

//go:build e2e

package nemogym

import (
	"slices"
	"strings"
)

// differences are the rows of docs/nemo-gym.md#differences.
var differences = slices.Concat(ofRequests, ofHistory, ofAnswers, ofObjects, ofFailures)

// ofRequests are about what the server is asked beside the messages.
var ofRequests = []explained{
	{
		name: "streams", where: `sent\[\*\]\.body\.stream(_options)?`, ok: theirsMissing,
		reason: "the server is always asked for a stream, so that a client that leaves ends the generation",
	},
	{
		name: "formats", where: `sent\[\*\]\.body\.(response_format|verbosity)`, ok: theirsMissing,
		reason: "NeMo Gym drops `text`; the gateway sends it as `response_format` and `verbosity`",
	},
	{
		name: "strict tools", where: `sent\[\*\]\.body\.tools\[\*\]\.function\.strict`, ok: theirsMissing,
		reason: "NeMo Gym drops a tool's `strict`",
	},
	{
		name: "tools that may not be called", where: `sent\[\*\]\.body\.(tools|tool_choice)`, ok: oursMissing,
		reason: "with `tool_choice: none` the gateway sends no tools",
		in:     only("parameters/tools_none"),
	},
	{
		name: "custom tools", where: `sent\[\*\]\.body\.tools\[\*\]\.function\.parameters`, ok: theirsMissing,
		reason: "the gateway makes a custom tool a function with one text; NeMo Gym gives the function no parameters",
		in:     only("parameters/tool_custom"),
	},
	{
		name: "logprobs", where: `sent\[\*\]\.body\.logprobs`, ok: theirsMissing,
		reason: "NeMo Gym sends `top_logprobs` without `logprobs`, which servers refuse or ignore",
		in:     only("parameters/top_logprobs"),
	},
	{
		name: "top_logprobs", where: `sent\[\*\]\.body\.top_logprobs`, ok: func(_ *vector, d difference) bool {
			return number(d.theirs) == 0 && d.ours == missing{}
		},
		reason: "for token ids the gateway leaves `top_logprobs` out: 0 is the server's default",
	},
	{
		name: "ids are asked for", where: `sent\[\*\]\.body\.return_token_ids`, ok: theirsMissing,
		reason: "for token ids the gateway always sends `return_token_ids` too " +
			"(`request_prompt_and_generation_token_ids`)",
	},
	{
		name: "ids as text", where: `sent\[\*\]\.body\.return_tokens_as_token_ids`, ok: oursMissing,
		reason: "for token ids the gateway does not ask for logprobs that spell them: `return_token_ids` has them",
	},
	{
		name: "of the client's own", where: `sent\[\*\]\.body\.(metadata|user|store|service_tier)`, ok: oursMissing,
		reason: "`metadata`, `user`, `store` and `service_tier` are not sent to servers",
	},
	{
		name: "nulls in requests", where: `sent\[\*\]\.body\.(temperature|top_p)`,
		reason: "a member that is null counts as absent: it is not sent, and `extra_body` may have another value",
		ok:     func(_ *vector, d difference) bool { return d.theirs == nil },
	},
	{
		name: "empty objects", where: `sent\[\*\]\.body\.chat_template_kwargs`, in: only("settings/template_empty"),
		reason: "`template_kwargs: {}` is sent",
	},
	{
		name:   "settings in metadata",
		where:  `sent\[\*\]\.body\.(chat_template_kwargs(\.\w+)?|min_tokens|messages\[\*\]\.content)`,
		reason: "`metadata` changes nothing: neither its `chat_template_kwargs` and `extra_body`, nor its sound",
		in: only("settings/template_of_metadata", "settings/template_both", "settings/extra_of_metadata",
			"settings/extra_both", "settings/audio_data", "chat/template_of_metadata"),
	},
}

// ofHistory are about the messages that the server is sent.
var ofHistory = []explained{
	{
		name: "text parts", where: `sent\[\*\]\.body\.messages\[\*\]\.content`, ok: sameText,
		reason: "text alone is sent as a string, not as a list of parts; servers would join the parts themselves",
	},
	{
		name: "calls without text", where: `sent\[\*\]\.body\.messages\[\*\]\.content`,
		reason: "a message with calls and no text has the content null, where NeMo Gym may have an empty text",
		ok:     func(_ *vector, d difference) bool { return d.theirs == "" && d.ours == nil },
	},
	{
		name: "leading system messages", where: `sent\[\*\]\.body\.messages`, in: only("input/systems"),
		reason: "system messages at the beginning become one, also without `instructions`",
	},
	{
		name: "messages without text", where: `sent\[\*\]\.body\.messages\[\*\]\.content`, in: only("input/assistant_empty"),
		reason: "an empty text of the assistant's stays one; NeMo Gym sends null",
	},
	{
		name: "texts in a row", where: `sent\[\*\]\.body\.messages\[\*\]\.content`,
		reason: "texts of one turn have an empty line between them, and all its reasoning is before them",
		in: only("input/assistant_items_in_a_row", "settings/twice_parser", "settings/twice_no_parser",
			"settings/twice_preserved", "settings/twice_not_interleaved"),
	},
	{
		name: "think tags in histories", where: `sent\[\*\]\.body\.messages\[\*\]\.(content|reasoning|reasoning_content)`,
		reason: "`<think>` in the text of an earlier message stays there",
		in:     only("input/think_tags_in_history", "input/think_tags_in_easy_history"),
	},
	{
		name: "ids on Chat messages", where: `sent\[\*\]\.body\.messages\[\*\]\.(prompt|generation)_\w+`, ok: theirsMissing,
		reason: "ids on the messages of Chat clients are sent on; NeMo Gym drops them",
		in:     only("chat/rounds_tokens"),
	},
	{
		name: "all reasoning", where: `sent\[\*\]\.body\.messages\[\*\]\.reasoning(_content)?`,
		reason: "a turn's reasoning goes back whole; NeMo Gym sends the first part alone",
		ok: func(_ *vector, d difference) bool {
			first, _ := d.theirs.(string)
			all, _ := d.ours.(string)
			return first != "" && len(all) > len(first) && all[:len(first)] == first
		},
	},
	{
		name: "reasoning as content", where: `sent\[\*\]\.body\.messages\[\*\]\.reasoning(_content)?`, ok: theirsMissing,
		reason: "reasoning in an item's `content` goes back too; NeMo Gym reads summaries alone",
		in:     only("input/reasoning_content"),
	},
	{
		name: "Chat histories", where: `sent\[\*\]\.body\.messages\[\*\]\.(content|reasoning|reasoning_content)`,
		reason: "messages of Chat clients pass as they are; NeMo Gym takes `<think>` out of the assistant's",
		in:     only("chat/assistant_tags"),
	},
}

// ofAnswers are about what the model has said.
var ofAnswers = []explained{
	{
		name: "reasoning items", where: `response\.output\[\*\]\.(content|status)`, ok: isReasoning,
		reason: "a reasoning item has a status, and an empty `content`; NeMo Gym's has neither",
	},
	{
		name: "order of items", where: `response\.output`, ok: sameSaid,
		reason: "items stand in the order in which the model wrote them; NeMo Gym has one item for all reasoning, and no " +
			"reasoning after text",
	},
	{
		name: "white space", where: `response\.output`,
		reason: "a message of white space alone, such as between `</think>` and a call, is left out",
		ok: func(_ *vector, d difference) bool {
			theirs, ours := said(d.theirs), said(d.ours)
			theirs.text = strings.TrimSpace(theirs.text)
			return ours.calls != "" && theirs == ours
		},
	},
	{
		name: "nothing said", where: `response\.output`,
		reason: "an answer without any text has no items; NeMo Gym has an empty message",
		ok: func(_ *vector, d difference) bool {
			return len(elements(d.theirs)) == 1 && len(elements(d.ours)) == 0 && said(d.theirs).text == ""
		},
	},
	{
		name: "unclosed tags", where: `response\.output\[\*\]\..*`, in: only("answers/tags_unclosed"),
		reason: "after `<think>` everything is reasoning, also without `</think>`",
	},
	{
		name: "cut items", where: `response\.output\[\*\]\.status`,
		reason: "an item that was cut has the status `incomplete`",
		ok:     func(_ *vector, d difference) bool { return d.theirs == "completed" && d.ours == "incomplete" },
	},
	{
		name: "Chat answers", where: `response\.choices\[\*\]\.message\.(content|reasoning|reasoning_content)`,
		reason: "Chat answers pass as they are; NeMo Gym writes reasoning into the text, between `<think>` and `</think>`",
		in:     only("chat/answer_reasoning", "chat/answer_tags", "chat/rounds_tokens"),
	},
}

// ofObjects are about the members around what was said.
var ofObjects = []explained{
	{
		name: "ids", where: `response\.(output\[\*\]\.)?id`, ok: bothTexts,
		reason: "ids of responses and items are the gateway's own; `call_id` is the server's",
	},
	{
		name: "names of models", where: `response\.model`, ok: bothTexts,
		reason: "an answer's model is the name that the client used",
		in:     only("parameters/model_of_the_client", "chat/model_of_the_client"),
	},
	{
		name: "times", where: `response\.(created|created_at|completed_at)`,
		reason: "times are the gateway's own, and a response has `completed_at`",
	},
	{
		name: "defaults",
		where: `response\.(background|metadata|reasoning|service_tier|temperature|text(\.\w+)?|top_logprobs|top_p|` +
			`truncation|frequency_penalty|presence_penalty|store|max_output_tokens)`,
		ok: theirsMissing,
		reason: "responses have every member of OpenAI's schema, with the default, or the operator's, where the client said " +
			"nothing",
	},
	{
		name: "pinned sampling", where: `response\.(temperature|max_output_tokens)`,
		reason: "with `sampling_overrides` a response names what was in effect; NeMo Gym names what the client sent",
		in:     func(v *vector) bool { return v.set("sampling_overrides") != nil },
	},
	{
		name: "service_tier", where: `response\.service_tier`, in: only("parameters/service_tier"),
		reason: "`service_tier` is the one that was used, which is `default`",
	},
	{
		name: "nulls", where: `(response|sent\[\*\]\.body\.messages\[\*\])\..*`,
		reason: "members that are null may be left out, and lists that are empty may be null",
		ok:     func(_ *vector, d difference) bool { return isNothing(d.theirs) && isNothing(d.ours) },
	},
	{
		name: "counts that no server sends", where: `response\.usage(\..*)?`, ok: theirsMissing,
		reason: "what the server does not count is 0, or the gateway's estimate",
	},
	{
		name: "counts that do not add up", where: `response\.usage\.output_tokens`, in: only("answers/usage_total_differs"),
		reason: "the answer's tokens are the total without the prompt's: some servers do not count reasoning in " +
			"`completion_tokens`",
	},
}

// ofFailures are about requests that one of the two refuses.
var ofFailures = []explained{
	{
		name: "servers without ids", where: `(status|sent\[\*\])?`, in: only("tokens/looked_up", "tokens/rounds_looked_up"),
		reason: "a server that does not know `return_token_ids` is a 502; NeMo Gym asks `/tokenize` for the prompt's ids",
	},
	{
		name: "errors of servers", where: `status`, in: only("answers/refused", "answers/not_found"),
		reason: "an error keeps its status and its text (400), or is a 502; NeMo Gym answers 500",
	},
	{
		name: "requests that NeMo Gym refuses", where: `status|sent\[\*\]`, in: func(v *vector) bool {
			return v.Turns[0].Status != 200 && len(v.Turns[0].Sent) == 0
		},
		reason: "NeMo Gym fails on named tool choices, on effort `none`, on tools without parameters, on hosted tools, on " +
			"unknown members and on incomplete ids",
	},
	{
		name: "sequential reasoning", where: `sent\[\*\]|response.*`, in: only("settings/sequential_reasoning"),
		reason: "there is no `sequential_reasoning_allowed: false`: a history that ends with reasoning is sent",
	},
}

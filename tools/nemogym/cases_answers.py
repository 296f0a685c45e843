"""Cases of what a Chat server answers."""
from build import CLOCK, WEATHER, answer, call, case, failed, result, user

PARIS = call("get_weather", '{"city":"Paris"}', "call_1")
ROME = call("get_weather", '{"city":"Rome"}', "call_2")


def answers(name, content, *more, **members):
    return case(name, [("Hello", answer(content, *more, **members))], request={"tools": [WEATHER, CLOCK]})


def counted(**usage):
    body = answer("Fine.")
    body["usage"] |= usage
    return body


TEXTS = [
    answers("text", "Fine."),
    answers("text_runes", "Ünïcödé, 日本語, 🙂, \u0000, \u2028, \"quotes\" and \\ and\ttabs\nlines"),
    answers("text_spaces", "\n\n  Fine. \n"),
    answers("text_only_spaces", "\n\n"),
    answers("text_empty", ""),
    answers("text_null", None),
    answers("text_long", "word " * 400),
    answers("text_like_harmony", "In Harmony, a message is user: text."),
    answers("reasoning_content", "Fine.", reasoning_content="They greet."),
    answers("reasoning", "Fine.", reasoning="They greet."),
    answers("reasoning_both", "Fine.", reasoning="They greet.", reasoning_content="They greet."),
    answers("reasoning_spaces", "\n\nFine.", reasoning_content="\nThey greet.\n"),
    answers("reasoning_alone", None, reasoning_content="They greet."),
    answers("reasoning_alone_empty_text", "", reasoning_content="They greet."),
    answers("reasoning_empty", "Fine.", reasoning_content=""),
    answers("reasoning_null", "Fine.", reasoning_content=None),
    answers("tags", "<think>They greet.</think>Fine."),
    answers("tags_spaces", "<think>\nThey greet.\n</think>\n\nFine."),
    answers("tags_empty", "<think>\n\n</think>\n\nFine."),
    answers("tags_nothing", "<think></think>Fine."),
    answers("tags_later", "Well. <think>They greet.</think>Fine."),
    answers("tags_twice", "<think>One.</think>Well. <think>Two.</think>Fine."),
    answers("tags_in_a_row", "<think>One.</think><think>Two.</think>Fine."),
    answers("tags_alone", "<think>They greet.</think>"),
    answers("tags_unclosed", "<think>They greet."),
    answers("tags_only_closing", "They greet.</think>Fine."),
    answers("tags_nested", "<think>a<think>b</think>c</think>Fine."),
    answers("tags_and_field", "<think>In the text.</think>Fine.", reasoning_content="In the field."),
]

CALLS = [
    answers("call", None, "tool_calls", tool_calls=[PARIS]),
    answers("call_empty_text", "", "tool_calls", tool_calls=[PARIS]),
    answers("call_text", "Let me see.", "tool_calls", tool_calls=[PARIS]),
    answers("call_reasoning", None, "tool_calls", tool_calls=[PARIS], reasoning_content="I need the tool."),
    answers("call_reasoning_text", "Let me see.", "tool_calls", tool_calls=[PARIS], reasoning_content="I need it."),
    answers("call_tags", "<think>I need the tool.</think>", "tool_calls", tool_calls=[PARIS]),
    answers("call_tags_lines", "<think>\nI need the tool.\n</think>\n\n", "tool_calls", tool_calls=[PARIS]),
    answers("calls", None, "tool_calls", tool_calls=[PARIS, ROME]),
    answers("calls_of_one_name", "Both.", "tool_calls", tool_calls=[PARIS, ROME, call("get_time", "{}", "call_3")]),
    answers("call_finish_stop", None, "stop", tool_calls=[PARIS]),
    answers("call_cut", None, "length", tool_calls=[call("get_weather", '{"city":"Pa', "call_1")]),
    answers("call_arguments_spaces", None, "tool_calls", tool_calls=[call("get_weather", '{ "city" : "Paris" }', "call_1")]),
    answers("call_arguments_empty", None, "tool_calls", tool_calls=[call("get_time", "{}", "call_1")]),
    answers("call_arguments_no_json", None, "tool_calls", tool_calls=[call("get_weather", "Paris", "call_1")]),
    answers("call_long_id", None, "tool_calls", tool_calls=[call("get_weather", "{}", "chatcmpl-tool-" + "0123456789abcdef" * 2)]),
    answers("call_undeclared", None, "tool_calls", tool_calls=[call("launch", "{}", "call_1")]),
    answers("call_none", "Fine.", tool_calls=[]),
    answers("call_null", "Fine.", tool_calls=None),
]

ENDS = [
    answers("length", "Fi", "length"),
    answers("length_reasoning", None, "length", reasoning_content="They gre"),
    answers("length_nothing", None, "length"),
    answers("content_filter", "Fi", "content_filter"),
    answers("content_filter_nothing", None, "content_filter"),
    answers("usage_none", "Fine.", "stop", None),
    case("usage_cached", [("Hello", counted(prompt_tokens_details={"cached_tokens": 4}))]),
    case("usage_reasoning", [("Hello", counted(completion_tokens_details={"reasoning_tokens": 2}))]),
    case("usage_both", [("Hello", counted(prompt_tokens_details={"cached_tokens": 0},
                                          completion_tokens_details={"reasoning_tokens": 0}))]),
    case("usage_nulls", [("Hello", counted(prompt_tokens_details=None, completion_tokens_details=None))]),
    case("usage_total_differs", [("Hello", counted(total_tokens=99))]),
]

TOO_LONG = "This model's maximum context length is 32768 tokens. However, you requested 32818 tokens in the messages."
FAILURES = [
    case("too_long", [("Hello", failed(400, TOO_LONG))]),
    case("too_long_max_tokens", [("Hello", failed(400, "max_tokens must be at least 1, got -50."))]),
    case("too_long_with_tools", [("Hello", failed(400, TOO_LONG))], request={"tools": [WEATHER]}),
    case("refused", [("Hello", failed(400, "top_p must be in (0, 1]."))]),
    case("not_found", [("Hello", failed(404, "The model does not exist."))]),
]

ROUNDS = [
    case("rounds", [
        ("What is the weather in Paris?", answer(None, "tool_calls", tool_calls=[PARIS], reasoning_content="I need the tool.")),
        ([result("call_1", "Rain.")], answer(None, "tool_calls", tool_calls=[ROME], reasoning_content="Now Rome.")),
        ([result("call_2", "Sun.")], answer("Rain and sun.", reasoning_content="Done.")),
        ([user("Thanks")], answer("You are welcome.")),
    ], request={"tools": [WEATHER]}),
    case("rounds_parallel", [
        ([user("Paris and Rome?")], answer("Both.", "tool_calls", tool_calls=[PARIS, ROME], reasoning="Two calls.")),
        ([result("call_1", "Rain."), result("call_2", "Sun.")], answer("\n\nRain and sun.", reasoning="Done.\n")),
    ], request={"tools": [WEATHER], "instructions": "Be brief."}),
    case("rounds_tags", [
        ("Hello", answer("<think>\nThey greet.\n</think>\n\nHi.")),
        ([user("Bye")], answer("<think>\nThey go.\n</think>\n\nBye.")),
        ([user("Bye!")], answer("Bye!")),
    ]),
    case("rounds_without_parser", [
        ("Hello", answer("<think>They greet.</think>Hi.")),
        ([user("Bye")], answer("<think>They go.</think>Bye.")),
        ([user("Bye!")], answer("Bye!")),
    ], uses_reasoning_parser=False),
    case("rounds_not_interleaved", [
        ("Hello", answer("Hi.", reasoning_content="They greet.")),
        ([user("Bye")], answer("Bye.", reasoning_content="They go.")),
    ], uses_interleaved_reasoning=False),
    case("rounds_preserved", [
        ("Hello", answer("Hi.", reasoning_content="They greet.")),
        ([user("Bye")], answer("Bye.", reasoning_content="They go.")),
    ], preserve_reasoning_in_assistant_content=True),
]

CASES = TEXTS + CALLS + ENDS + FAILURES + ROUNDS

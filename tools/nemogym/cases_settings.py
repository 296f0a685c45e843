"""Cases of the settings of a VLLMModel."""
import json

from build import answer, called, case, message, reasoning, result, said, user

THOUGHT = [user("Hello"), reasoning("They greet."), message("Hi."), user("Bye")]
CALLED = [user("Weather?"), reasoning("I need the tool."), called("get_weather", "{}", "call_1"), result("call_1", "Rain.")]
TWICE = [user("Hello"), reasoning("One."), message("Hi."), reasoning("Two.", identifier="rs_2"),
         message("Ho.", identifier="msg_2"), user("Bye")]
TAGGED = answer("<think>They greet.</think>Hi.")
FIELD = answer("Hi.", reasoning_content="They greet.")

REASONING = [
    case(f"{name}_{mode}", given, **settings)
    for mode, settings in {
        "parser": {"uses_reasoning_parser": True, "uses_interleaved_reasoning": True},
        "no_parser": {"uses_reasoning_parser": False},
        "not_interleaved": {"uses_reasoning_parser": True, "uses_interleaved_reasoning": False},
        "preserved": {"uses_reasoning_parser": True, "preserve_reasoning_in_assistant_content": True},
    }.items()
    for name, given in {"thought": THOUGHT, "called": CALLED, "twice": TWICE}.items()
]

ANSWERS = [
    case(f"answer_{name}_{mode}", [(user_turn, given)], uses_reasoning_parser=parser)
    for mode, parser in {"parser": True, "no_parser": False}.items()
    for user_turn in ["Hello"]
    for name, given in {"tags": TAGGED, "plain": answer("Hi."), "field": FIELD}.items()
    if parser or name != "field"  # VLLMModel takes a field without a parser for a mistake of the operator's
]


def meta(**members):
    return {"metadata": {k: json.dumps(v) if isinstance(v, dict) else v for k, v in members.items()}}


def hello(name, request=None, **settings):
    return case(name, "Hello", request=request, **settings)


THINKS = {"enable_thinking": True}
NOT = {"enable_thinking": False, "depth": {"a": [1, 2.5, None]}}

TEMPLATE = [
    hello("template", chat_template_kwargs=THINKS),
    hello("template_deep", chat_template_kwargs=NOT),
    hello("template_empty", chat_template_kwargs={}),
    hello("template_of_metadata", meta(chat_template_kwargs=NOT)),
    hello("template_both", meta(chat_template_kwargs=NOT), chat_template_kwargs=THINKS | {"other": "kept"}),
    hello("template_metadata_more", meta(chat_template_kwargs={}, task="17"), chat_template_kwargs=THINKS),
]

EXTRA = [
    hello("extra", extra_body={"min_tokens": 10, "guided_json": '{"type": "object"}'}),
    hello("extra_sampling", extra_body={"temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": 0, "repetition_penalty": 1.05}),
    hello("extra_and_client", {"temperature": 0.2}, extra_body={"temperature": 0.6, "top_k": 20}),
    hello("extra_and_client_null", {"temperature": None}, extra_body={"temperature": 0.6}),
    hello("extra_max_tokens", extra_body={"max_tokens": 64}),
    hello("extra_max_tokens_and_client", {"max_output_tokens": 32}, extra_body={"max_tokens": 64}),
    hello("extra_deep", extra_body={"vllm_xargs": {"a": [1, {"b": None}], "c": "\u00e9\""}}),
    hello("extra_model", extra_body={"model": "not-this"}),
    hello("extra_messages", extra_body={"messages": [said("user", "No.")]}),
    hello("extra_template", extra_body={"chat_template_kwargs": {"enable_thinking": False}}),
    hello("extra_template_and_template", extra_body={"chat_template_kwargs": {"a": 1}}, chat_template_kwargs={"b": 2}),
    hello("extra_of_metadata", meta(extra_body={"min_tokens": 5})),
    hello("extra_both", meta(extra_body={"min_tokens": 5}), extra_body={"min_tokens": 10, "top_k": 20}),
]

PINNED = [
    hello("pinned", sampling_overrides={"temperature": 1.0, "top_p": 1.0}),
    hello("pinned_over_client", {"temperature": 0.2}, sampling_overrides={"temperature": 1.0}),
    hello("pinned_over_extra", extra_body={"temperature": 0.6, "top_k": 20}, sampling_overrides={"temperature": 1.0}),
    hello("pinned_max_tokens", {"max_output_tokens": 32}, sampling_overrides={"max_tokens": 99, "top_k": -1}),
]

OTHERS = [
    hello("base_urls", base_url=["http://127.0.0.1:2/v1", "http://127.0.0.1:3/v1"]),
    hello("headers", default_headers={"X-Team": "gym"}),
    case("sequential_reasoning", [user("Hello"), reasoning("They greet.")], sequential_reasoning_allowed=False),
    hello("audio_data", {"metadata": {"audio_data": "data:audio/wav;base64,UklGRg=="}}),
]

CASES = REASONING + ANSWERS + TEMPLATE + EXTRA + PINNED + OTHERS

"""Cases of Chat clients: their requests go on with few changes, and so do the answers."""
import json

from build import answer, call, case, user
from cases_tokens import INLINE, inline

PARIS = call("get_weather", '{"city":"Paris"}', "call_1")
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}
ROUND = [user("Weather?"), {"role": "assistant", "content": None, "tool_calls": [PARIS]},
         {"role": "tool", "tool_call_id": "call_1", "content": "Rain."}]
PARTS = [{"type": "text", "text": "What is it?"},
         {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}}]


def asks(name, messages=None, request=None, given=None, **settings):
    return case(name, [(messages or [user("Hello")], given or answer("Fine."))], "chat", request, **settings)


CASES = [
    asks("message"),
    asks("message_parts", [user(PARTS)]),
    asks("system", [{"role": "system", "content": "Be kind."}, user("Hello")]),
    asks("developer_replaced", [{"role": "developer", "content": "Be kind."}, user("Hello")],
         replace_developer_role_with_system=True),
    asks("developer_kept", [{"role": "developer", "content": "Be kind."}, user("Hello")]),
    asks("assistant", [user("Hello"), {"role": "assistant", "content": "Hi."}, user("Bye")]),
    asks("assistant_tags", [user("Hello"), {"role": "assistant", "content": "<think>They greet.</think>Hi."}, user("Bye")]),
    asks("assistant_tags_without_parser",
         [user("Hello"), {"role": "assistant", "content": "<think>They greet.</think>Hi."}, user("Bye")],
         uses_reasoning_parser=False),
    asks("round", ROUND, {"tools": [TOOL]}),
    asks("parameters", request={"temperature": 0.5, "max_completion_tokens": 10, "seed": 7, "stop": ["x"], "n": 1,
                                "presence_penalty": 0.1, "frequency_penalty": 0.2, "tool_choice": "auto", "tools": [TOOL],
                                "parallel_tool_calls": False, "reasoning_effort": "low"}),
    asks("format", request={"response_format": {"type": "json_object"}}),
    asks("logprobs", request={"logprobs": True, "top_logprobs": 2}),
    asks("model_of_the_client", request={"model": "another-model"}),
    asks("template", chat_template_kwargs={"enable_thinking": False}),
    asks("template_of_metadata", request={"metadata": {"chat_template_kwargs": json.dumps({"enable_thinking": True})}},
         chat_template_kwargs={"enable_thinking": False, "other": 1}),
    asks("extra", extra_body={"top_k": 20, "temperature": 0.6}),
    asks("extra_and_client", request={"temperature": 0.1}, extra_body={"top_k": 20, "temperature": 0.6}),
    asks("pinned", request={"temperature": 0.1}, sampling_overrides={"temperature": 1.0}),
    asks("answer_reasoning", given=answer("Fine.", reasoning_content="They greet.")),
    asks("answer_tags", given=answer("<think>They greet.</think>Fine.")),
    asks("answer_call", request={"tools": [TOOL]}, given=answer(None, "tool_calls", tool_calls=[PARIS])),
    asks("answer_length", given=answer("Fi", "length")),
    asks("tokens", given=inline(answer("Fine."), [1, 2], [3, 4], [-0.5, -0.25]), **INLINE),
    asks("tokens_call", request={"tools": [TOOL]}, **INLINE,
         given=inline(answer(None, "tool_calls", tool_calls=[PARIS]), [1, 2], [3, 4], [-0.5, -0.25])),
    asks("tokens_n", request={"n": 2}, given=inline(answer("Fine."), [1, 2], [3, 4], [-0.5, -0.25]), **INLINE),
    case("rounds_tokens", [
        ([user("Hello")], inline(answer("Hi.", reasoning_content="They greet."), [1, 2], [3, 4], [-0.5, -0.25])),
        ([user("Bye")], inline(answer("Bye."), [1, 2, 3, 4, 5], [6], [-0.125])),
    ], "chat", **INLINE),
]

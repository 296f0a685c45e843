"""litellm with its provider for Anthropic in front of a gateway. usage: main.py BASE_URL MODEL"""

import asyncio
import json
from importlib.metadata import version

import litellm
from checks import (
    COMPARE,
    COMPARED,
    DESCRIPTION,
    FOLLOW_UP,
    FOLLOWED_UP,
    FORECAST,
    HELLO,
    PREAMBLE,
    WEATHER,
    Failed,
    hello_answer,
    need,
    run,
    same,
)
from litellm import anthropic_interface as anthropic
from pydantic import BaseModel

THINKING = {"type": "enabled", "budget_tokens": 1024}
ASKED = [{"role": "user", "content": HELLO}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": DESCRIPTION,
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


def whole(url, model, messages, fault=None, **more):
    """An answer. Without thinking litellm asks for 128,000 tokens at most."""
    if fault:
        more["extra_headers"] = {"x-sim-fault": fault}
    return litellm.completion(
        model="anthropic/" + model, api_base=url.removesuffix("/v1"), api_key="none", messages=messages,
        max_retries=0, timeout=60, allowed_openai_params=["thinking"], **more,
    )


def chunks(url, model, messages, **more):
    return whole(url, model, messages, stream=True, stream_options={"include_usage": True}, **more)


def streamed(url, model, messages, **more):
    """The answer that a stream's chunks add up to."""
    came = list(chunks(url, model, messages, **more))
    return litellm.stream_chunk_builder(came, messages=messages)


def check_hello(answer, thinks):
    choice, usage = answer.choices[0], answer.usage
    hello_answer(choice.message.content, usage.prompt_tokens)
    same(choice.message.tool_calls, None, "tool calls")
    same(choice.finish_reason, "stop", "finish reason")
    same(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens, "total tokens")
    reasoning = usage.completion_tokens_details.reasoning_tokens
    need(0 < reasoning < usage.completion_tokens, f"{reasoning} of {usage.completion_tokens} tokens are reasoning")
    same(bool(getattr(choice.message, "reasoning_content", None)), thinks, "it shows reasoning")
    blocks = getattr(choice.message, "thinking_blocks", None) or []
    same([bool(b["thinking"] and b["signature"]) for b in blocks], [True] if thinks else [], "blocks with a signature")


def text_turn(url, model):
    """completion, with thinking and without: text, finish reason, usage"""
    check_hello(whole(url, model, ASKED, thinking=THINKING), True)
    check_hello(whole(url, model, ASKED), False)


def stream(url, model):
    """the same by streams, in pieces"""
    check_hello(streamed(url, model, ASKED, thinking=THINKING), True)
    check_hello(streamed(url, model, ASKED), False)
    pieces = [choice.delta.content for chunk in chunks(url, model, ASKED) for choice in chunk.choices]
    need(sum(map(bool, pieces)) > 1, "the answer came in one piece")


def loop(answer, url, model, **more):
    """Calls the tool for as long as the model asks for it, and asks further. The history is what came."""
    messages = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": COMPARE}]
    more["tools"] = TOOLS
    thought = []
    for city, text in (("Paris", ""), ("Rome", PREAMBLE)):
        choice = answer(url, model, messages, **more).choices[0]
        thought.append(getattr(choice.message, "reasoning_content", None) or "")
        same(choice.message.content or "", text, f"content beside the call for {city}")
        same(choice.finish_reason, "tool_calls", "finish reason")
        calls = [(c.function.name, json.loads(c.function.arguments)) for c in choice.message.tool_calls]
        same(calls, [("get_weather", {"city": city})], "tool calls")
        messages.append(choice.message)
        messages.append({"role": "tool", "tool_call_id": choice.message.tool_calls[0].id, "content": WEATHER[city]})
    choice = answer(url, model, messages, **more).choices[0]
    thought.append(getattr(choice.message, "reasoning_content", None) or "")
    same((choice.finish_reason, choice.message.content), ("stop", COMPARED), "the final answer")
    messages += [choice.message, {"role": "user", "content": FOLLOW_UP}]
    further = answer(url, model, messages, **more).choices[0].message
    same(further.content, FOLLOWED_UP, "answer to a further question")
    wanted = ["First I need Paris.", "Now I need Rome.", "Both cities are known."]
    same(thought, wanted if "thinking" in more else [""] * 3, "reasoning")


def tool_loop(url, model):
    """completion with tools: two tool calls, the final text, a further question"""
    loop(whole, url, model, thinking=THINKING)
    loop(whole, url, model)


def tool_loop_stream(url, model):
    """the same by streams"""
    loop(streamed, url, model, thinking=THINKING)
    loop(streamed, url, model)


class Forecast(BaseModel):
    city: str
    degrees: int


def structured(url, model):
    """response_format with a schema"""
    asked = [{"role": "user", "content": FORECAST}]
    for answer in (whole, streamed):
        message = answer(url, model, asked, response_format=Forecast).choices[0].message
        same(Forecast.model_validate_json(message.content).city, "Paris", "the city")


def messages_api(url, model):
    """anthropic.messages.acreate"""
    answer = asyncio.run(
        anthropic.messages.acreate(
            model="anthropic/" + model, api_base=url.removesuffix("/v1"), api_key="none", messages=ASKED,
            max_tokens=4096, thinking=THINKING,
        )
    )
    same(([b["type"] for b in answer["content"]], answer["stop_reason"]), (["thinking", "text"], "end_turn"), "answer")
    hello_answer(answer["content"][1]["text"], answer["usage"]["input_tokens"])


def tool_choice(url, model):
    """tool_choice required and named"""
    for choice in ("required", {"type": "function", "function": {"name": "get_weather"}}):
        asked = [{"role": "user", "content": FORECAST}]
        message = whole(url, model, asked, tools=TOOLS, tool_choice=choice).choices[0].message
        same([c.function.arguments for c in message.tool_calls], ['{"city": "Paris"}'], f"calls by {choice}")


def refused(kind, status, says, url, model, messages, **more):
    for answer in (whole, streamed):
        try:
            answer(url, model, messages, **more)
        except kind as e:
            same(e.status_code, status, "status")
            need(says in str(e), f"it says {e}")
            if status == 429:
                same(e.litellm_response_headers.get("retry-after"), "7", "retry-after")
        else:
            raise Failed(f"no error, want {kind.__name__}")


def wrong_request(url, model):
    """refused requests are litellm's exceptions, with what the gateway says"""
    refused(litellm.NotFoundError, 404, "nobody", url, "nobody", ASKED)
    long = [{"role": "user", "content": "one two three " * 60000}]
    refused(litellm.ContextWindowExceededError, 400, "prompt is too long: ", url, model, long)
    refused(litellm.RateLimitError, 429, "", url, model, ASKED, fault="status:429:7")


def fails_within(url, model):
    """a stream that fails or is cut ends with an exception"""
    for fault in ("error-event:8", "close:8"):
        came = []
        try:
            for chunk in chunks(url, model, ASKED, fault=fault, thinking=THINKING):
                came += [choice.delta for choice in chunk.choices]
        except Exception:  # whatever the HTTP library makes of a cut
            need(any(getattr(d, "reasoning_content", None) for d in came), f"{fault}: nothing came before it")
        else:
            raise Failed(f"{fault}: the stream ends well")


def cancelled(url, model):
    """break out of a stream"""
    answer = chunks(url, model, ASKED, fault="stall:12", thinking=THINKING)
    for _ in answer:
        break
    answer.close()


litellm.suppress_debug_info = True
CHECKS = [
    text_turn, stream, tool_loop, tool_loop_stream, structured, tool_choice, messages_api, wrong_request,
    fails_within, cancelled,
]
run("litellm", version("litellm"), CHECKS)

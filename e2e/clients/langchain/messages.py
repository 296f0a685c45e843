"""LangChain's ChatAnthropic in front of a gateway. usage: messages.py BASE_URL MODEL"""

from importlib.metadata import version

import anthropic
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
from langchain_anthropic import ChatAnthropic
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from pydantic import BaseModel

THINKING = {"type": "enabled", "budget_tokens": 1024}


@tool(description=DESCRIPTION)
def get_weather(city: str) -> str:
    return WEATHER[city]


def chat(url, model, **more):
    base_url = url.removesuffix("/v1")
    return ChatAnthropic(
        base_url=base_url, api_key="none", model=model, max_tokens=4096, max_retries=0, timeout=60, **more
    )


def fails(url, model, fault, **more):
    return chat(url, model, default_headers={"x-sim-fault": fault}, **more)


def added(chunks):
    """The message of a stream, and its chunks."""
    chunks = list(chunks)
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole, chunks


def thinking_of(message):
    return "".join(b["reasoning"] for b in message.content_blocks if b["type"] == "reasoning")


def check_hello(message, model, thinks):
    usage = message.usage_metadata
    hello_answer(message.text, usage["input_tokens"])
    same(message.tool_calls, [], "tool calls")
    same(message.response_metadata["stop_reason"], "end_turn", "stop reason")
    same(message.response_metadata["model_name"], model, "model")
    same(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"], "total tokens")
    need(0 < usage["output_token_details"]["reasoning"] < usage["output_tokens"], f"reasoning tokens in {usage}")
    same(bool(thinking_of(message)), thinks, "it shows thinking")
    same(isinstance(message.content, str), not thinks, "the content is a string")


def text_turn(url, model):
    """invoke, with thinking and without: text, stop reason, usage"""
    check_hello(chat(url, model, thinking=THINKING).invoke(HELLO), model, True)
    check_hello(chat(url, model).invoke(HELLO), model, False)


def stream(url, model):
    """stream, with thinking and without: chunks that add up to the same"""
    for thinks, llm in ((True, chat(url, model, thinking=THINKING)), (False, chat(url, model))):
        whole, chunks = added(llm.stream(HELLO))
        need(sum(bool(c.text) for c in chunks) > 1, "the answer came in one piece")
        check_hello(whole, model, thinks)


def loop(answer, thinks):
    """Calls the tool for as long as the model asks for it, and asks further. The history is what came."""
    messages = [SystemMessage("You are brief."), HumanMessage(COMPARE)]
    thought = []
    for city, text in (("Paris", ""), ("Rome", PREAMBLE)):
        message = answer(messages)
        thought.append(thinking_of(message))
        same(message.text, text, f"text beside the call for {city}")
        same(message.response_metadata["stop_reason"], "tool_use", "stop reason")
        same(message.invalid_tool_calls, [], "invalid tool calls")
        same([(c["name"], c["args"]) for c in message.tool_calls], [("get_weather", {"city": city})], "tool calls")
        kinds = [b["type"] for b in message.content]
        same(kinds[0], "thinking" if thinks else "redacted_thinking", "the first block")
        messages += [message, get_weather.invoke(message.tool_calls[0])]
    message = answer(messages)
    thought.append(thinking_of(message))
    same(message.tool_calls, [], "tool calls of the last answer")
    same(message.text, COMPARED, "final text")
    wanted = ["First I need Paris.", "Now I need Rome.", "Both cities are known."] if thinks else [""] * 3
    same(thought, wanted, "thinking")
    messages += [message, HumanMessage(FOLLOW_UP)]
    same(answer(messages).text, FOLLOWED_UP, "answer to a further question")


def bound(url, model, thinks):
    return chat(url, model, thinking=THINKING if thinks else None).bind_tools([get_weather])


def tool_loop(url, model):
    """bind_tools and invoke: two tool calls, the final text, a further question"""
    for thinks in (True, False):
        loop(bound(url, model, thinks).invoke, thinks)


def tool_loop_stream(url, model):
    """bind_tools and stream: the same"""
    for thinks in (True, False):
        llm = bound(url, model, thinks)
        loop(lambda messages, llm=llm: added(llm.stream(messages))[0], thinks)


class Forecast(BaseModel):
    """The weather of a city."""

    city: str
    degrees: int


def structured(url, model):
    """with_structured_output, by JSON schema and by a tool that must be called"""
    for method in ("json_schema", "function_calling"):
        llm = chat(url, model).with_structured_output(Forecast, method=method)
        for forecast in (llm.invoke(FORECAST), *llm.stream(FORECAST)):
            same((type(forecast), forecast.city), (Forecast, "Paris"), f"{method}: the forecast")


def tool_choice(url, model):
    """bind_tools with tool_choice any and named"""
    for choice in ("any", "get_weather"):
        message = chat(url, model).bind_tools([get_weather], tool_choice=choice).invoke(FORECAST)
        same([c["args"] for c in message.tool_calls], [{"city": "Paris"}], f"calls with tool_choice {choice}")


def counted(url, model):
    """get_num_tokens_from_messages is what the usage says"""
    messages = [SystemMessage("You are brief."), HumanMessage(HELLO)]
    llm = chat(url, model)
    read = llm.invoke(messages).usage_metadata["input_tokens"]
    same(llm.get_num_tokens_from_messages(messages), read, "tokens")


def refused(kind, status, name, answer):
    try:
        answer()
    except kind as e:
        same((e.status_code, e.body["error"]["type"]), (status, name), "status and type")
        return e
    raise Failed(f"no error, want {kind.__name__}")


def wrong_request(url, model):
    """a refused request is Anthropic's exception; too long a prompt is ContextOverflowError"""
    for answer in (chat(url, "nobody").invoke, lambda asked: list(chat(url, "nobody").stream(asked))):
        refused(anthropic.NotFoundError, 404, "not_found_error", lambda answer=answer: answer(HELLO))
    try:
        chat(url, model).invoke("one two three " * 60000)
    except ContextOverflowError as e:
        need("prompt is too long: " in str(e), f"it says {e}")
    else:
        raise Failed("too long a prompt is answered")


def server_refuses(url, model):
    """a server's 429 is RateLimitError with its retry-after"""
    llm = fails(url, model, "status:429:7")
    for answer in (llm.invoke, lambda asked: list(llm.stream(asked))):
        e = refused(anthropic.RateLimitError, 429, "rate_limit_error", lambda answer=answer: answer(HELLO))
        same(e.response.headers.get("retry-after"), "7", "retry-after")


def fails_within(url, model):
    """a stream that fails or is cut ends with an exception"""
    for fault in ("error-event:8", "close:8"):
        came = []
        try:
            for chunk in fails(url, model, fault, thinking=THINKING).stream(HELLO):
                came.append(chunk)
        except Exception:  # whatever the HTTP library makes of a cut
            need(any(thinking_of(c) for c in came), f"{fault}: nothing came before it")
        else:
            raise Failed(f"{fault}: the stream ends well")


def cancelled(url, model):
    """break out of stream"""
    chunks = fails(url, model, "stall:12", thinking=THINKING).stream(HELLO)
    for _ in chunks:
        break
    chunks.close()


CHECKS = [
    text_turn, stream, tool_loop, tool_loop_stream, structured, tool_choice, counted, wrong_request, server_refuses,
    fails_within, cancelled,
]

run("langchain-anthropic", version("langchain-anthropic"), CHECKS)

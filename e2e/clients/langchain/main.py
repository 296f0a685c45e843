"""LangChain's ChatOpenAI in front of a gateway. usage: main.py BASE_URL MODEL"""

import warnings
from importlib.metadata import version

import openai
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
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


@tool(description=DESCRIPTION)
def get_weather(city: str) -> str:
    return WEATHER[city]


def chat(url, model, **more):
    return ChatOpenAI(
        base_url=url, api_key="none", model=model, max_retries=0, timeout=60, use_responses_api=False, stream_usage=True, **more
    )


def check_hello(message):
    usage = message.usage_metadata
    hello_answer(message.content, usage["input_tokens"])
    same(message.tool_calls, [], "tool calls")
    same(message.response_metadata["finish_reason"], "stop", "finish reason")
    same(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"], "total tokens")
    need(0 < usage["output_token_details"]["reasoning"] < usage["output_tokens"], f"reasoning tokens in {usage}")


def text_turn(url, model):
    """invoke: text, finish reason, usage"""
    message = chat(url, model).invoke(HELLO)
    check_hello(message)
    same(message.response_metadata["model_name"], model, "model")


def stream(url, model):
    """stream: chunks that add up to the same"""
    chunks = list(chat(url, model).stream(HELLO))
    need(sum(bool(c.content) for c in chunks) > 1, "the answer came in one piece")
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    check_hello(whole)


def loop(answer):
    """Calls the tool for as long as the model asks for it."""
    messages = [SystemMessage("You are brief."), HumanMessage(COMPARE)]
    for city, content in (("Paris", ""), ("Rome", PREAMBLE)):
        message = answer(messages)
        same(message.content, content, f"content beside the call for {city}")
        same(message.response_metadata["finish_reason"], "tool_calls", "finish reason")
        same(message.invalid_tool_calls, [], "invalid tool calls")
        same([(c["name"], c["args"]) for c in message.tool_calls], [("get_weather", {"city": city})], "tool calls")
        messages += [message, get_weather.invoke(message.tool_calls[0])]
    message = answer(messages)
    same(message.tool_calls, [], "tool calls of the last answer")
    same(message.content, COMPARED, "final text")
    messages += [message, HumanMessage(FOLLOW_UP)]
    same(answer(messages).content, FOLLOWED_UP, "answer to a further question")


def tool_loop(url, model):
    """bind_tools and invoke: two tool calls, the final text, a further question"""
    loop(chat(url, model).bind_tools([get_weather]).invoke)


def tool_loop_stream(url, model):
    """bind_tools and stream: the same"""
    bound = chat(url, model).bind_tools([get_weather])

    def answer(messages):
        whole = None
        for chunk in bound.stream(messages):
            whole = chunk if whole is None else whole + chunk
        return whole

    loop(answer)


class Forecast(BaseModel):
    """The weather of a city."""

    city: str
    degrees: int


def structured(url, model):
    """with_structured_output, by JSON schema and by a tool that must be called"""
    for method in ("json_schema", "function_calling"):
        bound = chat(url, model).with_structured_output(Forecast, method=method)
        for forecast in (bound.invoke(FORECAST), *bound.stream(FORECAST)):
            same((type(forecast), forecast.city), (Forecast, "Paris"), f"{method}: the forecast")


def tool_choice(url, model):
    """bind_tools with tool_choice any and named"""
    for choice in ("any", "get_weather"):
        message = chat(url, model).bind_tools([get_weather], tool_choice=choice).invoke(FORECAST)
        same([c["args"] for c in message.tool_calls], [{"city": "Paris"}], f"calls with tool_choice {choice}")


def wrong_request(url, model):
    """a refused request is openai.NotFoundError"""
    try:
        chat(url, model + "-that-is-not-there").invoke(HELLO)
    except openai.NotFoundError as e:
        same((e.code, e.param), ("model_not_found", "model"), "code and param")
    else:
        raise Failed("no error")


def cancelled(url, model):
    """break out of stream"""
    chunks = chat(url, model, default_headers={"x-sim-fault": "stall:12"}).stream(HELLO)
    for _ in chunks:
        break
    chunks.close()


# LangChain's own, about what with_structured_output has parsed, whatever the server.
warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
run(
    "langchain-openai",
    version("langchain-openai"),
    [text_turn, stream, tool_loop, tool_loop_stream, structured, tool_choice, wrong_request, cancelled],
)

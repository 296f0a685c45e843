"""What main.py and responses.py check of OpenAI's Agents SDK: the same with its Chat model and with its Responses model."""

import asyncio
import logging

import openai
from agents import Agent, ModelSettings, Runner, function_tool, set_tracing_disabled
from agents.version import __version__
from checks import (
    COMPARE,
    COMPARED,
    DESCRIPTION,
    FOLLOW_UP,
    FOLLOWED_UP,
    FORECAST,
    HELLO,
    POEM,
    PREAMBLE,
    RHYME,
    WEATHER,
    Failed,
    hello_answer,
    need,
    run,
    same,
)
from openai import AsyncOpenAI
from pydantic import BaseModel

asked = []  # the cities that the agent has asked for
wait = asyncio.Runner().run  # one event loop: a client's connections belong to theirs
kind = None  # the class of the SDK's models


@function_tool(description_override=DESCRIPTION)
def get_weather(city: str) -> str:
    asked.append(city)
    return WEATHER[city]


def agent(client, model, headers=None, tool_choice=None, **more):
    return Agent(
        name="Guide",
        instructions="You are brief.",
        model=kind(model=model, openai_client=client),
        model_settings=ModelSettings(include_usage=True, extra_headers=headers, tool_choice=tool_choice),
        **more,
    )


def reasoning(result):
    """The reasoning of a run, a text for each answer of the model.

    It comes as a summary, or as a content where the gateway's reasoning_fields say reasoning alone.
    """
    items = [item.raw_item for item in result.new_items if item.type == "reasoning_item"]
    return ["".join(part.text for part in item.summary or item.content) for item in items]


# Where the gateway sends both fields, the SDK has both events, with the same text.
THOUGHT = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")


def text_turn(client, model):
    """Runner.run: text, reasoning, usage"""
    result = wait(Runner.run(agent(client, model), HELLO))
    usage = result.context_wrapper.usage
    hello_answer(result.final_output, usage.input_tokens)
    need(reasoning(result), "no reasoning")
    same(usage.total_tokens, usage.input_tokens + usage.output_tokens, "total tokens")
    need(0 < usage.output_tokens_details.reasoning_tokens < usage.output_tokens, f"reasoning tokens in {usage}")


async def collect(streamed):
    """The deltas of a streamed run, added up."""
    text, thought = [], {kind: [] for kind in THOUGHT}
    async for event in streamed.stream_events():
        if event.type != "raw_response_event":
            continue
        if event.data.type == "response.output_text.delta":
            text.append(event.data.delta)
        elif event.data.type in THOUGHT:
            thought[event.data.type].append(event.data.delta)
    return text, thought[THOUGHT[0]] or thought[THOUGHT[1]]


def stream(client, model):
    """Runner.run_streamed: deltas of text and reasoning, usage"""

    async def go():
        result = Runner.run_streamed(agent(client, model), HELLO)
        return result, *await collect(result)

    result, text, thought = wait(go())
    hello_answer(result.final_output, result.context_wrapper.usage.input_tokens)
    same("".join(text), result.final_output, "deltas added up")
    need(len(text) > 1 and len(thought) > 1, "the answer came in one piece")
    same(["".join(thought)], reasoning(result), "reasoning deltas added up")


async def whole(guide, text, **more):
    return await Runner.run(guide, text, **more)


async def streamed(guide, text, **more):
    result = Runner.run_streamed(guide, text, **more)
    await collect(result)
    return result


WAYS = (whole, streamed)


def check_compared(result):
    same(asked, ["Paris", "Rome"], "the cities that the tool was called with")
    same(result.final_output, COMPARED, "final output")
    same(reasoning(result), ["First I need Paris.", "Now I need Rome.", "Both cities are known."], "reasoning")
    said = [item.raw_item.content[0].text for item in result.new_items if item.type == "message_output_item"]
    same(said, [PREAMBLE, COMPARED], "messages")
    same(result.context_wrapper.usage.requests, 3, "requests")


def tool_loop(client, model):
    """Runner.run: two tool calls, the final text, a further question"""
    asked.clear()
    guide = agent(client, model, tools=[get_weather])
    result = wait(Runner.run(guide, COMPARE))
    check_compared(result)
    result = wait(Runner.run(guide, [*result.to_input_list(), {"role": "user", "content": FOLLOW_UP}]))
    same(result.final_output, FOLLOWED_UP, "answer to a further question")


def tool_loop_stream(client, model):
    """Runner.run_streamed: the same"""

    async def go():
        result = Runner.run_streamed(agent(client, model, tools=[get_weather]), COMPARE)
        await collect(result)
        return result

    asked.clear()
    check_compared(wait(go()))


def hand_off(client, model):
    """a hand-off to another agent, which answers"""
    poet = agent(client, model, handoff_description="Writes poems")
    poet.name = "Poet"
    result = wait(Runner.run(agent(client, model, handoffs=[poet]), POEM))
    same((result.final_output, result.last_agent.name), (RHYME, "Poet"), "final output, and whose")


class Forecast(BaseModel):
    city: str
    degrees: int


def structured(client, model):
    """output_type, whole and streamed"""

    async def go():
        result = Runner.run_streamed(agent(client, model, output_type=Forecast), FORECAST)
        await collect(result)
        return result

    for result in (wait(Runner.run(agent(client, model, output_type=Forecast), FORECAST)), wait(go())):
        same((type(result.final_output), result.final_output.city), (Forecast, "Paris"), "the forecast")


def tool_choice(client, model):
    """ModelSettings(tool_choice=...): required and named"""
    for choice in ("required", "get_weather"):
        asked.clear()
        guide = agent(
            client, model, tool_choice=choice, tools=[get_weather], tool_use_behavior="stop_on_first_tool"
        )
        same(wait(Runner.run(guide, FORECAST)).final_output, WEATHER["Paris"], f"final output with {choice}")
        same(asked, ["Paris"], "the cities that the tool was called with")


def wrong_request(client, model):
    """a refused request is openai.NotFoundError"""
    logging.disable()  # the Responses model logs the error before it raises it
    try:
        wait(Runner.run(agent(client, model + "-that-is-not-there"), HELLO))
    except openai.NotFoundError as e:
        same((e.code, e.param), ("model_not_found", "model"), "code and param")
    else:
        raise Failed("no error")
    finally:
        logging.disable(logging.NOTSET)


def cancelled(client, model):
    """RunResultStreaming.cancel"""

    async def go():
        result = Runner.run_streamed(agent(client, model, {"x-sim-fault": "stall:12"}), HELLO)
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type in THOUGHT:
                result.cancel()

    wait(go())


def connect(url):
    return AsyncOpenAI(base_url=url, api_key="none", max_retries=0, timeout=60)


def main(models, *more, **instead):
    """Runs the checks with models of this class, and more of them. Those in instead replace the ones of that name."""
    global kind
    kind = models
    set_tracing_disabled(True)
    checks = [text_turn, stream, tool_loop, tool_loop_stream, hand_off, structured, tool_choice, wrong_request, cancelled]
    checks = [instead.get(check.__name__, check) for check in checks]
    run("openai-agents", __version__, [*checks, *more], connect)

"""OpenAI's Agents SDK with what a server keeps for it, in front of a gateway with the responses service.

usage: stored.py BASE_URL MODEL
"""

import asyncio
import logging

import httpx
import turns
from agents import OpenAIConversationsSession, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.version import __version__
from checks import COMPARE, COMPARED, FOLLOW_UP, FOLLOWED_UP, HELLO, hello_answer, need, run, same
from turns import WAYS, agent, asked, get_weather, wait, whole


def compare(guide, ask, **more):
    """The loop over tools, and a further question."""
    asked.clear()
    result = wait(ask(guide, COMPARE, **more))
    same(asked, ["Paris", "Rome"], "the cities that the tool was called with")
    same(result.final_output, COMPARED, "final output")
    if "auto_previous_response_id" in more:
        more = {"previous_response_id": result.last_response_id}
    same(wait(ask(guide, FOLLOW_UP, **more)).final_output, FOLLOWED_UP, "answer to a further question")


def sessions(client, model):
    """OpenAIConversationsSession: a loop over tools and a further question, whole and streamed; its items"""
    for ask in WAYS:
        session = OpenAIConversationsSession(openai_client=client)
        compare(agent(client, model, tools=[get_weather]), ask, session=session)
        items = wait(session.get_items())
        kinds = [item["type"] for item in items if item["type"] != "reasoning"]
        same(
            kinds,
            ["message", "function_call", "function_call_output", "message", "function_call", "function_call_output"]
            + ["message", "message", "message"],
            "items",
        )
        same(wait(session.get_items(limit=2)), items[-2:], "the last two items")
        same(wait(session.pop_item())["id"], items[-1]["id"], "the last item")
        same(len(wait(session.get_items())), len(items) - 1, "items after one was taken")
        wait(session.clear_session())
        same(wait(session.get_items()), [], "items of a session that was cleared")


def many_items(client, _):
    """OpenAIConversationsSession: more items than a page and a request have"""
    session = OpenAIConversationsSession(openai_client=client)
    wait(session.add_items([{"role": "user", "content": f"item {n}"} for n in range(45)]))
    texts = [item["content"][0]["text"] for item in wait(session.get_items())]
    same(texts, [f"item {n}" for n in range(45)], "items")


def conversations(client, model):
    """conversation_id: the same"""
    for ask in WAYS:
        id = wait(client.conversations.create()).id
        compare(agent(client, model, tools=[get_weather]), ask, conversation_id=id)


def previous(client, model):
    """auto_previous_response_id and previous_response_id: the same"""
    for ask in WAYS:
        compare(agent(client, model, tools=[get_weather]), ask, auto_previous_response_id=True)


def turns_read(client, model):
    """previous_response_id: the model has read the past"""
    id, read = None, 0
    for ask in (*WAYS, whole):
        result = wait(ask(agent(client, model), HELLO, previous_response_id=id))
        now = result.context_wrapper.usage.input_tokens
        hello_answer(result.final_output, now)
        need(now > read + 10, f"{now} tokens after {read}")
        id, read = result.last_response_id, now


def locked(client, model):
    """a conversation in which a response is being made is tried again until it is free"""

    async def go():
        refused = asyncio.Event()

        async def note(response):
            if response.status_code == 400:
                refused.set()

        id = (await client.conversations.create()).id
        holder = await client.responses.create(
            model=model, input=HELLO, conversation=id, stream=True, extra_headers={"x-sim-fault": "stall:12"}
        )
        async for event in holder:
            if event.type == "response.reasoning_text.delta":
                break
        async with httpx.AsyncClient(event_hooks={"response": [note]}) as watched:
            run = asyncio.create_task(
                Runner.run(agent(client.copy(http_client=watched), model), HELLO, conversation_id=id)
            )
            await refused.wait()
            await holder.close()
            return await run

    logging.disable()  # the SDK logs the refusal before it tries again
    result = wait(go())
    logging.disable(logging.NOTSET)
    hello_answer(result.final_output, result.context_wrapper.usage.input_tokens)


turns.kind = OpenAIResponsesModel
set_tracing_disabled(True)
run(
    "openai-agents",
    __version__,
    [sessions, many_items, conversations, previous, turns_read, locked],
    turns.connect,
)

"""Asks for answers that end before their server does, and reads each to its end.

usage: early.py BASE_URL < JSON, a list of {"row", "client", "api", "stream", "body"}; prints a line of JSON for each: how
it finished, the tokens of its usage, and the error that was raised, if one was.
"""

import asyncio

import openai
from tasks import run_all


def whole(answer):
    if hasattr(answer, "choices"):
        return answer.choices[0].finish_reason, answer.usage.completion_tokens
    return answer.status, answer.usage.output_tokens


def note(event, seen):
    if hasattr(event, "choices"):
        if event.choices and event.choices[0].finish_reason:
            seen["finish"] = event.choices[0].finish_reason
        if event.usage:
            seen["tokens"] = event.usage.completion_tokens
    elif event.type in ("response.completed", "response.incomplete"):
        seen["finish"], seen["tokens"] = whole(event.response)


def ask(client, task):
    create = client.chat.completions.create if task["api"] == "chat" else client.responses.create
    body = dict(task["body"])
    extra = {k: body.pop(k) for k in ("thinking_token_budget",) if k in body}
    return create(**body, stream=task["stream"], extra_body=extra, extra_headers={"x-row": task["row"]})


def sync(url, task, seen):
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        answer = ask(client, task)
        if not task["stream"]:
            seen["finish"], seen["tokens"] = whole(answer)
            return
        for event in answer:
            note(event, seen)


async def later(url, task, seen):
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        async for event in await ask(client, task):
            note(event, seen)


def run(url, task):
    seen = {"row": task["row"], "finish": "", "tokens": 0, "error": ""}
    try:
        if task["client"].endswith("async"):
            asyncio.run(later(url, task, seen))
        else:
            sync(url, task, seen)
    except Exception as error:
        seen["error"] = f"{type(error).__name__}: {error}"
    return seen


run_all(run)

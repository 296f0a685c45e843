"""Asks servers that fail, as the client comes with its retries, and says what it makes of it.

usage: faults.py BASE_URL < JSON, a list of {"row", "client", "api", "fault", "model"}; prints a line of JSON for each: how many
events or chunks came, the type of the last, and the error that was raised, if one was.
"""

import openai
from tasks import run_all


def chat(client, task, headers):
    return client.chat.completions.create(
        model=task["model"], messages=[{"role": "user", "content": "Hi"}], stream=True, extra_headers=headers
    )


def responses(client, task, headers):
    return client.responses.create(model=task["model"], input="Hi", stream=True, extra_headers=headers)


def helper(client, task, headers):
    with client.responses.stream(model=task["model"], input="Hi", extra_headers=headers) as stream:
        yield from stream
        stream.get_final_response()


def run(url, task):
    seen = {"row": task["row"], "pieces": 0, "last": "", "error": ""}
    ask = {"chat": chat, "responses": responses, "responses.stream": helper}[task["api"]]
    try:
        with openai.OpenAI(base_url=url, api_key="none") as client:
            for piece in ask(client, task, {"x-row": task["row"], "x-sim-fault": task["fault"]}):
                seen["pieces"] += 1
                seen["last"] = getattr(piece, "type", "")
    except Exception as error:
        seen["error"] = f"{type(error).__module__.split('.')[0]}.{type(error).__name__}"
    return seen


run_all(run)

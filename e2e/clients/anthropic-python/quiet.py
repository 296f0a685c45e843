"""Anthropic's client before a server that is quiet, with a limit on silence. usage: quiet.py BASE_URL MODEL LIMIT

It prints a line for each way to ask: its answer, or that it gave up."""

import sys
from concurrent.futures import ThreadPoolExecutor

import anthropic

url, model, limit = sys.argv[1].removesuffix("/v1"), sys.argv[2], float(sys.argv[3])
client = anthropic.Anthropic(base_url=url, auth_token="none", max_retries=0, timeout=anthropic.Timeout(60, read=limit))
asked = {"model": model, "max_tokens": 4096, "messages": [{"role": "user", "content": "Hi"}]}


def events():
    text = ""
    for event in client.messages.create(**asked, stream=True):
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            text += event.delta.text
    return text


def helper():
    with client.messages.stream(**asked) as stream:
        return stream.get_final_text()


def said(call):
    try:
        return f"{call.__name__}: {call()}"
    except Exception as e:  # by its name: the majors have httpx from packages of different names
        if type(e).__name__ not in ("APITimeoutError", "ReadTimeout"):  # before the headers, and within the stream
            raise
        return f"{call.__name__}: gave up"


with ThreadPoolExecutor() as all_at_once:
    for line in all_at_once.map(said, (events, helper)):
        print(line)

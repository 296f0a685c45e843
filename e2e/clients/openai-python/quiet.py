"""OpenAI's client before a server that is quiet, with a limit on silence. usage: quiet.py BASE_URL MODEL LIMIT

It prints a line for each API: its answer, or that it gave up."""

import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
import openai

url, model, limit = sys.argv[1], sys.argv[2], float(sys.argv[3])
client = openai.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=httpx.Timeout(60, read=limit))


def chat():
    stream = client.chat.completions.create(model=model, messages=[{"role": "user", "content": "Hi"}], stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def helper():
    with client.chat.completions.stream(model=model, messages=[{"role": "user", "content": "Hi"}]) as stream:
        for _ in stream:
            pass
        return stream.get_final_completion().choices[0].message.content


def responses():
    with client.responses.stream(model=model, input="Hi", store=False) as stream:
        numbers = [event.sequence_number for event in stream]
        assert numbers == sorted(set(numbers)), numbers
        return stream.get_final_response().output_text


def said(call):
    try:
        return f"{call.__name__}: {call()}"
    except (openai.APITimeoutError, httpx.ReadTimeout):  # before the headers, and within the stream
        return f"{call.__name__}: gave up"


with ThreadPoolExecutor() as all_at_once:
    for line in all_at_once.map(said, (chat, helper, responses)):
        print(line)

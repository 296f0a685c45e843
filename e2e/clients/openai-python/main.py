"""OpenAI's own client, which checks every answer against its types, in front of a gateway. usage: main.py BASE_URL MODEL

The server behind the gateway is the simulated one: it calls a declared function that fits the last user message, its
final answer repeats what the function returned, and it fails as the header x-sim-fault asks for.
"""

import os

import chat
import failures
import openai
import responses
import structured
from checks import run
from openai import OpenAI

CHECKS = [
    chat.chat_whole,
    chat.chat_stream,
    chat.chat_reasoning_loop,
    chat.chat_helper,
    chat.chat_tools,
    chat.chat_tools_stream,
    chat.chat_tool_loop,
    chat.chat_parse,
    chat.chat_tool_choice,
    responses.responses_whole,
    responses.responses_stream,
    responses.responses_helper,
    responses.responses_tools,
    responses.responses_tools_stream,
    structured.responses_parse,
    structured.responses_stream_parse,
    structured.chat_json_object,
    failures.unknown_model,
    failures.unknown_role,
    failures.unknown_previous,
    failures.server_refuses,
    failures.error_within_stream,
    failures.cut_stream,
    failures.cancelled_stream,
]

if os.environ.get("HARMONY_PASSED_CHAT"):
    # Chat requests and their answers pass. Chunks are the server's own, and so are the codes of its errors.
    for check in (chat.chat_reasoning_loop, failures.unknown_role, failures.error_within_stream):
        CHECKS.remove(check)


def connect(url):
    return OpenAI(base_url=url, api_key="none", _strict_response_validation=True, max_retries=0, timeout=60)


run("openai", openai.__version__, CHECKS, connect)

"""Reads answers of Anthropic's Messages with Anthropic's own library, strictly.

Each line of the input is a JSON text: a stream of events, or a whole answer, which begins with a brace. Each line of
the output is the message as the library builds it, or {"error": why}. Objects must have the types of the library's
models to the letter, and no members that these do not name.
"""

import json
import sys

import anthropic
from anthropic._streaming import Stream
from anthropic.lib.streaming import MessageStream
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import BaseModel, TypeAdapter

try:
    import httpx2 as httpx
except ImportError:
    import httpx

EVENT, MESSAGE = TypeAdapter(RawMessageStreamEvent), TypeAdapter(Message)
CLIENT = anthropic.Anthropic(api_key="none", base_url="http://127.0.0.1:1", max_retries=0)


def strict(adapter, text):
    """Validates a JSON text, and refuses members without a name."""

    def closed(value):
        if isinstance(value, BaseModel):
            if value.model_extra:
                raise ValueError(f"{type(value).__name__} has {sorted(value.model_extra)}")
            for name in type(value).model_fields:
                if name != "input":
                    closed(getattr(value, name))
        elif isinstance(value, list):
            for each in value:
                closed(each)

    value = adapter.validate_json(text, strict=True)
    closed(value)
    return value


def built(stream):
    """Builds the message of a stream as the library does for its users."""
    for event in stream.split("\n\n"):
        name, _, data = event.partition("\ndata: ")
        if data and name not in ("event: ping", "event: error"):
            strict(EVENT, data)
    request = httpx.Request("POST", "http://127.0.0.1:1/v1/messages")
    response = httpx.Response(
        200, headers={"content-type": "text/event-stream"}, content=stream.encode(), request=request
    )
    raw = Stream(cast_to=RawMessageStreamEvent, response=response, client=CLIENT)
    return MessageStream(raw, output_format=anthropic.NOT_GIVEN).get_final_message()


for line in sys.stdin:
    text = json.loads(line)
    try:
        message = strict(MESSAGE, text) if text.startswith("{") else built(text)
        print(json.dumps(message.to_dict()), flush=True)
    except Exception as e:
        print(json.dumps({"error": f"{type(e).__name__}: {e}"}), flush=True)

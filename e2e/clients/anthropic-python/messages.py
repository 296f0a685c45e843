"""Messages: whole answers and streams with the order of their events, schemas, counts, models, keys."""

from anthropic import Anthropic
from checks import FORECAST, HELLO, hello_answer, need, same
from pydantic import BaseModel

THINKING = {"type": "enabled", "budget_tokens": 1024}
ASKED = [{"role": "user", "content": HELLO}]


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def thinking_of(message):
    return "".join(block.thinking for block in message.content if block.type == "thinking")


def read_tokens(usage):
    """The tokens of the prompt."""
    same(usage.cache_creation_input_tokens, 0, "cache_creation_input_tokens")
    return usage.input_tokens + usage.cache_read_input_tokens


def check_hello(message, model, kinds):
    same((message.type, message.role, message.model), ("message", "assistant", model), "what the message is")
    same((message.stop_reason, message.stop_sequence), ("end_turn", None), "why it ended")
    same([block.type for block in message.content], kinds, "blocks")
    hello_answer(text_of(message), read_tokens(message.usage))
    need(message.id.startswith("msg_"), f"the id {message.id}")
    thinking = message.usage.output_tokens_details.thinking_tokens
    need(0 < thinking < message.usage.output_tokens, f"{thinking} of {message.usage.output_tokens} tokens are thinking")
    if "thinking" in kinds:
        need(message.content[0].thinking and message.content[0].signature, "no thinking, or no signature")


def whole(client, model):
    """messages.create with thinking"""
    message = client.messages.create(
        model=model, max_tokens=4096, system="Be short.", messages=ASKED, thinking=THINKING, metadata={"user_id": "me"}
    )
    check_hello(message, model, ["thinking", "text"])
    need(message._request_id, "no request-id")


def without_thinking(client, model):
    """messages.create: the first block is the text"""
    for thinking in (None, {"type": "disabled"}):
        asked = {"thinking": thinking} if thinking else {}
        check_hello(client.messages.create(model=model, max_tokens=4096, messages=ASKED, **asked), model, ["text"])


# What a block's deltas are called, and what they carry. The signature comes last.
DELTAS = {
    "thinking": {"thinking_delta": "thinking", "signature_delta": "signature"},
    "text": {"text_delta": "text"},
    "tool_use": {"input_json_delta": "partial_json"},
    "redacted_thinking": {},
}


def check_order(events):
    """The API's grammar: a start, blocks one after the other, the last counts, a stop. Returns the texts of the blocks."""
    events = [event for event in events if event.type != "ping"]
    same(events[0].type, "message_start", "first event")
    same(events[0].message.content, [], "content of the start")
    same([event.type for event in events[-2:]], ["message_delta", "message_stop"], "last events")
    blocks, opened = [], None
    for event in events[1:-2]:
        if event.type == "content_block_start":
            need(opened is None, "two blocks are open")
            opened = event.content_block
            same(event.index, len(blocks), "index of a start")
            blocks.append((opened.type, []))
        elif event.type == "content_block_delta":
            same(event.index, len(blocks) - 1, "index of a delta")
            need(opened is not None, "a delta without a block")
            carried = DELTAS[opened.type][event.delta.type]
            blocks[-1][1].append((event.delta.type, getattr(event.delta, carried)))
        else:
            same((event.type, event.index), ("content_block_stop", len(blocks) - 1), "the end of a block")
            opened = None
    need(opened is None, "a block that does not end")
    for kind, pieces in blocks:
        if kind == "thinking":
            same([name for name, _ in pieces].count("signature_delta"), 1, "signatures")
            same(pieces[-1][0], "signature_delta", "last delta of the thinking")
    return [(kind, "".join(text for name, text in pieces if name != "signature_delta")) for kind, pieces in blocks]


def stream(client, model):
    """messages.create(stream=True), with the order of the events"""
    with client.messages.create(
        model=model, max_tokens=4096, messages=ASKED, thinking=THINKING, stream=True
    ) as answer:
        events = list(answer)
    blocks = check_order(events)
    same([kind for kind, _ in blocks], ["thinking", "text"], "blocks")
    need(all(text for _, text in blocks), "an empty block")
    last = events[-2]
    same(last.delta.stop_reason, "end_turn", "stop_reason")
    started = events[0].message.usage
    hello_answer(blocks[1][1], read_tokens(last.usage))
    need(started.input_tokens in (0, read_tokens(last.usage)), f"{started.input_tokens} tokens are read at the start")


def helper(client, model):
    """messages.stream and get_final_message"""
    with client.messages.stream(model=model, max_tokens=4096, messages=ASKED, thinking=THINKING) as answer:
        pieces = list(answer.text_stream)
        message = answer.get_final_message()
    check_hello(message, model, ["thinking", "text"])
    same("".join(pieces), text_of(message), "deltas added up")
    need(len(pieces) > 1, "the answer came in one piece")


class Forecast(BaseModel):
    city: str
    degrees: int


def structured(client, model):
    """messages.parse and messages.stream with a schema"""
    asked = {"model": model, "max_tokens": 4096, "messages": [{"role": "user", "content": FORECAST}]}
    same(client.messages.parse(output_format=Forecast, **asked).parsed_output.city, "Paris", "the city")
    with client.messages.stream(output_format=Forecast, **asked) as answer:
        same(answer.get_final_message().parsed_output.city, "Paris", "the city of a stream")


def counted(client, model):
    """messages.count_tokens is what the usage says"""
    asked = {"model": model, "system": "Be short.", "messages": ASKED}
    usage = client.messages.create(max_tokens=4096, **asked).usage
    same(client.messages.count_tokens(**asked).input_tokens, read_tokens(usage), "tokens")


def models(client, model):
    """models.list and models.retrieve"""
    listed = [m.id for m in client.models.list()]
    need(model in listed, f"the models are {listed}")
    got = client.models.retrieve(model)
    same((got.id, got.type), (model, "model"), "the model")


def keys(client, model):
    """a key as x-api-key"""
    other = Anthropic(base_url=str(client.base_url), api_key="none", max_retries=0, default_headers={"x-api-key": "none"})
    check_hello(other.messages.create(model=model, max_tokens=4096, messages=ASKED), model, ["text"])

"""OpenAI's own client with stored responses and conversations, in front of a gateway with the responses service.

usage: stored.py BASE_URL MODEL
"""

import json
import re
import time

import openai
from checks import COMPARE, COMPARED, FOLLOW_UP, FOLLOWED_UP, HELLO, PREAMBLE, WEATHER, Failed, need, run, same
from openai import OpenAI
from responses import RESPONSES_TOOLS, check_order

LIMIT = 60  # seconds that anything may take


def read_tokens(response):
    """The number of tokens that the model says it has read, which the usage must have too."""
    found = re.search(r"I read ([0-9]+) tokens\.$", response.output_text)
    need(found, f"the answer is {response.output_text!r}")
    same(response.usage.input_tokens, int(found[1]), "input tokens in the usage")
    return int(found[1])


def whole(client, **asked):
    return client.responses.create(**asked)


def streamed_events(client, **asked):
    with client.responses.create(stream=True, **asked) as stream:
        return list(stream)


def streamed(client, **asked):
    return check_order(streamed_events(client, **asked))


def await_status(client, id, *statuses):
    """Polls a response until it has one of these statuses."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            response = client.responses.retrieve(id)
        except openai.NotFoundError:
            pass  # it is stored when it has ended
        else:
            if response.status in statuses:
                return response
        time.sleep(0.02)
    raise Failed(f"{id} is not {statuses} after {LIMIT} s")


def refused(call, kind, code, param):
    try:
        call()
    except openai.APIStatusError as e:
        need(isinstance(e, kind), f"{type(e).__name__}, want {kind.__name__}: {e}")
        same((e.code, e.param), (code, param), "code and param")
    else:
        raise Failed(f"no error, want {kind.__name__}")


def chain(client, model):
    """three turns by previous_response_id, whole and streamed, and a fork"""
    for ask in (whole, streamed):
        previous, read, ids = None, 0, []
        for _ in range(3):
            response = ask(client, model=model, input=HELLO, previous_response_id=previous)
            same((response.store, response.previous_response_id), (True, previous), "store, previous_response_id")
            need(read_tokens(response) > read + 10, f"{response.usage} after {read}: the model has not read the past")
            previous, read = response.id, read_tokens(response)
            ids.append(previous)
        same(client.responses.retrieve(previous), response, "the stored response")
        fork = ask(client, model=model, input=HELLO, previous_response_id=ids[0])
        need(read_tokens(fork) < read, "a fork has what came after it")


def conversation(client, model):
    """turns in a conversation, whole and streamed"""
    talk = client.conversations.create(metadata={"topic": "edges"}, items=[{"role": "user", "content": "Be kind."}])
    read = 0
    for ask in (whole, streamed, whole):
        response = ask(client, model=model, input=HELLO, conversation=talk.id)
        same(response.conversation.id, talk.id, "conversation")
        need(read_tokens(response) > read + 10, "the model has not read the past")
        read = read_tokens(response)
    kinds = [item.type for item in client.conversations.items.list(talk.id, order="asc")]
    same(kinds, ["message"] + ["message", "reasoning", "message"] * 3, "items")


def tool_loop(client, model):
    """a loop over tools that sends only what is new, whole and streamed"""
    for ask in (whole, streamed):
        for conversation in (False, True):
            asked = {"model": model, "tools": RESPONSES_TOOLS}
            if conversation:
                asked["conversation"] = client.conversations.create().id
            new, said = [{"role": "user", "content": COMPARE}], []
            for city in ("Paris", "Rome", None):
                response = ask(client, input=new, **asked)
                said.append(response.output_text)
                calls = [item for item in response.output if item.type == "function_call"]
                same([json.loads(c.arguments) for c in calls], [{"city": city}] if city else [], "calls")
                new = [{"type": "function_call_output", "call_id": c.call_id, "output": WEATHER[city]} for c in calls]
                if not conversation:
                    asked["previous_response_id"] = response.id
            same(said, ["", PREAMBLE, COMPARED], "texts")
            same(ask(client, input=FOLLOW_UP, **asked).output_text, FOLLOWED_UP, "the answer to a further question")


def paging(client, model):
    """items page by page, both ways"""
    talk = client.conversations.create()
    for _ in range(3):
        response = client.responses.create(model=model, input=HELLO, conversation=talk.id)
    lists = client.conversations.items.list, client.responses.input_items.list
    for listed, id, count in ((lists[0], talk.id, 9), (lists[1], response.id, 1)):
        up = [item.id for item in listed(id, order="asc", limit=2)]
        down = [item.id for item in listed(id, limit=4)]
        same((len(up), len(set(up))), (count, count), "items, and different ones")
        same(down, up[::-1], "the other way round")
    first = client.responses.create(model=model, input=HELLO)
    second = client.responses.create(model=model, input=HELLO, previous_response_id=first.id)
    kinds = [item.type for item in client.responses.input_items.list(second.id, order="asc", limit=1)]
    same(kinds, ["message", "reasoning", "message", "message"], "input items of a chain")


def conversation_objects(client, _):
    """conversations and items: create, retrieve, update, delete"""
    talk = client.conversations.create(items=[{"role": "user", "content": "one"}])
    added = client.conversations.items.create(
        talk.id, items=[{"role": "user", "content": "two"}, {"role": "assistant", "content": "three"}]
    )
    same([item.content[0].text for item in added.data], ["two", "three"], "items that were added")
    item = client.conversations.items.retrieve(added.data[1].id, conversation_id=talk.id)
    same((item.role, item.content[0].text), ("assistant", "three"), "an item")
    same(client.conversations.update(talk.id, metadata={"a": "b"}).metadata, {"a": "b"}, "metadata")
    same(client.conversations.retrieve(talk.id).metadata, {"a": "b"}, "metadata")
    same(client.conversations.items.delete(item.id, conversation_id=talk.id).id, talk.id, "what a deletion returns")
    same([i.content[0].text for i in client.conversations.items.list(talk.id, order="asc")], ["one", "two"], "items")
    need(client.conversations.delete(talk.id).deleted, "not deleted")
    refused(lambda: client.conversations.retrieve(talk.id), openai.NotFoundError, None, None)


def background(client, model):
    """background=True, polled; then a turn after it"""
    response = client.responses.create(model=model, input=HELLO, background=True)
    need(response.status in ("queued", "in_progress"), f"status {response.status}")
    done = await_status(client, response.id, "completed", "failed")
    read = read_tokens(done)
    next = client.responses.create(model=model, input=HELLO, previous_response_id=done.id)
    need(read_tokens(next) > read, "the model has not read the past")
    refused(lambda: client.responses.cancel(done.id), openai.BadRequestError, "invalid_value", None)


def resumed(client, model):
    """background=True with a stream that is left, and resumed by retrieve and by responses.stream"""
    seen = []
    with client.responses.create(model=model, input=HELLO, background=True, stream=True) as stream:
        for event in stream:
            seen.append(event)
            if event.type == "response.output_item.added":
                break
    id, at = seen[0].response.id, seen[-1].sequence_number
    with client.responses.retrieve(id, stream=True, starting_after=at) as stream:
        rest = list(stream)
    final = check_order([*seen, *rest])
    same(client.responses.retrieve(id), final, "the stored response")
    with client.responses.retrieve(id, stream=True) as stream:
        same(list(stream), [*seen, *rest], "the whole stream again")
    with client.responses.stream(response_id=id, starting_after=at) as stream:
        same([e.sequence_number for e in stream], [e.sequence_number for e in rest], "events of responses.stream")


def cancelled(client, model):
    """responses.cancel in the middle of an answer"""
    stalls = {"x-sim-fault": "stall:12"}
    with client.responses.create(
        model=model, input=HELLO, background=True, stream=True, extra_headers=stalls
    ) as stream:
        events = []
        for event in stream:
            events.append(event)
            if event.type == "response.reasoning_text.delta" and len(events) < 8:
                response = client.responses.cancel(event_id(events))
                same((response.status, response.output), ("cancelled", []), "the cancelled response")
    same((events[-1].type, events[-1].response.status), ("response.failed", "cancelled"), "the last event")
    same(client.responses.retrieve(event_id(events)).status, "cancelled", "status")
    same(client.responses.cancel(event_id(events)).status, "cancelled", "status when cancelled again")


def event_id(events):
    return events[0].response.id


def left(client, model):
    """a client that leaves in the middle of an answer has a cancelled response"""
    with client.responses.create(
        model=model, input=HELLO, stream=True, extra_headers={"x-sim-fault": "stall:12"}
    ) as stream:
        for event in stream:
            if event.type == "response.created":
                id = event.response.id
            if event.type == "response.reasoning_text.delta":
                break
    same(await_status(client, id, "cancelled", "completed").status, "cancelled", "status")


def deleted(client, model):
    """responses.delete, and what then cannot be continued"""
    one = client.responses.create(model=model, input=HELLO)
    two = client.responses.create(model=model, input=HELLO, previous_response_id=one.id)
    client.responses.delete(one.id)
    for call in (client.responses.retrieve, client.responses.delete, client.responses.cancel):
        refused(lambda call=call: call(one.id), openai.NotFoundError, None, None)
    for id in (one.id, two.id):
        refused(
            lambda id=id: client.responses.create(model=model, input=HELLO, previous_response_id=id),
            openai.BadRequestError,
            "previous_response_not_found",
            "previous_response_id",
        )
    same(client.responses.retrieve(two.id), two, "a response after the deleted one")


def unstored(client, model):
    """store=False continues what is stored, and is not stored"""
    one = client.responses.create(model=model, input=HELLO)
    two = client.responses.create(model=model, input=HELLO, previous_response_id=one.id, store=False)
    need(read_tokens(two) > read_tokens(one), "the model has not read the past")
    refused(lambda: client.responses.retrieve(two.id), openai.NotFoundError, None, None)


def connect(url):
    return OpenAI(base_url=url, api_key="none", _strict_response_validation=True, max_retries=0, timeout=LIMIT)


if __name__ == "__main__":
    run(
        "openai",
        openai.__version__,
        [chain, conversation, tool_loop, paging, conversation_objects, background, resumed, cancelled, left, deleted,
         unstored],
        connect,
    )

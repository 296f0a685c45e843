"""What fails: refused requests, servers that fail, streams that are cut or cancelled."""

import openai
from checks import Failed, need, same
from weather import QUESTION


def refused(call, kind, status, code, param):
    try:
        call()
    except openai.APIStatusError as e:
        need(isinstance(e, kind), f"{type(e).__name__}, want {kind.__name__}: {e}")
        same(e.status_code, status, "status")
        same(e.code, code, "code")
        same(e.param, param, "param")
        same(e.type, "invalid_request_error", "type")
        need(isinstance(e.body, dict) and e.body.get("message"), f"no message: {e.body!r}")
    else:
        raise Failed(f"no error, want {kind.__name__}")


def unknown_model(client, model):
    """an unknown model is NotFoundError model_not_found"""
    hello = [{"role": "user", "content": "Hello"}]
    none = model + "-that-is-not-there"
    chat = client.chat.completions.create
    refused(lambda: chat(model=none, messages=hello), openai.NotFoundError, 404, "model_not_found", "model")
    refused(lambda: chat(model=none, messages=hello, stream=True), openai.NotFoundError, 404, "model_not_found", "model")
    create = client.responses.create
    refused(lambda: create(model=none, input="Hello"), openai.NotFoundError, 404, "model_not_found", "model")


def unknown_role(client, model):
    """an unknown role is BadRequestError unknown_role"""
    wrong = [{"role": "user", "content": "Hello"}, {"role": "robot", "content": "Hello"}]
    chat = client.chat.completions.create
    refused(
        lambda: chat(model=model, messages=wrong), openai.BadRequestError, 400, "unknown_role", "messages[1].role"
    )
    create = client.responses.create
    refused(lambda: create(model=model, input=wrong), openai.BadRequestError, 400, "unknown_role", "input[1].role")


def unknown_previous(client, model):
    """an unknown previous_response_id is BadRequestError previous_response_not_found"""
    create = client.responses.create
    for stream in (False, True):
        refused(
            lambda: create(model=model, input="Hello", previous_response_id="resp_none", stream=stream),
            openai.BadRequestError,
            400,
            "previous_response_not_found",
            "previous_response_id",
        )
    refused(
        lambda: client.responses.retrieve("resp_none"), openai.NotFoundError, 404, "response_not_found", None
    )


def fault(name):
    return {"x-sim-fault": name}


def server_refuses(client, model):
    """a server's 429 is RateLimitError with its retry-after"""
    hello = [{"role": "user", "content": "Hello"}]
    for call in (
        lambda: client.chat.completions.create(model=model, messages=hello, extra_headers=fault("status:429:7")),
        lambda: client.responses.create(model=model, input="Hello", stream=True, extra_headers=fault("status:429:7")),
    ):
        try:
            call()
        except openai.RateLimitError as e:
            same(e.code, "rate_limit_exceeded", "code")
            same(e.type, "rate_limit_error", "type")
            same(e.response.headers.get("retry-after"), "7", "retry-after")
        else:
            raise Failed("no error")


def error_within_stream(client, model):
    """an error within a stream is APIError"""
    pieces = 0
    try:
        for _ in client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": QUESTION}],
            stream=True,
            extra_headers=fault("error-event:8"),
        ):
            pieces += 1
    except openai.APIError as e:
        same(e.code, "server_error", "code")
        need(e.message, "no message")
        need(pieces > 1, "nothing came before the error")
    else:
        raise Failed("a chat stream with an error ends well")

    events = []
    try:
        for event in client.responses.create(
            model=model, input=QUESTION, stream=True, extra_headers=fault("error-event:8")
        ):
            events.append(event)
    except openai.APIError as e:
        same((e.code, e.type, e.param), ("server_error", "server_error", None), "the error")
        need(e.message, "no message")
    else:
        raise Failed("a stream of a response that failed ends well")
    same([e.sequence_number for e in events], list(range(len(events))), "sequence numbers")
    opened = sum(e.type == "response.output_item.added" for e in events)
    closed = sum(e.type == "response.output_item.done" for e in events)
    need(opened == closed > 0, f"{opened} items were opened and {closed} closed")


def cut_stream(client, model):
    """a stream that is cut never ends well"""
    for call in (
        lambda: client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": QUESTION}],
            stream=True,
            extra_headers=fault("close:8"),
        ),
        lambda: client.responses.create(model=model, input=QUESTION, stream=True, extra_headers=fault("close:8")),
    ):
        stream = call()
        pieces = 0
        try:
            for _ in stream:
                pieces += 1
        except Exception as e:  # whatever the HTTP library makes of it
            need(pieces > 1, f"nothing came before the cut: {e}")
        else:
            raise Failed("it ends as if it were finished")


def cancelled_stream(client, model):
    """break out of a stream"""
    with client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": QUESTION}],
        stream=True,
        extra_headers=fault("stall:12"),
    ) as stream:
        for chunk in stream:
            if chunk.choices[0].delta.model_extra.get("reasoning"):
                break

"""What fails: refused requests, servers that fail, streams that are cut or cancelled."""

import anthropic
from checks import Failed, need, same
from messages import ASKED, THINKING


def refused(call, kind, status, name, says):
    try:
        call()
    except anthropic.APIStatusError as e:
        need(isinstance(e, kind), f"{type(e).__name__}, want {kind.__name__}: {e}")
        same(e.status_code, status, "status")
        need(isinstance(e.body, dict), f"the body is {e.body!r}")
        same((e.body["type"], e.body["error"]["type"]), ("error", name), "types")
        need(says in e.body["error"]["message"], f"the message is {e.body['error']['message']!r}")
        same(e.body["request_id"], e.request_id, "request_id")
        return e
    raise Failed(f"no error, want {kind.__name__}")


def asked(model, **settings):
    return {"model": model, "max_tokens": 4096, "messages": ASKED, **settings}


def unknown_model(client, model):
    """an unknown model is NotFoundError not_found_error"""
    none = model + "-that-is-not-there"
    for call in (
        lambda: client.messages.create(**asked(none)),
        lambda: client.messages.create(**asked(none, stream=True)),
        lambda: client.messages.count_tokens(model=none, messages=ASKED),
        lambda: client.models.retrieve(none),
    ):
        refused(call, anthropic.NotFoundError, 404, "not_found_error", none)


def wrong_role(client, model):
    """an unknown role is BadRequestError invalid_request_error"""
    wrong = [*ASKED, {"role": "robot", "content": "Hello"}]
    refused(
        lambda: client.messages.create(**asked(model, messages=wrong)),
        anthropic.BadRequestError, 400, "invalid_request_error", "messages.1.role",
    )


def too_long(client, model):
    """a prompt that is too long is BadRequestError with both numbers"""
    long = [{"role": "user", "content": "one two three " * 60000}]
    refused(
        lambda: client.messages.create(**asked(model, messages=long)),
        anthropic.BadRequestError, 400, "invalid_request_error", "prompt is too long: ",
    )


def fault(name):
    return {"x-sim-fault": name}


def server_refuses(client, model):
    """a server's 429 is RateLimitError with its retry-after"""
    for stream in (False, True):
        e = refused(
            lambda: client.messages.create(**asked(model, stream=stream), extra_headers=fault("status:429:7")),
            anthropic.RateLimitError, 429, "rate_limit_error", "",
        )
        same(e.response.headers.get("retry-after"), "7", "retry-after")


def error_within_stream(client, model):
    """an error within a stream is APIStatusError"""
    events = []
    try:
        for event in client.messages.create(
            **asked(model, stream=True, thinking=THINKING), extra_headers=fault("error-event:8")
        ):
            events.append(event.type)
    except anthropic.APIStatusError as e:
        same((e.body["type"], e.body["error"]["type"]), ("error", "api_error"), "types")
        need("content_block_delta" in events, "nothing came before the error")
    else:
        raise Failed("a stream with an error ends well")


def cut_stream(client, model):
    """a stream that is cut never ends well"""
    events = []
    try:
        for event in client.messages.create(
            **asked(model, stream=True, thinking=THINKING), extra_headers=fault("close:8")
        ):
            events.append(event.type)
    except Exception as e:  # whatever the HTTP library makes of it
        need("content_block_delta" in events, f"nothing came before the cut: {e}")
    need("message_stop" not in events, "it ends as if it were finished")


def cancelled_stream(client, model):
    """break out of a stream"""
    with client.messages.create(
        **asked(model, stream=True, thinking=THINKING), extra_headers=fault("stall:12")
    ) as stream:
        for event in stream:
            if event.type == "content_block_delta":
                break

"""Small makers of what cases are made of."""

MODEL = "Qwen/Qwen3-30B-A3B"
CREATED = 1_700_000_000


def case(name, turns, api="responses", request=None, **settings):
    """turns is the input of one turn, or a list of pairs of input and answer."""
    if not isinstance(turns, list) or not turns or not isinstance(turns[0], tuple):
        turns = [(turns, answer("Fine."))]
    return {"name": name, "api": api, "settings": settings, "request": request or {}, "turns": turns}


def answer(content, finish="stop", usage=(7, 3), **message):
    """A whole answer of a Chat server."""
    body = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": CREATED, "model": MODEL,
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content} | message}],
    }
    if usage:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return body


def failed(status, text):
    """An answer of vLLM's in which it refuses a request."""
    return {"status": status, "body": {"error": {"message": text, "type": "BadRequestError", "param": None, "code": status}}}


def call(name, arguments, identifier):
    """A call in the answer of a Chat server, and in an assistant's message."""
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


def user(content):
    return {"role": "user", "content": content}


def said(role, content):
    return {"role": role, "content": content, "type": "message"}


def message(*texts, identifier="msg_1"):
    """An item of the assistant's, as an answer has it."""
    parts = [{"type": "output_text", "text": t, "annotations": []} for t in texts]
    return {"id": identifier, "type": "message", "role": "assistant", "status": "completed", "content": parts}


def reasoning(*summary, identifier="rs_1", **more):
    return {"id": identifier, "type": "reasoning", "summary": [{"type": "summary_text", "text": t} for t in summary]} | more


def called(name, arguments, identifier):
    return {"type": "function_call", "name": name, "arguments": arguments, "call_id": identifier}


def result(identifier, output):
    return {"type": "function_call_output", "call_id": identifier, "output": output}


def function(name, **more):
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return {"type": "function", "name": name, "description": "Tells the weather.", "parameters": schema, "strict": True} | more


WEATHER = function("get_weather")
CLOCK = function("get_time", description="Tells the time.", strict=False)

"""Speaks to a gateway with OpenAI's own client, which checks every answer against its types.

usage: openai_strict.py BASE_URL MODEL

Prints a line for each check. The first one that fails ends the run with a text that says which, and status 1. The
server behind the gateway is the simulated one: it calls a declared function that fits the last user message, its
final answer repeats what the function returned, and it fails as the header x-sim-fault asks for.
"""

import json
import sys
import traceback

import openai
from openai import OpenAI

QUESTION = "What is the weather in Paris today?"
RESULT = '{"celsius": 21, "sky": "clear"}'
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "The city"}},
    "required": ["city"],
    "additionalProperties": False,
}
DESCRIPTION = "The current weather of a city"
CHAT_TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": DESCRIPTION, "parameters": PARAMETERS}}
]
RESPONSES_TOOLS = [
    {"type": "function", "name": "get_weather", "description": DESCRIPTION, "parameters": PARAMETERS, "strict": False}
]


class Failed(Exception):
    """A check that did not hold."""


def need(condition, text):
    if not condition:
        raise Failed(text)


def same(got, want, what):
    need(got == want, f"{what}: got {got!r}, want {want!r}")


def extra(model, name):
    """A member that the API's types do not have, such as the reasoning of Chat."""
    return (model.model_extra or {}).get(name)


def city_of(arguments):
    try:
        city = json.loads(arguments)["city"]
    except (ValueError, KeyError, TypeError) as e:
        raise Failed(f"the arguments {arguments!r} are not the function's: {e}") from e
    same(city, "Paris", "the argument city")


# --- Chat Completions ---


def check_chat_answer(message):
    need(QUESTION in (message.content or ""), f"the answer {message.content!r} does not repeat the question")
    reasoning = extra(message, "reasoning")
    need(reasoning, "no reasoning")
    same(extra(message, "reasoning_content"), reasoning, "reasoning_content")


def check_chat_usage(usage):
    need(usage is not None, "no usage")
    need(usage.prompt_tokens > 0 and usage.completion_tokens > 0, f"usage counts nothing: {usage}")
    same(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens, "usage.total_tokens")
    details = usage.completion_tokens_details
    need(details and 0 < details.reasoning_tokens < usage.completion_tokens, f"reasoning tokens: {details}")


def chat_whole(client, model):
    """chat.completions.create"""
    answer = client.chat.completions.create(model=model, messages=[{"role": "user", "content": QUESTION}])
    same(answer.object, "chat.completion", "object")
    same(answer.model, model, "model")
    same(len(answer.choices), 1, "number of choices")
    same(answer.choices[0].finish_reason, "stop", "finish_reason")
    same(answer.choices[0].message.tool_calls, None, "tool_calls")
    check_chat_answer(answer.choices[0].message)
    check_chat_usage(answer.usage)


def collect_chat(stream):
    """Adds a stream of chunks up, as a client without a helper does, and checks what each chunk must have."""
    content, reasoning, calls, finish, usage, ids = "", "", [], None, None, set()
    for n, chunk in enumerate(stream):
        same(chunk.object, "chat.completion.chunk", f"object of chunk {n}")
        ids.add(chunk.id)
        if not chunk.choices:
            need(finish, "the usage comes before the finish reason")
            usage = chunk.usage
            continue
        need(finish is None, "a chunk with a choice after the finish reason")
        choice = chunk.choices[0]
        if n == 0:
            same(choice.delta.role, "assistant", "role of the first chunk")
        piece = extra(choice.delta, "reasoning") or ""
        same(extra(choice.delta, "reasoning_content") or "", piece, f"reasoning_content of chunk {n}")
        reasoning += piece
        content += choice.delta.content or ""
        for delta in choice.delta.tool_calls or []:
            if delta.index == len(calls):
                need(delta.id and delta.function.name and delta.type == "function", f"the call begins with {delta}")
                calls.append({"id": delta.id, "name": delta.function.name, "arguments": ""})
            else:
                same(delta.index, len(calls) - 1, "index of a call's delta")
                need(delta.id is None, "a call's id comes twice")
            calls[delta.index]["arguments"] += delta.function.arguments or ""
        finish = choice.finish_reason
    need(finish, "the stream ends without a finish reason")
    same(len(ids), 1, "number of different ids in one stream")
    return content, reasoning, calls, finish, usage


def chat_stream(client, model):
    """chat.completions.create(stream=True)"""
    with client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": QUESTION}],
        stream=True,
        stream_options={"include_usage": True},
    ) as stream:
        content, reasoning, calls, finish, usage = collect_chat(stream)
    need(QUESTION in content, f"the answer {content!r} does not repeat the question")
    need(reasoning, "no reasoning")
    same(calls, [], "calls")
    same(finish, "stop", "finish_reason")
    check_chat_usage(usage)


def chat_helper(client, model):
    """chat.completions.stream"""
    pieces = []
    with client.chat.completions.stream(model=model, messages=[{"role": "user", "content": QUESTION}]) as stream:
        for event in stream:
            if event.type == "content.delta":
                pieces.append(event.delta)
        final = stream.get_final_completion()
    message = final.choices[0].message
    same("".join(pieces), message.content, "content.delta events added up")
    need(len(pieces) > 1, "the answer came in one piece")
    same(final.choices[0].finish_reason, "stop", "finish_reason")
    check_chat_answer(message)


def chat_second_turn(client, model, assistant, call_id):
    """Gives the function's result back and wants an answer that uses it."""
    answer = client.chat.completions.create(
        model=model,
        messages=[
            {"role": "user", "content": QUESTION},
            assistant,
            {"role": "tool", "tool_call_id": call_id, "content": RESULT},
        ],
        tools=CHAT_TOOLS,
    )
    same(answer.choices[0].finish_reason, "stop", "finish_reason of the second turn")
    content = answer.choices[0].message.content or ""
    need(RESULT in content, f"the answer {content!r} does not use the function's result")


def chat_tools(client, model):
    """chat.completions.create with a tool, and its result"""
    first = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": QUESTION}], tools=CHAT_TOOLS
    )
    same(first.choices[0].finish_reason, "tool_calls", "finish_reason")
    message = first.choices[0].message
    same(message.content, None, "content beside a call")
    same(len(message.tool_calls or []), 1, "number of calls")
    call = message.tool_calls[0]
    same(call.function.name, "get_weather", "name of the function")
    city_of(call.function.arguments)
    chat_second_turn(client, model, message.model_dump(exclude_none=True), call.id)


def chat_tools_stream(client, model):
    """chat.completions.create(stream=True) with a tool, and its result"""
    with client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": QUESTION}], tools=CHAT_TOOLS, stream=True
    ) as stream:
        content, reasoning, calls, finish, usage = collect_chat(stream)
    same(finish, "tool_calls", "finish_reason")
    same(content, "", "content beside a call")
    same(usage, None, "usage that nobody asked for")
    same([c["name"] for c in calls], ["get_weather"], "calls")
    city_of(calls[0]["arguments"])
    assistant = {
        "role": "assistant",
        "reasoning": reasoning,
        "tool_calls": [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
            for c in calls
        ],
    }
    chat_second_turn(client, model, assistant, calls[0]["id"])


# --- Responses ---


def check_responses_usage(usage):
    need(usage is not None, "no usage")
    need(usage.input_tokens > 0 and usage.output_tokens > 0, f"usage counts nothing: {usage}")
    same(usage.total_tokens, usage.input_tokens + usage.output_tokens, "usage.total_tokens")
    reasoning = usage.output_tokens_details.reasoning_tokens
    need(0 < reasoning < usage.output_tokens, f"reasoning tokens: {reasoning} of {usage.output_tokens}")


def check_response(response, model, kinds):
    same(response.object, "response", "object")
    same(response.status, "completed", "status")
    same(response.model, model, "model")
    same([item.type for item in response.output], kinds, "output items")
    for item in response.output:
        same(item.status, "completed", f"status of the {item.type}")
    reasoning = response.output[0]
    need(reasoning.content and reasoning.content[0].text, "no reasoning text")
    check_responses_usage(response.usage)


def responses_whole(client, model):
    """responses.create"""
    response = client.responses.create(model=model, instructions="Be short.", input=QUESTION, metadata={"for": "test"})
    check_response(response, model, ["reasoning", "message"])
    need(QUESTION in response.output_text, f"the answer {response.output_text!r} does not repeat the question")
    same(response.instructions, "Be short.", "instructions")
    same(response.metadata, {"for": "test"}, "metadata")


# What stands around an item's deltas, by the item's type: opening events, delta, closing events.
GRAMMAR = {
    "reasoning": (
        ["response.output_item.added", "response.content_part.added"],
        "response.reasoning_text.delta",
        ["response.reasoning_text.done", "response.content_part.done", "response.output_item.done"],
    ),
    "message": (
        ["response.output_item.added", "response.content_part.added"],
        "response.output_text.delta",
        ["response.output_text.done", "response.content_part.done", "response.output_item.done"],
    ),
    "function_call": (
        ["response.output_item.added"],
        "response.function_call_arguments.delta",
        ["response.function_call_arguments.done", "response.output_item.done"],
    ),
}


def check_order(events):
    """The API's grammar: created, in_progress, items one after the other, completed. Returns the finished response."""
    types = [e.type for e in events]
    same([e.sequence_number for e in events], list(range(len(events))), "sequence numbers")
    same(types[:2], ["response.created", "response.in_progress"], "first events")
    same(types[-1], "response.completed", "last event")
    final = events[-1].response
    same({e.response.id for e in (events[0], events[1])}, {final.id}, "response id")
    at = 2
    for index, item in enumerate(final.output):
        opening, delta, closing = GRAMMAR[item.type]
        what = f"item {index}, {item.type}"
        same(types[at : at + len(opening)], opening, f"{what}: first events")
        added = events[at]
        at += len(opening)
        text = ""
        while types[at] == delta:
            need(events[at].delta, f"{what}: an empty delta")
            text += events[at].delta
            at += 1
        same(types[at : at + len(closing)], closing, f"{what}: last events")
        done = events[at]
        for event in events[at - 1 : at + len(closing)]:
            same(event.output_index, index, f"{what}: output_index of {event.type}")
        same(done.arguments if item.type == "function_call" else done.text, text, f"{what}: deltas added up")
        at += len(closing)
        same(added.item.id, item.id, f"{what}: id when it was added")
        same(events[at - 1].item, item, f"{what}: the item when it was done")
    same(at, len(events) - 1, "number of events before response.completed")
    return final


def responses_stream(client, model):
    """responses.create(stream=True), with the order of the events"""
    with client.responses.create(model=model, input=QUESTION, stream=True) as stream:
        events = list(stream)
    final = check_order(events)
    check_response(final, model, ["reasoning", "message"])
    need(QUESTION in final.output_text, f"the answer {final.output_text!r} does not repeat the question")


def responses_helper(client, model):
    """responses.stream and get_final_response"""
    pieces = []
    with client.responses.stream(model=model, input=QUESTION) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                pieces.append(event.delta)
        final = stream.get_final_response()
    check_response(final, model, ["reasoning", "message"])
    same("".join(pieces), final.output_text, "deltas added up")
    need(len(pieces) > 1, "the answer came in one piece")


def responses_second_turn(client, model, output):
    """Sends the output back with the function's result and wants an answer that uses it."""
    call = output[-1]
    same(call.name, "get_weather", "name of the function")
    city_of(call.arguments)
    history = [{"role": "user", "content": QUESTION}]
    history += [item.model_dump(exclude_none=True) for item in output]
    history.append({"type": "function_call_output", "call_id": call.call_id, "output": RESULT})
    response = client.responses.create(model=model, input=history, tools=RESPONSES_TOOLS)
    check_response(response, model, ["reasoning", "message"])
    need(RESULT in response.output_text, f"the answer {response.output_text!r} does not use the function's result")


def responses_tools(client, model):
    """responses.create with a tool, and its result"""
    response = client.responses.create(model=model, input=QUESTION, tools=RESPONSES_TOOLS)
    check_response(response, model, ["reasoning", "function_call"])
    same(response.tools[0].name, "get_weather", "the tool as it is repeated")
    responses_second_turn(client, model, response.output)


def responses_tools_stream(client, model):
    """responses.create(stream=True) with a tool, and its result"""
    with client.responses.create(model=model, input=QUESTION, tools=RESPONSES_TOOLS, stream=True) as stream:
        final = check_order(list(stream))
    check_response(final, model, ["reasoning", "function_call"])
    responses_second_turn(client, model, final.output)


# --- errors ---


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
    """an error within a stream is APIError for Chat, response.failed for Responses"""
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

    events = list(
        client.responses.create(model=model, input=QUESTION, stream=True, extra_headers=fault("error-event:8"))
    )
    last = events[-1]
    same(last.type, "response.failed", "last event")
    same(last.response.status, "failed", "status")
    same(last.response.error.code, "server_error", "error.code")
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


CHECKS = [
    chat_whole,
    chat_stream,
    chat_helper,
    chat_tools,
    chat_tools_stream,
    responses_whole,
    responses_stream,
    responses_helper,
    responses_tools,
    responses_tools_stream,
    unknown_model,
    unknown_role,
    server_refuses,
    error_within_stream,
    cut_stream,
]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    base_url, model = sys.argv[1:]
    client = OpenAI(
        base_url=base_url, api_key="none", _strict_response_validation=True, max_retries=0, timeout=60
    )
    for check in CHECKS:
        try:
            check(client, model)
        except Failed as e:
            print(f"FAILED {check.__doc__}: {e}", flush=True)
            sys.exit(1)
        except Exception:
            print(f"FAILED {check.__doc__}, by an exception:\n{traceback.format_exc()}", flush=True)
            sys.exit(1)
        print(f"ok     {check.__doc__}", flush=True)
    print(f"{len(CHECKS)} checks passed with openai {openai.__version__}")


if __name__ == "__main__":
    main()

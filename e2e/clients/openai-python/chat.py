"""Chat Completions: whole answers and streams, tools."""

import json

from checks import COMPARE, COMPARED, DESCRIPTION, FOLLOW_UP, FOLLOWED_UP, FORECAST, PREAMBLE, WEATHER, need, same
from pydantic import BaseModel
from weather import PARAMETERS, QUESTION, RESULT, city_of

CHAT_TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": DESCRIPTION, "parameters": PARAMETERS}}
]


def extra(model, name):
    """A member that the API's types do not have, such as the reasoning of Chat."""
    return (model.model_extra or {}).get(name)


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


def chat_reasoning_loop(client, model):
    """the loop of DeepSeek's docs: delta.reasoning_content, else delta.content"""
    reasoning, content, text = "", "", ""
    for chunk in client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": QUESTION}], stream=True
    ):
        delta = chunk.choices[0].delta
        if delta.reasoning_content:
            reasoning += delta.reasoning_content
        else:
            content += delta.content
    need(reasoning, "no reasoning")
    need(QUESTION in content, f"the answer {content!r} does not repeat the question")
    for chunk in client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": FORECAST}], tools=CHAT_TOOLS, stream=True
    ):
        delta = chunk.choices[0].delta
        if delta.reasoning:
            text += delta.reasoning
        elif delta.content or delta.tool_calls:
            same(delta.reasoning_content, None, "reasoning_content beside an answer")
    need(text, "no reasoning before a call")
    answer = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": COMPARE}, {"role": "user", "content": FOLLOW_UP}]
    )
    same(answer.choices[0].message.reasoning_content, None, "reasoning_content of an answer without reasoning")


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


def call_of(id, name, arguments):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


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
    assistant = {"role": "assistant", "reasoning": reasoning, "tool_calls": [call_of(**c) for c in calls]}
    chat_second_turn(client, model, assistant, calls[0]["id"])


def chat_tool_loop(client, model):
    """chat.completions.create in a loop of two calls, the second beside a text, and a further question"""
    for stream in (False, True):
        messages = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": COMPARE}]
        for city, content in (("Paris", None), ("Rome", PREAMBLE), (None, COMPARED)):
            answer = client.chat.completions.create(model=model, messages=messages, tools=CHAT_TOOLS, stream=stream)
            if stream:
                text, reasoning, calls, finish, _ = collect_chat(answer)
                said = {"role": "assistant", "reasoning": reasoning, "content": text or None}
                said["tool_calls"] = [call_of(**c) for c in calls]
            else:
                finish = answer.choices[0].finish_reason
                said = {"tool_calls": [], **answer.choices[0].message.model_dump(exclude_unset=True)}
            same(said["content"], content, f"content beside the call for {city}")
            same(finish, "tool_calls" if city else "stop", "finish_reason")
            same(len(said["tool_calls"]), 1 if city else 0, "number of calls")
            messages.append(said)
            for call in said["tool_calls"]:
                same(json.loads(call["function"]["arguments"]), {"city": city}, "arguments")
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": WEATHER[city]})
        messages.append({"role": "user", "content": FOLLOW_UP})
        answer = client.chat.completions.create(model=model, messages=messages, tools=CHAT_TOOLS)
        same(answer.choices[0].message.content, FOLLOWED_UP, "content of the second answer")


class Forecast(BaseModel):
    city: str
    degrees: int


def chat_parse(client, model):
    """chat.completions.parse and stream with response_format"""
    asked = {"model": model, "messages": [{"role": "user", "content": FORECAST}], "response_format": Forecast}
    with client.chat.completions.stream(**asked) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_completion()
    for answer in (client.chat.completions.parse(**asked), streamed):
        same(answer.choices[0].finish_reason, "stop", "finish_reason")
        same(answer.choices[0].message.parsed.city, "Paris", "city")


def chat_tool_choice(client, model):
    """chat.completions.create with tool_choice required, named and none"""
    for choice in ("required", {"type": "function", "function": {"name": "get_weather"}}, "none"):
        answer = client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": FORECAST}], tools=CHAT_TOOLS, tool_choice=choice
        )
        calls = answer.choices[0].message.tool_calls or []
        same(len(calls), 0 if choice == "none" else 1, f"number of calls with tool_choice {choice}")
        for call in calls:
            city_of(call.function.arguments)

"""Responses: whole answers and streams with the order of their events, tools."""

from checks import DESCRIPTION, need, same
from weather import PARAMETERS, QUESTION, RESULT, city_of

RESPONSES_TOOLS = [
    {"type": "function", "name": "get_weather", "description": DESCRIPTION, "parameters": PARAMETERS, "strict": False}
]


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

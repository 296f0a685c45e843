"""Tools: loops whose history is what came, choices, results in another order."""

from checks import COMPARE, COMPARED, DESCRIPTION, FOLLOW_UP, FOLLOWED_UP, FORECAST, PREAMBLE, WEATHER, need, same
from messages import THINKING, check_order, text_of, thinking_of

TOOLS = [
    {
        "name": "get_weather",
        "description": DESCRIPTION,
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
]


def create(client, asked):
    return client.messages.create(**asked)


def streamed(client, asked):
    with client.messages.create(stream=True, **asked) as events:
        blocks = check_order(events)
    with client.messages.stream(**asked) as answer:
        message = answer.get_final_message()
    same([kind for kind, _ in blocks], [block.type for block in message.content], "blocks of both streams")
    return message


def play(client, model, answer, **settings):
    """A loop over tools, and a question behind it. Returns what was thought and what kinds of blocks came."""
    history = [{"role": "user", "content": COMPARE}]
    asked = {"model": model, "max_tokens": 4096, "system": "You are brief.", "tools": TOOLS, **settings}
    cities, thoughts, said, kinds = [], [], [], []
    while True:
        message = answer(client, {**asked, "messages": history})
        thoughts.append(thinking_of(message))
        said.append(text_of(message))
        kinds.append([block.type for block in message.content])
        history.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        same(message.stop_reason, "tool_use" if calls else "end_turn", "stop_reason")
        if not calls:
            break
        results = []
        for call in calls:
            same(call.name, "get_weather", "name")
            cities.append(call.input["city"])
            results.append({"type": "tool_result", "tool_use_id": call.id, "content": WEATHER[call.input["city"]]})
        history.append({"role": "user", "content": results})
    same(cities, ["Paris", "Rome"], "cities")
    same(said, ["", PREAMBLE, COMPARED], "texts")
    history.append({"role": "user", "content": FOLLOW_UP})
    same(text_of(answer(client, {**asked, "messages": history})), FOLLOWED_UP, "the answer to a further question")
    return thoughts, kinds


THOUGHTS = ["First I need Paris.", "Now I need Rome.", "Both cities are known."]
KINDS = [["thinking", "tool_use"], ["thinking", "text", "tool_use"], ["thinking", "text"]]


def loop(client, model):
    """a loop over tools with thinking, and a further question"""
    same(play(client, model, create, thinking=THINKING), (THOUGHTS, KINDS), "what came")


def loop_of_streams(client, model):
    """the same by streams"""
    same(play(client, model, streamed, thinking=THINKING), (THOUGHTS, KINDS), "what came")


def loop_without_thinking(client, model):
    """the same without thinking: it comes back unread"""
    redacted = [["redacted_thinking", "tool_use"], ["redacted_thinking", "text", "tool_use"], ["text"]]
    same(play(client, model, create), (["", "", ""], redacted), "what came")


def choice(client, model):
    """tool_choice any and tool"""
    for tool_choice in ({"type": "any"}, {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True}):
        message = client.messages.create(
            model=model, max_tokens=4096, messages=[{"role": "user", "content": FORECAST}], tools=TOOLS,
            tool_choice=tool_choice,
        )
        same([b.input for b in message.content if b.type == "tool_use"], [{"city": "Paris"}], f"calls by {tool_choice}")


def late_results(client, model):
    """results in another order than their calls"""
    calls = [{"type": "tool_use", "id": f"toolu_{c}", "name": "get_weather", "input": {"city": c}} for c in WEATHER]
    results = [{"type": "tool_result", "tool_use_id": f"toolu_{c}", "content": [{"type": "text", "text": t + "."}]}
               for c, t in WEATHER.items()]
    message = client.messages.create(
        model=model, max_tokens=4096, tools=TOOLS, messages=[
            {"role": "user", "content": "Compare both, please."},
            {"role": "assistant", "content": calls},
            {"role": "user", "content": results[::-1]},
        ],
    )
    same(message.stop_reason, "end_turn", "stop_reason")
    need(text_of(message), "no answer")

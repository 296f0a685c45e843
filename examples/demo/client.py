"""The client of the demonstration: OpenAI's own, on both of its APIs, with and without a tool.

usage: client.py BASE_URL MODEL
"""

import json
import os
import sys

from openai import OpenAI

COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ
DIM, BOLD, CYAN, PLAIN = ("\x1b[2m", "\x1b[1m", "\x1b[36m", "\x1b[0m") if COLOUR else ("", "", "", "")

HELLO = "Say hello to everyone who watches."
WEATHER = "What is the weather in Paris today?"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "The city"}},
    "required": ["city"],
}


def get_weather(city):
    """The function that the model may call. It runs here, at the client."""
    return json.dumps({"city": city, "celsius": 21, "sky": "clear"})


class Screen:
    """Prints pieces of text as they come, each kind on lines of its own with its name before it."""

    kind = None

    def show(self, kind, text):
        if kind != self.kind:
            self.end()
            self.kind = kind
            style = {"reasoning": DIM, "answer": PLAIN}.get(kind, CYAN)
            sys.stdout.write(f"  {BOLD}{kind:<10}{PLAIN} {style}")
        sys.stdout.write(text)
        sys.stdout.flush()

    def end(self):
        if self.kind:
            sys.stdout.write(PLAIN + "\n")
        self.kind = None

    def line(self, kind, text):
        self.show(kind, text)
        self.end()


screen = Screen()


def title(text):
    print(f"\n{BOLD}{text}{PLAIN}")


# --- POST /v1/chat/completions ---

CHAT_TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The current weather of a city", "parameters": SCHEMA},
}


def chat_turn(client, model, messages, tools):
    """One streamed turn; returns the assistant's message as the history wants it."""
    message = {"role": "assistant", "content": "", "reasoning": "", "tool_calls": []}
    options = {"tools": tools} if tools else {}
    for chunk in client.chat.completions.create(model=model, messages=messages, stream=True, **options):
        delta = chunk.choices[0].delta
        # The API has no place for reasoning; everyone puts it here.
        reasoning = (delta.model_extra or {}).get("reasoning")
        if reasoning:
            message["reasoning"] += reasoning
            screen.show("reasoning", reasoning)
        if delta.content:
            message["content"] += delta.content
            screen.show("answer", delta.content)
        for call in delta.tool_calls or []:
            if call.function.name:
                function = {"name": call.function.name, "arguments": ""}
                message["tool_calls"].append({"id": call.id, "type": "function", "function": function})
                screen.show("calls", call.function.name + " ")
            if call.function.arguments:
                message["tool_calls"][-1]["function"]["arguments"] += call.function.arguments
                screen.show("calls", call.function.arguments)
    screen.end()
    return message


def chat(client, model):
    title("Chat Completions: POST /v1/chat/completions, streamed")
    screen.line("user", HELLO)
    chat_turn(client, model, [{"role": "user", "content": HELLO}], None)

    title("Chat Completions with a tool: the client runs it and sends its result back")
    screen.line("user", WEATHER)
    messages = [{"role": "user", "content": WEATHER}]
    messages.append(chat_turn(client, model, messages, [CHAT_TOOL]))
    for call in messages[-1]["tool_calls"]:
        result = get_weather(**json.loads(call["function"]["arguments"]))
        screen.line("result", result)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    chat_turn(client, model, messages, [CHAT_TOOL])


# --- POST /v1/responses ---

RESPONSES_TOOL = {
    "type": "function",
    "name": "get_weather",
    "description": "The current weather of a city",
    "parameters": SCHEMA,
    "strict": False,
}


def responses_turn(client, model, items, tools):
    """One streamed turn; returns the output items."""
    options = {"tools": tools} if tools else {}
    with client.responses.stream(model=model, input=items, **options) as stream:
        for event in stream:
            if event.type == "response.reasoning_text.delta":
                screen.show("reasoning", event.delta)
            elif event.type == "response.output_text.delta":
                screen.show("answer", event.delta)
            elif event.type == "response.output_item.added" and event.item.type == "function_call":
                screen.show("calls", event.item.name + " ")
            elif event.type == "response.function_call_arguments.delta":
                screen.show("calls", event.delta)
        screen.end()
        return stream.get_final_response()


def responses(client, model):
    title("Responses: POST /v1/responses, streamed")
    screen.line("user", HELLO)
    answer = responses_turn(client, model, [{"role": "user", "content": HELLO}], None)
    usage = answer.usage
    screen.line(
        "usage",
        f"{usage.input_tokens} tokens in, {usage.output_tokens} out, "
        f"{usage.output_tokens_details.reasoning_tokens} of them reasoning",
    )

    title("Responses with a tool")
    screen.line("user", WEATHER)
    items = [{"role": "user", "content": WEATHER}]
    output = responses_turn(client, model, items, [RESPONSES_TOOL]).output
    items += [item.model_dump(exclude_none=True) for item in output]
    for item in output:
        if item.type == "function_call":
            result = get_weather(**json.loads(item.arguments))
            screen.line("result", result)
            items.append({"type": "function_call_output", "call_id": item.call_id, "output": result})
    responses_turn(client, model, items, [RESPONSES_TOOL])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    base_url, model = sys.argv[1:]
    client = OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=60)
    chat(client, model)
    responses(client, model)


if __name__ == "__main__":
    main()

"""Haystack, in front of a gateway. usage: haystack_client.py BASE_URL MODEL TASK"""

import sys

from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from haystack.utils import Secret

url, model, task = sys.argv[1:]
api, what = task.split(" ")
WEATHER = {"Paris": "Paris: 21 degrees", "Rome": "Rome: 25 degrees"}
tool = Tool(
    name="get_weather",
    description="The current weather of a city",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    function=lambda city: WEATHER[city],
)
settings = {"api_key": Secret.from_token("none"), "model": model, "api_base_url": url, "max_retries": 0}
if api == "responses":
    generator = OpenAIResponsesChatGenerator(**settings, generation_kwargs={"store": False})
else:
    generator = OpenAIChatGenerator(**settings)

if what == "stream":
    pieces = []
    generator.run([ChatMessage.from_user("What is an edge?")], streaming_callback=lambda c: pieces.append(c.content or ""))
    print("".join(pieces))
else:
    messages = [ChatMessage.from_user("Compare the weather in Paris and Rome.")]
    while True:
        answer = generator.run(messages, tools=[tool])["replies"][0]
        messages.append(answer)
        if not answer.tool_calls:
            print(answer.text)
            break
        messages += [ChatMessage.from_tool(tool.invoke(**call.arguments), origin=call) for call in answer.tool_calls]

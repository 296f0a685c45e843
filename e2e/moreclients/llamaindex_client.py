"""LlamaIndex, in front of a gateway. usage: llamaindex_client.py BASE_URL MODEL TASK"""

import sys

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike, OpenAILikeResponses

url, model, task = sys.argv[1:]
api, what = task.split(" ")
WEATHER = {"Paris": "Paris: 21 degrees", "Rome": "Rome: 25 degrees"}


def get_weather(city: str) -> str:
    """The current weather of a city"""
    return WEATHER[city]


tool = FunctionTool.from_defaults(get_weather)
settings = {"model": model, "api_base": url, "api_key": "none", "max_retries": 0, "context_window": 100_000}
if api == "responses":
    llm = OpenAILikeResponses(**settings, is_function_calling_model=True)
else:
    llm = OpenAILike(**settings, is_chat_model=True, is_function_calling_model=True)

if what == "stream":
    print("".join(chunk.delta or "" for chunk in llm.stream_chat([ChatMessage("What is an edge?")])))
else:
    messages = [ChatMessage("Compare the weather in Paris and Rome.")]
    while True:
        answer = llm.chat_with_tools([tool], chat_history=messages)
        messages.append(answer.message)
        calls = llm.get_tool_calls_from_response(answer, error_on_no_tool_call=False)
        if not calls:
            print(answer.message.content)
            break
        for call in calls:
            messages.append(
                ChatMessage(
                    role="tool",
                    content=str(tool.call(**call.tool_kwargs)),
                    additional_kwargs={"tool_call_id": call.tool_id},
                )
            )

"""litellm's proxy between openai-python and a gateway. usage: litellm_proxy_client.py BASE_URL MODEL TASK"""

import json
import os
import re
import subprocess
import sys
import threading

from openai import OpenAI

url, model, task = sys.argv[1:]
api, what = task.split(",")[0].split(" ")
WEATHER = {"Paris": "Paris: 21 degrees", "Rome": "Rome: 25 degrees"}
parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
function = {"name": "get_weather", "description": "The current weather of a city", "parameters": parameters}

provider = "openai" if task.endswith(", openai") else "hosted_vllm"
deployment = {"model": f"{provider}/{model}", "api_base": url, "api_key": "none"}
with open("config.yaml", "w") as f:  # JSON is YAML
    json.dump({
        "model_list": [{"model_name": model, "litellm_params": deployment}],
        "general_settings": {"master_key": "sk-none"},
    }, f)
program = os.path.join(os.path.dirname(sys.executable), "litellm")
proxy = subprocess.Popen(
    [program, "--config", "config.yaml", "--host", "127.0.0.1", "--port", "0"],
    env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
)


def address():
    """Returns the proxy's URL once it says that it serves."""
    said = []
    for line in proxy.stdout:
        said.append(line)
        if found := re.search(r"running on (http://127\.0\.0\.1:[1-9]\d*)", line):
            threading.Thread(target=proxy.stdout.read, daemon=True).start()
            return found[1]
    sys.exit("the proxy ended: " + "".join(said))


def chat_stream(client):
    pieces = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "What is an edge?"}], stream=True
    )
    print("".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices))


def chat_tools(client):
    messages = [{"role": "user", "content": "Compare the weather in Paris and Rome."}]
    while True:
        tools = [{"type": "function", "function": function}]
        message = client.chat.completions.create(model=model, messages=messages, tools=tools).choices[0].message
        if not message.tool_calls:
            return print(message.content)
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            city = json.loads(call.function.arguments)["city"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": WEATHER[city]})


def responses_stream(client):
    events = client.responses.create(model=model, input="What is an edge?", stream=True, store=False)
    print("".join(event.delta for event in events if event.type == "response.output_text.delta"))


def responses_tools(client):
    items = [{"role": "user", "content": "Compare the weather in Paris and Rome."}]
    while True:
        tools = [{"type": "function", **function}]
        answer = client.responses.create(model=model, input=items, tools=tools, store=False)
        items += [item.model_dump(exclude_none=True) for item in answer.output]
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return print(answer.output_text)
        for call in calls:
            result = WEATHER[json.loads(call.arguments)["city"]]
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


try:
    client = OpenAI(base_url=address() + "/v1", api_key="sk-none", max_retries=0)
    globals()[f"{api}_{what}"](client)
finally:
    proxy.terminate()
    proxy.wait()

"""Inspect, in front of a gateway. usage: inspect_client.py BASE_URL MODEL TASK"""

import os
import sys
import tempfile

url, model, task = sys.argv[1:]
api, what = task.split(" ")
os.environ.update(EDGE_API_KEY="none", EDGE_BASE_URL=url, INSPECT_LOG_DIR=tempfile.mkdtemp())

from inspect_ai import Task, eval  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.solver import generate, use_tools  # noqa: E402
from inspect_ai.tool import tool  # noqa: E402

WEATHER = {"Paris": "Paris: 21 degrees", "Rome": "Rome: 25 degrees"}


@tool
def get_weather():
    async def execute(city: str) -> str:
        """The current weather of a city

        Args:
            city: the city
        """
        return WEATHER[city]

    return execute


question = "Compare the weather in Paris and Rome." if what == "tools" else "What is an edge?"
solver = [use_tools(get_weather()), generate()] if what == "tools" else generate()
logs = eval(
    Task(dataset=[Sample(input=question)], solver=solver),
    model=f"openai-api/edge/{model}",
    model_args={"responses_api": api == "responses"},
    display="none",
)
print(logs[0].samples[0].output.completion if logs[0].samples else logs[0].error)

"""OpenAI's Agents SDK with its Chat model, in front of a gateway. usage: main.py BASE_URL MODEL"""

from agents import OpenAIChatCompletionsModel
from turns import main

main(OpenAIChatCompletionsModel)

"""OpenAI's Agents SDK with its Responses model, in front of a gateway. usage: responses.py BASE_URL MODEL"""

from agents import OpenAIResponsesModel
from turns import main

main(OpenAIResponsesModel)

"""The question that makes the simulated model call get_weather, and what the function returns."""

import json

from checks import Failed, same

QUESTION = "What is the weather in Paris today?"
RESULT = '{"celsius": 21, "sky": "clear"}'
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "The city"}},
    "required": ["city"],
    "additionalProperties": False,
}


def city_of(arguments):
    try:
        city = json.loads(arguments)["city"]
    except (ValueError, KeyError, TypeError) as e:
        raise Failed(f"the arguments {arguments!r} are not the function's: {e}") from e
    same(city, "Paris", "the argument city")

"""Answers as JSON, beside those of chat.py: the simulated model keeps to the structural tag that it is given."""

import json

from checks import FORECAST, Failed, need, same
from pydantic import BaseModel


class Report(BaseModel):
    """The weather in one city"""

    city: str
    days: list[int]
    mild: bool


def responses_parse(client, model):
    """responses.parse"""
    answer = client.responses.parse(model=model, input=FORECAST, text_format=Report)
    need(isinstance(answer.output_parsed, Report), f"no report: {answer.output_text!r}")
    same(answer.output_parsed.city, "Paris", "the member city")
    same(answer.text.format.name, "Report", "the name of the format")


def responses_stream_parse(client, model):
    """responses.stream with a text_format"""
    with client.responses.stream(model=model, input=FORECAST, text_format=Report) as stream:
        answer = stream.get_final_response()
    need(isinstance(answer.output_parsed, Report), f"no report: {answer.output_text!r}")


def chat_json_object(client, model):
    """chat.completions.create(response_format={"type": "json_object"})"""
    answer = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": FORECAST}], response_format={"type": "json_object"}
    )
    try:
        need(isinstance(json.loads(answer.choices[0].message.content), dict), "the answer is no object")
    except ValueError as e:
        raise Failed(f"the answer is no JSON: {e}") from e

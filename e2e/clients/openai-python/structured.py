"""Forced calls, and answers as JSON of a schema: the simulated model keeps to the structural tag that it is given."""

import json

from chat import CHAT_TOOLS
from checks import Failed, need, same
from pydantic import BaseModel
from weather import QUESTION, city_of


class Report(BaseModel):
    """The weather in one city"""

    city: str
    days: list[int]
    mild: bool


def ask(text=QUESTION):
    return [{"role": "user", "content": text}]


def check_report(report):
    need(isinstance(report, Report), f"no report: {report!r}")
    same(report.city, "Paris", "the member city")


def chat_parse(client, model):
    """chat.completions.parse"""
    answer = client.chat.completions.parse(model=model, messages=ask(), response_format=Report)
    same(answer.choices[0].finish_reason, "stop", "finish_reason")
    check_report(answer.choices[0].message.parsed)


def chat_parse_stream(client, model):
    """chat.completions.stream(response_format=…)"""
    with client.chat.completions.stream(model=model, messages=ask(), response_format=Report) as stream:
        deltas = "".join(event.delta for event in stream if event.type == "content.delta")
        message = stream.get_final_completion().choices[0].message
    check_report(message.parsed)
    same(deltas, message.content, "the deltas together")


def responses_parse(client, model):
    """responses.parse"""
    answer = client.responses.parse(model=model, input=QUESTION, text_format=Report)
    check_report(answer.output_parsed)
    same(answer.text.format.name, "Report", "the name of the format")


def chat_json_object(client, model):
    """chat.completions.create(response_format={"type": "json_object"})"""
    answer = client.chat.completions.create(model=model, messages=ask(), response_format={"type": "json_object"})
    try:
        need(isinstance(json.loads(answer.choices[0].message.content), dict), "the answer is no object")
    except ValueError as e:
        raise Failed(f"the answer is no JSON: {e}") from e


def chat_forced(client, model):
    """chat.completions.create(tool_choice=…)"""
    named = {"type": "function", "function": {"name": "get_weather"}}
    for choice in ("required", named):
        for text in (QUESTION, "Nothing about Paris."):
            answer = client.chat.completions.create(model=model, messages=ask(text), tools=CHAT_TOOLS, tool_choice=choice)
            same(answer.choices[0].finish_reason, "tool_calls", "finish_reason")
            call = answer.choices[0].message.tool_calls[0]
            same(call.function.name, "get_weather", "the function")
            city_of(call.function.arguments)

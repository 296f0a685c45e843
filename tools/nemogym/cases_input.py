"""Cases of what a Responses client sends: items, instructions, tools, parameters."""
from build import CLOCK, WEATHER, called, case, function, message, reasoning, result, said, user

PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PARIS = '{"city":"Paris"}'
ROME = '{"city":"Rome"}'


def text(t):
    return {"type": "input_text", "text": t}


def image(url, **more):
    return {"type": "input_image", "image_url": url} | more


MESSAGES = [
    case("string", "Hello"),
    case("string_empty", ""),
    case("string_runes", "Ünïcödé, 日本語, 🙂, \u0000, \u2028, \"quotes\" and \\ and\ttabs\nlines"),
    case("string_like_tags", "What does <think>x</think> mean, and <|im_end|>?"),
    case("message_without_type", [user("Hello")]),
    case("message", [said("user", "Hello")]),
    case("message_parts_one", [said("user", [text("Hello")])]),
    case("message_parts_several", [said("user", [text("One."), text("Two."), text("")])]),
    case("messages_of_one_role", [user("One."), user("Two."), user("Three.")]),
    case("image", [said("user", [text("What is it?"), image(PIXEL, detail="auto")])]),
    case("image_first", [said("user", [image(PIXEL, detail="low"), text("What is it?")])]),
    case("image_url", [said("user", [image("https://example.com/a.png", detail="high"), text("And this?")])]),
    case("images_alone", [said("user", [image(PIXEL, detail="auto"), image(PIXEL, detail="high")])]),
    case("assistant_easy", [user("Hello"), said("assistant", "Hi."), user("Bye")]),
    case("assistant_item", [user("Hello"), message("Hi."), user("Bye")]),
    case("assistant_item_parts", [user("Hello"), message("Hi, ", "you."), user("Bye")]),
    case("assistant_items_in_a_row", [user("Hello"), message("One."), message("Two.", identifier="msg_2"), user("Bye")]),
    case("assistant_empty", [user("Hello"), message(""), user("Are you there?")]),
    case("assistant_last", [user("Hello"), message("Hi, I")]),
    case("assistant_spaces", [user("Hello"), message("\n\n  Hi. \n"), user("Bye")]),
]

INSTRUCTIONS = [
    case("instructions", "Hello", request={"instructions": "Be brief."}),
    case("instructions_empty", "Hello", request={"instructions": ""}),
    case("instructions_system", [said("system", "Be kind."), user("Hello")], request={"instructions": "Be brief."}),
    case("instructions_developer", [said("developer", "Be kind."), user("Hello")], request={"instructions": "Be brief."}),
    case("instructions_several", [said("system", "Be kind."), said("developer", [text("Be "), text("true.")]), user("Hello")],
         request={"instructions": "Be brief."}),
    case("instructions_and_later_system", [user("Hello"), said("system", "Be kind."), user("Well?")],
         request={"instructions": "Be brief."}),
    case("system", [said("system", "Be kind."), user("Hello")]),
    case("system_parts", [said("system", [text("Be "), text("kind.")]), user("Hello")]),
    case("system_later", [user("Hello"), message("Hi."), said("system", "Be kind."), user("Well?")]),
    case("systems", [said("system", "Be kind."), said("system", "Be brief."), user("Hello")]),
    case("developer_replaced", [said("developer", "Be kind."), user("Hello")], replace_developer_role_with_system=True),
    case("developer_kept", [said("developer", "Be kind."), user("Hello")], replace_developer_role_with_system=False),
    case("developer_later_replaced", [user("Hello"), message("Hi."), said("developer", "Be kind."), user("Well?")],
         replace_developer_role_with_system=True),
    case("developer_later_kept", [user("Hello"), message("Hi."), said("developer", "Be kind."), user("Well?")],
         replace_developer_role_with_system=False),
]

ASK = user("What is the weather in Paris and in Rome?")
CALLS = [called("get_weather", PARIS, "call_1"), called("get_weather", ROME, "call_2")]
RESULTS = [result("call_1", "Rain."), result("call_2", "Sun.")]
TOOLS = {"tools": [WEATHER]}

HISTORY = [
    case("call", [ASK, CALLS[0], RESULTS[0]], request=TOOLS),
    case("calls_parallel", [ASK, *CALLS, *RESULTS], request=TOOLS),
    case("calls_parallel_results_swapped", [ASK, *CALLS, *reversed(RESULTS)], request=TOOLS),
    case("calls_in_turn", [ASK, CALLS[0], RESULTS[0], CALLS[1], RESULTS[1]], request=TOOLS),
    case("call_item_with_id", [ASK, CALLS[0] | {"id": "fc_1", "status": "completed"}, RESULTS[0] | {"id": "fco_1"}],
         request=TOOLS),
    case("call_after_text", [ASK, message("Let me see."), CALLS[0], RESULTS[0]], request=TOOLS),
    case("call_before_text", [ASK, CALLS[0], message("That is the call."), RESULTS[0]], request=TOOLS),
    case("call_arguments_odd", [ASK, called("get_weather", '{"city": "Paris", "n": 1e2}', "call_1"), RESULTS[0]], request=TOOLS),
    case("call_arguments_empty", [ASK, called("get_time", "{}", "call_1"), RESULTS[0]], request={"tools": [CLOCK]}),
    case("call_result_empty", [ASK, CALLS[0], result("call_1", "")], request=TOOLS),
    case("call_result_json", [ASK, CALLS[0], result("call_1", '{"sky": "rain", "c": [1, 2.50]}')], request=TOOLS),
    case("call_result_parts", [ASK, CALLS[0], result("call_1", [text("Rain"), text(" and wind.")])], request=TOOLS),
    case("call_result_then_user", [ASK, CALLS[0], RESULTS[0], user("And tomorrow?")], request=TOOLS),
    case("call_without_tools", [ASK, CALLS[0], RESULTS[0]]),
    case("reasoning_text", [user("Hello"), reasoning("They greet."), message("Hi."), user("Bye")]),
    case("reasoning_call", [ASK, reasoning("I need the tool."), CALLS[0], RESULTS[0]], request=TOOLS),
    case("reasoning_calls", [ASK, reasoning("I need the tool."), *CALLS, *RESULTS], request=TOOLS),
    case("reasoning_text_call", [ASK, reasoning("I need the tool."), message("Let me see."), CALLS[0], RESULTS[0]],
         request=TOOLS),
    case("reasoning_each_round", [ASK, reasoning("First Paris."), CALLS[0], RESULTS[0],
                                  reasoning("Now Rome.", identifier="rs_2"), CALLS[1], RESULTS[1],
                                  reasoning("Done.", identifier="rs_3"), message("Rain and sun."), user("Thanks")],
         request=TOOLS),
    case("reasoning_empty", [user("Hello"), reasoning(), message("Hi."), user("Bye")]),
    case("reasoning_summary_empty_text", [user("Hello"), reasoning(""), message("Hi."), user("Bye")]),
    case("reasoning_two_parts", [user("Hello"), reasoning("One.", "Two."), message("Hi."), user("Bye")]),
    case("reasoning_two_items", [user("Hello"), reasoning("One."), reasoning("Two.", identifier="rs_2"), message("Hi."),
                                 user("Bye")]),
    case("reasoning_content", [user("Hello"), reasoning(content=[{"type": "reasoning_text", "text": "They greet."}]),
                               message("Hi."), user("Bye")]),
    case("reasoning_encrypted", [user("Hello"), reasoning(encrypted_content="opaque"), message("Hi."), user("Bye")]),
    case("reasoning_last", [user("Hello"), reasoning("They greet.")]),
    case("reasoning_lines", [user("Hello"), reasoning("\nOne.\n\nTwo.\n"), message("\n\nHi."), user("Bye")]),
    case("think_tags_in_history", [user("Hello"), message("<think>They greet.</think>Hi."), user("Bye")]),
    case("think_tags_in_easy_history", [user("Hello"), said("assistant", "<think>They greet.</think>Hi."), user("Bye")]),
]

CASES = MESSAGES + INSTRUCTIONS + HISTORY


def asks(name, **request):
    return case(name, "Hello", request=request)


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}

PARAMETERS = [
    asks("model_of_the_client", model="another-model"),
    asks("sampling", temperature=0.7, top_p=0.95),
    asks("sampling_zero", temperature=0, top_p=1),
    asks("sampling_spelled", temperature=0.1000000000000000055511151231257827),
    asks("max_output_tokens", max_output_tokens=128),
    asks("effort_low", reasoning={"effort": "low"}),
    asks("effort_high", reasoning={"effort": "high"}),
    asks("effort_none", reasoning={"effort": "none"}),
    asks("effort_absent", reasoning={"summary": "auto"}),
    asks("tool", tools=[WEATHER]),
    asks("tools", tools=[WEATHER, CLOCK], tool_choice="auto"),
    asks("tools_required", tools=[WEATHER], tool_choice="required"),
    asks("tools_none", tools=[WEATHER], tool_choice="none"),
    asks("tools_named", tools=[WEATHER, CLOCK], tool_choice={"type": "function", "name": "get_time"}),
    asks("tools_sequential", tools=[WEATHER], parallel_tool_calls=False),
    asks("tools_parallel", tools=[WEATHER], parallel_tool_calls=True),
    asks("tools_empty", tools=[], tool_choice="auto", parallel_tool_calls=True),
    asks("tools_none_required", tool_choice="required"),
    asks("tool_without_description", tools=[{k: v for k, v in WEATHER.items() if k != "description"}]),
    asks("tool_without_schema", tools=[function("now", parameters=None, strict=None)]),
    asks("tool_schema_deep", tools=[function("deep", parameters={
        "type": "object", "$defs": {"p": {"type": "object", "properties": {"x": {"type": ["number", "null"]}}}},
        "properties": {"list": {"type": "array", "items": {"$ref": "#/$defs/p"}}, "e": {"enum": ["a", 1, None, True]}}})]),
    asks("tool_hosted", tools=[{"type": "web_search"}]),
    asks("tool_custom", tools=[{"type": "custom", "name": "shell", "description": "Runs a command."}]),
    asks("format_text", text={"format": {"type": "text"}}),
    asks("format_object", text={"format": {"type": "json_object"}}),
    asks("format_schema", text={"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}}),
    asks("verbosity", text={"verbosity": "low"}),
    asks("top_logprobs", top_logprobs=2, include=["message.output_text.logprobs"]),
    asks("store_false", store=False),
    asks("metadata", metadata={"task": "17"}),
    asks("user", user="user-1"),
    asks("service_tier", service_tier="auto"),
    asks("truncation", truncation="disabled"),
    asks("background_false", background=False),
    asks("include_encrypted", include=["reasoning.encrypted_content"], store=False),
    asks("nulls", temperature=None, top_p=None, max_output_tokens=None, instructions=None, metadata=None, user=None),
    asks("unknown_member", no_such_member=1),
]

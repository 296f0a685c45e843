"""Answers as models write them, and answers that are broken, for each form of calls. All were written for this file."""

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": "integer"},
                    "metric": {"type": "boolean"},
                    "at": {"type": ["string", "null"]},
                    "share": {"type": "number"},
                    "list": {"type": "array", "items": {"type": "integer"}},
                    "where": {"type": "object"},
                    "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                    "unit": {"enum": ["c", "f"]},
                },
            },
        },
    },
    {"type": "function", "function": {"name": "time", "parameters": {"type": "object", "properties": {}}}},
]

# Values for a call of weather: by the name of the argument, as the model means it.
VALUES = [
    {"city": "Paris"},
    {"city": 'A "quoted"\nname \\ é 😀', "days": 3},
    {"city": "", "metric": True, "share": 0.5},
    {"list": [1, 2, 3], "where": {"a": {"b": "c }"}}, "at": None},
    {"either": 5, "unit": "c"},
    {"city": "5", "either": "five"},
    {"city": "<b>bold</b> & more", "days": -1},
    {"city": "a\n\nb\n", "unknown": "x"},
    {},
]


def outer(form, calls):
    """Returns the calls as a form writes them."""
    import json

    texts = []
    for name, arguments in calls:
        texts.append(CALLS[form](name, arguments, json.dumps(arguments, ensure_ascii=False)))
    before, between, after = AROUND.get(form, ("", "\n", ""))
    return before + between.join(texts) + after


def tagged(value):
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def qwen(name, arguments, _):
    parts = [f"<parameter={key}>\n{tagged(value)}\n</parameter>\n" for key, value in arguments.items()]
    return f"<tool_call>\n<function={name}>\n{''.join(parts)}</function>\n</tool_call>"


def glm(name, arguments, _):
    parts = [
        f"<arg_key>{key}</arg_key>\n<arg_value>{tagged(value)}</arg_value>\n" for key, value in arguments.items()
    ]
    return f"<tool_call>{name}\n{''.join(parts)}</tool_call>"


def dsml(name, arguments, _):
    parts = [
        f'<｜DSML｜parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{tagged(value)}'
        "</｜DSML｜parameter>\n"
        for key, value in arguments.items()
    ]
    return f'<｜DSML｜invoke name="{name}">\n{"".join(parts)}</｜DSML｜invoke>'


CALLS = {
    "hermes": lambda name, _, text: f'<tool_call>\n{{"name": "{name}", "arguments": {text}}}\n</tool_call>',
    "qwen3_coder": qwen,
    "glm45": glm,
    "kimi_k2": lambda name, _, text: (
        f"<|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{text}<|tool_call_end|>"
    ),
    "deepseek_v3": lambda name, _, text: (
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{text}\n```<｜tool▁call▁end｜>"
    ),
    "deepseek_v31": lambda name, _, text: f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{text}<｜tool▁call▁end｜>",
    "deepseek_v32": dsml,
    "mistral": lambda name, _, text: f"[TOOL_CALLS]{name}{text}",
    "llama3_json": lambda name, _, text: f'{{"name": "{name}", "parameters": {text}}}',
}

AROUND = {
    "kimi_k2": ("<|tool_calls_section_begin|>", "", "<|tool_calls_section_end|>"),
    "deepseek_v3": ("<｜tool▁calls▁begin｜>", "\n", "<｜tool▁calls▁end｜>"),
    "deepseek_v31": ("<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"),
    "deepseek_v32": ("<｜DSML｜function_calls>\n", "\n", "\n</｜DSML｜function_calls>"),
    "mistral": ("", "", ""),
    "llama3_json": ("", "; ", ""),
}

# Answers of a form that are broken or odd, after those that every form has.
ODD = {
    "hermes": [
        '<tool_call>{"name":"time","arguments":{}}',
        '<tool_call>{"arguments":{"city":"a"},"name":"weather"}</tool_call>',
        '<tool_call>{"name":"time","arguments":{}}}</tool_call>',
        '<tool_call>{"name":"time"}</tool_call>',
        '<tool_call>{"name":"weather","arguments":"{\\"city\\":\\"a\\"}"}</tool_call>',
        '<tool_call>{"name":"weather","arguments":{"city":"a"</tool_call>',
        "<tool_call>no call</tool_call>",
        "What <tool_call> means",
        '<tool_call>{"name":"time","arguments":{}}</tool_call>\nDone.',
        '<tool_call>{"type":"function","function":{"name":"time","arguments":{}}}</tool_call>',
        "<tool_call>\n<function=time>\n</function>\n</tool_call>",
        "a </tool_call> b",
    ],
    "qwen3_coder": [
        "<function=time>\n</function>",
        "<tool_call>\n<function=weather>\n<parameter=city>\na\n</function>\n</tool_call>",
        "<tool_call>\n<function=weather>\n<parameter=city>\na\n<parameter=days>\n2\n</parameter>\n</function>\n"
        "</tool_call>",
        "<tool_call>\n<function=weather>\n<parameter=city>\na\n</parameter>\n</tool_call>",
        "<tool_call>\n<function=weather>\n<parameter=metric>\nTrue\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>\n<function=weather>\n<parameter=days>\nfive\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>\n<function=weather>\n<parameter=list>\n[1, 2\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>\n<function=weather>\nNow:\n<parameter=city>\na\n</parameter>\n</function>\n</tool_call>",
        '<tool_call>\n<function=weather>\n{"city": "a"}\n</function>\n</tool_call>',
        "<tool_call>\n<function=weather>\n<parameter=city>\nuse </tool_call> here\n</parameter>\n</function>\n"
        "</tool_call>",
        "<tool_call>no call</tool_call>",
        '<tool_call>{"name":"time","arguments":{}}</tool_call>',
        "a </function> b",
    ],
    "glm45": [
        "<tool_call>time</tool_call>",
        "<tool_call>weather<arg_key>city</arg_key></tool_call>",
        "<tool_call>weather<arg_key>city</arg_key><arg_value>a</tool_call>",
        "<tool_call>is a mark</tool_call>",
        "<tool_call>unknown</tool_call>",
        "<tool_call>weather\n<arg_key>days</arg_key>\n<arg_value>five</arg_value>\n</tool_call>",
    ],
    "kimi_k2": [
        "<|tool_call_begin|>functions.time:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>time<|tool_call_argument_begin|>{}<|tool_call_end|>"
        "<|tool_calls_section_end|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.time:0<|tool_call_argument_begin|>"
        "<|tool_call_end|><|tool_calls_section_end|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.time:0<|tool_call_argument_begin|>{}"
        "<|tool_calls_section_end|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.time:0<|tool_call_argument_begin|>a b"
        "<|tool_call_end|><|tool_calls_section_end|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.time:0<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>Done.",
        "<|tool_calls_section_begin|>no call<|tool_calls_section_end|>",
    ],
    "deepseek_v3": [
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\n  "city": "a"\n}\n```'
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ],
    "deepseek_v31": [
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\n "city": "a"\n}<｜tool▁call▁end｜>'
        "<｜tool▁calls▁end｜>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>time<｜tool▁sep｜>{}<｜tool▁calls▁end｜>",
    ],
    "deepseek_v32": [
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n<｜DSML｜parameter name="city">a</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n<｜DSML｜parameter name="days" string="true">5'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="time">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>Done.',
        '<｜DSML｜invoke name="time">\n</｜DSML｜invoke>',
    ],
    "mistral": [
        '[TOOL_CALLS]time[ARGS]{}[TOOL_CALLS]weather[ARGS]{"city": "a"}',
        "[TOOL_CALLS]time{} Done.",
        '[TOOL_CALLS] [{"name": "time", "arguments": {}}, {"name": "weather", "arguments": {"city": "a"}}]',
        '[TOOL_CALLS]weather[ARGS]{"city": "a"',
    ],
    "llama3_json": [
        '<|python_tag|>{"name": "time", "parameters": {}}',
        '{"name": "time", "arguments": {}}',
        '{"name": "Bob", "age": 3}',
        '{"name": "unknown", "parameters": {}}',
        'I call {"name": "time", "parameters": {}}',
        '{"type": "function", "name": "time", "parameters": {}}',
    ],
}


# The forms whose parsers are asked without reasoning.
UNTHINKING = ("mistral", "llama3_json")


def answers(form):
    """Yields texts in a form."""
    for value in VALUES:
        yield outer(form, [("weather", value)])
    yield outer(form, [("time", {}), ("weather", {"city": "a"}), ("time", {})])
    if form != "llama3_json":
        yield "Let me see.\n\n" + outer(form, [("weather", {"city": "a"})])
    if form not in UNTHINKING:
        yield "<think>Hm.\n</think>\n\n" + outer(form, [("weather", {"city": "a"})])
        yield "<think>Hm.</think>I look.\n" + outer(form, [("time", {})])
        yield "<think>Hm.</think>\n\nHi."
    if form in ("hermes", "qwen3_coder", "glm45", "kimi_k2"):
        yield "<think>Hm.\n" + outer(form, [("weather", {"city": "a"})])
    yield "Just text, with <b>tags</b> and [brackets] and {braces}."
    yield ""
    yield from ODD[form]

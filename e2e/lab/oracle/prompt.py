"""Renders API requests with the reference implementation, apart from our own code.

JSON lines in: {"api": "chat"|"responses"|"messages", "body": {...}, "date": "YYYY-MM-DD"|null, "effort": "medium",
"drop_commentary": false, "context": 131072,
"history": {"calls": "sampled", "results": "template"}, "prefill": bool}, where context is how many tokens the model takes and prefill says that a named function's call is begun by the prompt; or
{"api": "conversation", "body": {...}} with a conversation in the reference's own JSON.
JSON lines out: {"ids": [...], "text": "..."}.

The translation here is a second reading of the same rules (../docs, vLLM's practice), on purpose not shared with the
filter: system message, then a developer message with instructions and tools, then the history. Analysis before the
last final answer of the assistant is left out.
"""

import json
import pathlib
import re
import sys

from openai_harmony import (
    Author,
    Conversation,
    DeveloperContent,
    HarmonyEncodingName,
    Message,
    ReasoningEffort,
    RenderConversationConfig,
    Role,
    SystemContent,
    TextContent,
    ToolDescription,
    ToolNamespaceConfig,
    load_harmony_encoding,
)

class Names(dict):
    """The names of calls by their ids. Calls of one id, before a result of it, get their results in order."""

    def __init__(self):
        super().__init__()
        self.taken = set()

    def __setitem__(self, call_id, name):
        waiting = self.get(call_id, []) if call_id not in self.taken else []
        self.taken.discard(call_id)
        super().__setitem__(call_id, waiting + [name])

    def take(self, call_id):
        self.taken.add(call_id)
        waiting = self[call_id]
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]


EFFORTS = {
    "none": ReasoningEffort.LOW,  # as the case that allows it maps it
    "minimal": ReasoningEffort.LOW,
    "xhigh": ReasoningEffort.HIGH,
    "max": ReasoningEffort.HIGH,
    "low": ReasoningEffort.LOW,
    "medium": ReasoningEffort.MEDIUM,
    "high": ReasoningEffort.HIGH,
}


def flat(content):
    """The text of a string, a list of parts, or nothing."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(read(part) for part in content)


# What stands in the place of a part that is no text.
UNREADABLE = {"image_url": "image", "input_image": "image", "input_audio": "audio", "file": "file", "input_file": "file"}


def read(part):
    """The text of one part."""
    if part["type"] in UNREADABLE:
        return "[" + UNREADABLE[part["type"]] + " omitted: this model reads text only]"
    return part.get("text", part.get("refusal", "")) or ""


def parts(content):
    """The same as separate texts: the format tokenizes each content item by itself."""
    if isinstance(content, list):
        return [TextContent(text=flat([part])) for part in content]
    return [TextContent(text=flat(content))]


def assistant(channel, content):
    return Message.from_role_and_contents(Role.ASSISTANT, parts(content)).with_channel(channel)


def user(content, name=None):
    message = Message.from_role_and_contents(Role.USER, parts(content))
    if name:
        message.author = Author.new(Role.USER, name)
    return message


def call(name, arguments):
    return (
        assistant("commentary", arguments)
        .with_recipient("functions." + name)
        .with_content_type("json")
    )


def custom_call(name, text):
    return assistant("commentary", text).with_recipient("functions." + name)


def result(name, text):
    author = Author.new(Role.TOOL, "functions." + name)
    message = Message.from_author_and_content(author, text)
    return message.with_recipient("assistant").with_channel("commentary")


# What can be called of each of the model's own tools.
BUILT_INS = {
    "browser": ("browser.search", "browser.open", "browser.find"),
    "container": ("container.exec",),
    "python": ("python",),
}
# The reference has no container: what the model is told of it is the gateway's own.
DESCRIBED = pathlib.Path(__file__).resolve().parents[3] / "harmonycore" / "harmony" / "builtin.json"


def built_ins(body):
    """The names of the declared built-in tools."""
    return [t["name"] for t in body.get("tools") or [] if t["type"] == "builtin"]


def with_built_ins(system, body):
    """The system message with the built-in tools that the model is shown."""
    for _, t in shown([(None, t) for t in body.get("tools") or []], body.get("tool_choice")):
        if t == {"type": "builtin", "name": "browser"}:
            system = system.with_browser_tool()
        elif t == {"type": "builtin", "name": "python"}:
            system = system.with_python_tool()
        elif t["type"] == "builtin":
            system = system.with_tools(ToolNamespaceConfig(**json.loads(DESCRIBED.read_text("utf-8"))[t["name"]]))
    return system


def own_call(recipient, text):
    return assistant("analysis", text).with_recipient(recipient).with_content_type("code")


def own_result(recipient, text):
    message = Message.from_author_and_content(Author.new(Role.TOOL, recipient), text)
    return message.with_recipient("assistant").with_channel("analysis")


def response_format(form):
    """The section of the developer message that shows the form of the answer; Chat nests what it says of it."""
    if not form or form["type"] == "text":
        return ""
    form = form.get("json_schema") or form
    name = form.get("name") or form["type"]
    about = "".join("// " + line + "\n" for line in (form.get("description") or "").splitlines())
    schema = form.get("schema", {"type": "object"})
    text = json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
    return "# Response Formats\n\n## " + name + "\n\n" + about + text


def guided(body):
    """The form of the answer by the parameters that servers have for it; what is no JSON is not shown."""
    asked = body.get("structured_outputs") or {}
    schema = asked.get("json") or body.get("guided_json")
    if schema:
        return {"type": "json", "schema": json.loads(schema) if isinstance(schema, str) else schema}
    return {"type": "json_object"} if asked.get("json_object") else None


def developer(instructions, tools, form="", about=None):
    contents = []
    if instructions or tools:
        content = DeveloperContent.new()
        if instructions:
            content = content.with_instructions(instructions)
        if tools:
            content = content.with_tools(ToolNamespaceConfig(name="functions", description=about, tools=tools))
        contents.append(content)
    if form:
        contents.append(TextContent(text="\n\n" + form if contents else form))
    return Message.from_role_and_contents(Role.DEVELOPER, contents)


def shown(tools, choice):
    """The tools that the model is shown, out of pairs of which the second is one as the client declared it."""
    if choice == "none":
        return []
    if isinstance(choice, dict) and choice["type"] == "allowed_tools":
        allowed = choice.get("allowed_tools", choice)["tools"]
        return [(n, t) for n, t in tools if any(kind_and_name(t) == kind_and_name(a) for a in allowed)]
    return tools


def kind_and_name(declared):
    """What identifies a tool among others, and a choice of it."""
    return declared["type"], declared.get(declared["type"], declared).get("name")


def named(choice):
    """The function that a tool choice names."""
    if isinstance(choice, dict) and choice["type"] in ("function", "custom"):
        return choice.get(choice["type"], choice)["name"]
    return None


def tool(function):
    return ToolDescription.new(
        function["name"], function.get("description") or "", function.get("parameters")
    )


def custom_tool(custom):
    about = custom.get("description") or ""
    form = custom.get("format") or {}
    if form.get("type") == "grammar":
        form = form.get("grammar", form)
        says = {
            "regex": "The whole input matches this regular expression:",
            "lark": "The input keeps to this Lark grammar:",
        }[form["syntax"]]
        about = "\n\n".join(filter(None, [about, says + "\n" + form["definition"]]))
    return ToolDescription.new(custom["name"], about, {"type": "string"})


def local_shell(_):
    """The API's own tool, as a function of what its action has."""
    text = {"type": "string"}
    return ToolDescription.new(
        "local_shell",
        "Runs a command on the user's machine and returns its output."
        ' For a shell\'s syntax the command is a shell: ["bash", "-lc", "ls | wc -l"].',
        {
            "type": "object",
            "properties": {
                "command": {"type": "array", "items": text, "description": "The program and its arguments."},
                "timeout_ms": {"type": "integer", "description": "After how many milliseconds it is given up."},
                "working_directory": text | {"description": "Where it runs."},
                "env": {"type": "object", "additionalProperties": text},
                "user": text | {"description": "Whom it runs as."},
            },
            "required": ["command"],
        },
    )


def chat_tool(declared):
    if declared["type"] == "custom":
        return custom_tool(declared["custom"])
    return tool(declared["function"])


def reasoning_of(message):
    for key in ("reasoning", "reasoning_content", "thinking"):
        if isinstance(message.get(key), str) and message[key]:
            return message[key]
    details = message.get("reasoning_details") or []
    texts = [d["text"] for d in details if d["type"] == "reasoning.text"]
    return "".join(texts) or "\n\n".join(d["summary"] for d in details if d["type"] == "reasoning.summary")


def chat(body):
    messages = list(body["messages"])
    instructions = []
    while messages and messages[0]["role"] in ("system", "developer"):
        instructions.append(flat(messages.pop(0)["content"]))
    tools = [chat_tool(t) for _, t in shown([(None, t) for t in body.get("tools") or []], body.get("tool_choice"))]
    form = response_format(body.get("response_format") or guided(body))
    out = []
    if any(instructions) or tools or form:
        out.append(developer("\n\n".join(instructions), tools, form))
    names = Names()
    for m in messages:
        role, text = m["role"], flat(m.get("content"))
        if role in ("system", "developer"):
            out += [developer(text, [])] if text else []
        elif role == "user":
            out.append(user(m["content"], m.get("name")))
        elif role == "tool":
            out.append(result(names.take(m["tool_call_id"]), text))
        else:
            calls = m.get("tool_calls") or []
            reasoning = reasoning_of(m)
            if reasoning:
                out.append(assistant("analysis", reasoning))
            said = (parts(m.get("content")) if text else []) + parts(m["refusal"] if m.get("refusal") else [])
            if said:
                message = Message.from_role_and_contents(Role.ASSISTANT, said)
                out.append(message.with_channel("commentary" if calls else "final"))
            for c in calls:
                called = c[c.get("type", "function")]
                names[c["id"]] = called["name"]
                if c.get("type") == "custom":
                    out.append(custom_call(called["name"], called["input"]))
                else:
                    out.append(call(called["name"], called["arguments"]))
    template = body.get("chat_template_kwargs") or {}
    asked = (body.get("reasoning") or {}).get("effort")
    return out, body.get("reasoning_effort") or asked or template.get("reasoning_effort")


# The items of tools that the API knows by itself: the function that they are shown as, and where its arguments are.
OWN_CALLS = {
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
    "web_search_call": ("web_search", "action"),
}
OWN_OUTPUTS = ("local_shell_call_output", "shell_call_output", "apply_patch_call_output")


def packed(value):
    """A string as it is, and anything else as JSON without white space."""
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def declared_tools(tools):
    """The tools of the Responses API that the model can be shown, each with its namespace; a local shell is one, and so is a
    built-in tool."""
    out = []
    for t in tools:
        if t["type"] == "namespace":
            out += [(None if t["name"] == "functions" else t["name"], inner) for inner in t["tools"]]
        elif t["type"] in ("function", "custom", "builtin") or t["type"] == "local_shell" and (None, t) not in out:
            out.append((None, t))
        elif is_search(t):
            out.append((None, {"name": "tool_search", **t}))
    return out


def is_search(t):
    """A search for tools that the client runs."""
    return t["type"] == "tool_search" and t.get("execution") == "client"


DECLARING = ("additional_tools", "tool_search_output")


def loaded(found):
    """A tool that a search has found is hidden no more."""
    if found["type"] == "namespace":
        return {**found, "tools": [loaded(t) for t in found["tools"]]}
    return {k: v for k, v in found.items() if k != "defer_loading"}


def found_in(item):
    """The tools that an item declares."""
    return [loaded(t) if item["type"] == "tool_search_output" else t for t in item["tools"]]


class Declared:
    """The tools of a request: those in front, and those that stand among the items."""

    def __init__(self, body):
        self.choice = body.get("tool_choice")
        every = list(body.get("tools") or [])
        if isinstance(body["input"], list):
            every += [t for i in body["input"] if i.get("type") in DECLARING for t in i["tools"]]
        self.searching = any(is_search(t) for t in every)
        self.names, self.used, self.last, self.begun = {}, set(), {}, False

    def offered(self, tools):
        """The tools that the model is shown, without those that it has been shown already as they are."""
        pairs = [(n, t) for n, t in declared_tools(tools) if not (self.searching and t.get("defer_loading"))]
        fresh = []
        for namespace, t in shown(pairs, self.choice):
            if self.last.get((namespace, t.get("name", t["type"]))) != t:
                self.last[namespace, t.get("name", t["type"])] = t
                fresh.append((namespace, t))
        return fresh

    def name(self, namespace, name):
        namespace = None if namespace == "functions" else namespace
        return self.names.get((namespace, name), name)

    def name_all(self, offered):
        """Names the first tools, and then those that come later: they change no name."""
        first, self.begun = not self.begun, True
        again = [t.get("name", t["type"]) for _, t in offered]
        if first:
            self.used |= set(again)
        for namespace, t in offered:
            name = t.get("name", t["type"])
            if (namespace, name) in self.names:
                continue
            taken = again.count(name) > 1 and namespace if first else name in self.used
            if taken:
                base = f"{namespace}__{name}" if namespace else name
                tried = [base] + [f"{base}_{n}" for n in range(2, len(self.used) + 3)]
                self.names[namespace, name] = next(t for t in tried if t not in self.used)
            else:
                self.names[namespace, name] = name
            self.used.add(self.names[namespace, name])

    def descriptions(self, tools):
        """The tools as the reference prints them, and what it says of all."""
        offered = self.offered(tools)
        self.name_all(offered)
        made = []
        for namespace, t in offered:
            if t["type"] == "builtin":
                continue
            makes = {"function": tool, "custom": custom_tool, "local_shell": local_shell, "tool_search": tool}
            one = makes[t["type"]](t)
            one.name = self.name(namespace, one.name)
            made.append(one)
        return made, namespaces_say(tools, offered, self.name)


def namespaces_say(tools, offered, name_of):
    """What the namespaces say of themselves, each with the tools of it that are shown."""
    lines = []
    for t in tools:
        if t["type"] == "namespace" and t.get("description"):
            name = None if t["name"] == "functions" else t["name"]
            inside = [name_of(namespace, inner["name"]) for namespace, inner in offered if namespace == name]
            if inside:
                lines.append(f"{t['name']} ({', '.join(inside)}): {t['description']}")
    return "\n".join(lines) or None


# What the model gets for a conversation that another service has compacted.
ENCRYPTED = "[A part of this message was encrypted by another service and cannot be read here.]"
COMPACTED = "[An earlier part of this conversation was compacted by another service and cannot be read here.]"


def updated(body):
    """The request with the effort and the form of the answer of the last items that change them beside the input."""
    if isinstance(body["input"], str):
        return body
    body = dict(body)
    for item in body["input"]:
        if item.get("type") == "configuration_update":
            for name, member in (("reasoning", "effort"), ("text", "format")):
                value = (item.get(name) or {}).get(member)
                if value is not None:
                    body[name] = {**(body.get(name) or {}), member: value}
    return body


def responses(body):
    body = updated(body)
    own = {recipient for name in built_ins(body) + body.get("own", []) for recipient in BUILT_INS[name]}
    form = response_format((body.get("text") or {}).get("format") or guided(body))
    items = body["input"]
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    items = list(items)
    instructions = [body["instructions"]] if body.get("instructions") else []
    declared = Declared(body)
    front = list(body.get("tools") or [])
    while items and (items[0].get("role") in ("system", "developer") or items[0].get("type") in DECLARING):
        item = items.pop(0)
        if item.get("type") in DECLARING:
            front += found_in(item)
        else:
            instructions.append(flat(item["content"]))
    tools, about = declared.descriptions(front)
    name_of = declared.name
    out = []
    if instructions or tools or form:
        out.append(developer("\n\n".join(instructions), tools, form, about))
    names = Names()
    for position, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "reasoning":
            text = "".join(p["text"] for p in item.get("content") or item.get("summary") or [])
            if text:
                out.append(assistant("analysis", text))
        elif kind in ("function_call", "custom_tool_call") and not item.get("namespace") and item["name"] in own:
            names[item["call_id"]] = item["name"]
            out.append(own_call(item["name"], item.get("arguments", item.get("input"))))
        elif kind == "function_call":
            names[item["call_id"]] = name = name_of(item.get("namespace"), item["name"])
            out.append(call(name, item["arguments"]))
        elif kind == "custom_tool_call":
            names[item["call_id"]] = name = name_of(item.get("namespace"), item["name"])
            out.append(custom_call(name, item["input"]))
        elif kind in ("compaction", "context_compaction", "compaction_summary"):
            out.append(user(COMPACTED))
        elif kind == "agent_message":
            parts = [p.get("text", p.get("encrypted_content")) for p in item["content"]]
            out.append(user("".join(ENCRYPTED if p.startswith("gAAAAA") else p for p in parts)))
        elif kind in ("function_call_output", "custom_tool_call_output") and item.get("call_id") is None:
            name = name_of(item.get("namespace"), item["name"])
            out.append(result(name, flat(item["output"])))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            name = names.take(item["call_id"])
            out.append((own_result if name in own else result)(name, flat(item["output"])))
        elif kind in OWN_CALLS:
            name, asked = OWN_CALLS[kind]
            if name == "local_shell" and isinstance(item[asked], dict):
                # As the model wrote it: an action has every member, and a type.
                kept = {k: v for k, v in item[asked].items() if k != "type" and v is not None and (k, v) != ("env", {})}
                item = {**item, asked: kept}
            names[item.get("call_id")] = name
            if asked in item:
                out.append(call(name, packed(item[asked])))
            if kind == "web_search_call" and asked in item:
                out.append(result(name, item["status"]))
        elif kind in OWN_OUTPUTS:
            text = packed(item["output"]) if "output" in item else item["status"]
            if item.get("status") == "failed" and "output" in item:
                text = "failed\n" + text
            out.append(result(names.take(item.get("call_id") or item["id"]), text))
        elif kind == "tool_search_call":
            names[item.get("call_id")] = "tool_search"  # a server's search has none
            out.append(call("tool_search", packed(item["arguments"])))
        elif kind in DECLARING:
            if kind == "tool_search_output" and item.get("call_id") in names:
                n = len(declared_tools(item["tools"]))
                text = {0: "No tools were found.", 1: "1 tool was found. It can be called from now on."}.get(
                    n, f"{n} tools were found. They can be called from now on.")
                out.append(result(names.take(item.get("call_id")), text))
            tools, about = declared.descriptions(found_in(item))
            if tools:
                out.append(developer("", tools, "", about))
        elif kind == "mcp_call":
            out.append(call(item["name"], item["arguments"]))
            returned = [item[key] for key in ("error", "output", "status") if item.get(key) is not None]
            out.append(result(item["name"], packed(returned[0])))
        elif kind == "message":
            text = flat(item["content"])
            if item["role"] in ("system", "developer"):
                out.append(developer(text, []))
            elif item["role"] == "user":
                out.append(user(item["content"]))
            else:
                # Many clients drop the phase: then a text is a preamble if a call comes next.
                rest = [i.get("type", "message") for i in items[position + 1:] if i.get("type") != "reasoning"]
                preamble = item["phase"] == "commentary" if item.get("phase") else rest[:1] and rest[0].endswith("_call")
                out.append(assistant("commentary" if preamble else "final", item["content"]))
    return out, (body.get("reasoning") or {}).get("effort")


def text_blocks(content):
    """The blocks of a content, which may be a text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def messages(body):
    """A request to Anthropic's Messages, as one to Responses."""
    system = [b["text"] for b in text_blocks(body.get("system"))]
    system = [t for t in system if t and not t.startswith("x-anthropic-billing-header:")]
    items, deferred = [], {t["name"]: t for t in body.get("tools") or [] if t.get("defer_loading")}
    for m in body["messages"]:
        items += said_in(m, deferred)
    as_function = lambda t: {"type": "function", "name": t["name"], "description": t.get("description"),
                             "parameters": t["input_schema"]}
    for item in items:
        if item.get("type") == "additional_tools":
            item["tools"] = [as_function(t) for t in item["tools"]]
    tools = [as_function(t) for t in body.get("tools") or [] if t["name"] not in deferred]
    effort = (body.get("output_config") or {}).get("effort")
    if (body.get("thinking") or {}).get("type") == "disabled":
        effort = "none"
    choice = body.get("tool_choice") or {"type": "auto"}
    choice = {"type": "function", "name": choice["name"]} if choice["type"] == "tool" else choice["type"]
    # A search that a server has run is a call of the model's browser, declared or not.
    return {"instructions": "\n\n".join(system), "input": items, "tools": tools, "tool_choice": choice,
            "reasoning": {"effort": effort}, "own": ["browser"]}


def said_in(m, deferred):
    """The items of one message."""
    items, blocks = [], text_blocks(m["content"])
    if m["role"] == "system":
        texts = [b["text"] if b["type"] == "text" else
                 f"functions.{b['tool']['name']} is no longer available. Do not call it."
                 for b in blocks if b["type"] in ("text", "tool_removal")]
        return [{"role": "system", "content": "\n\n".join(texts)}]
    calls = [i for i, b in enumerate(blocks) if b["type"] in ("tool_use", "server_tool_use", "mcp_tool_use")]
    for i, b in enumerate(blocks):
        if b["type"] == "text":
            phase = {"phase": "commentary" if calls and i < calls[-1] else "final_answer"}
            items.append({"role": m["role"], "content": b["text"], **(phase if m["role"] == "assistant" else {})})
        elif b["type"] == "thinking":
            items.append({"type": "reasoning", "content": [{"text": b["thinking"]}]})
        elif b["type"] in ("tool_use", "server_tool_use", "mcp_tool_use"):
            name = "browser.search" if b["type"] == "server_tool_use" else b["name"]
            items.append({"type": "function_call", "call_id": b["id"], "name": name, "arguments": packed(b["input"])})
        elif b["type"] in ("web_search_tool_result", "mcp_tool_result"):
            found = b["content"]
            if isinstance(found, dict):
                text = "Error: " + found["error_code"]
            else:
                text = "".join(c["text"] if c["type"] == "text" else f"{c['title']}\n{c['url']}\n" for c in found)
            items.append({"type": "function_call_output", "call_id": b["tool_use_id"], "output": text})
        elif b["type"] == "tool_result":
            found = [c["tool_name"] for c in b.get("content") or [] if isinstance(c, dict) and c["type"] == "tool_reference"]
            text = "".join(c.get("text", "") for c in text_blocks(b.get("content")))
            if b.get("is_error") and not text.startswith(("Error", "<tool_use_error>")):
                text = "Error:\n" + text
            if found:
                text += "1 tool was found. It can be called from now on."
            items.append({"type": "function_call_output", "call_id": b["tool_use_id"], "output": text})
            if found:
                items.append({"type": "additional_tools", "tools": [deferred[name] for name in found]})
    return items


def without_old_analysis(messages):
    last = -1
    for position, m in enumerate(messages):
        if m.author.role == Role.ASSISTANT and m.channel == "final":
            last = position
    return [m for position, m in enumerate(messages) if m.channel != "analysis" or position > last]


def conversation_of(case):
    """The conversation that a request asks for, or that the case itself is."""
    if case["api"] == "conversation":
        return Conversation.from_json(json.dumps(case["body"]))
    history, effort = (chat if case["api"] == "chat" else responses)(case["body"])
    system = SystemContent.new().with_reasoning_effort(EFFORTS[effort or case["effort"]])
    if case.get("date"):
        system = system.with_conversation_start_date(case["date"])
    system = with_built_ins(system, case["body"])
    history = without_old_analysis(history)
    if case.get("drop_commentary"):
        history = [m for m in history if m.channel != "commentary" or m.recipient]
    messages = [Message.from_role_and_content(Role.SYSTEM, system)] + history
    return Conversation.from_messages(messages)


def without_oldest_turn(items):
    """The items behind the next user's message at which no call waits for its result, or None if there is none."""
    head = 0
    while head < len(items) and items[head].get("role") in ("system", "developer"):
        head += 1
    for at in range(head + 1, len(items)):
        called = {i["call_id"] for i in items[head:at] if i.get("type") == "function_call"}
        waiting = any(i.get("type") == "function_call_output" and i["call_id"] in called for i in items[at:])
        if items[at].get("role") == "user" and not waiting:
            return items[:head] + items[at:]
    return None


CALL = re.compile(r"<\|start\|>assistant to=([^ <]+)<\|channel\|>(\w+)( \w+)?<\|message\|>")
RESULT = re.compile(r"<\|start\|>([^ <]+) to=assistant<\|channel\|>(\w+)<\|message\|>")
START, MESSAGE = 200006, 200008


def as_sampled(header, forms):
    """A header as the model itself writes it: the channel, then who is called, and JSON behind its own token."""
    call, result = CALL.fullmatch(header), RESULT.fullmatch(header)
    if call and forms["calls"] == "sampled":
        kind = {None: "", " json": " <|constrain|>json"}.get(call[3], call[3])
        return f"<|start|>assistant<|channel|>{call[2]} to={call[1]}{kind}<|message|>"
    if result and forms["results"] == "sampled":
        return f"<|start|>{result[1]}<|channel|>{result[2]} to=assistant<|message|>"
    return None


def in_forms(ids, forms, encoding):
    """The ids with the headers of calls and results in these forms. The reference has the order of the template only."""
    out, at = [], 0
    while at < len(ids):
        if ids[at] == START and MESSAGE in ids[at:]:
            end = ids.index(MESSAGE, at) + 1
            written = as_sampled(encoding.decode(ids[at:end]), forms)
            out += encoding.encode(written, allowed_special="all") if written else ids[at:end]
            at = end
        else:
            out.append(ids[at])
            at += 1
    return out


def rendered(case, encoding, config):
    """The ids of the prompt, however long."""
    ids = encoding.render_conversation_for_completion(conversation_of(case), Role.ASSISTANT, config)
    return in_forms(ids, case.get("history") or {"calls": "template", "results": "template"}, encoding)


def prompt_of(case, encoding):
    """The prompt, of which turn after turn goes if the request says so and it does not fit."""
    config = RenderConversationConfig(auto_drop_analysis=False)
    room = 1
    while True:
        ids = rendered(case, encoding, config)
        body = case["body"]
        if body.get("truncation") != "auto" or len(ids) + room <= case["context"]:
            return ids
        quarter = case["context"] // 4
        room = max(1, min(body.get("max_output_tokens") or quarter, quarter))
        rest = without_oldest_turn(body["input"])
        if rest is None:
            return ids
        case = {**case, "body": {**body, "input": rest}}


def main():
    encoding = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
    for line in sys.stdin:
        case = json.loads(line)
        if case["api"] == "messages":
            case = {**case, "api": "responses", "body": messages(case["body"])}
        ids = prompt_of(case, encoding)
        function = named(case["body"].get("tool_choice"))
        if case["prefill"] and function:
            json_type = "" if case["body"]["tool_choice"]["type"] == "custom" else " <|constrain|>json"
            header = "<|channel|>commentary to=functions." + function + json_type + "<|message|>"
            ids += encoding.encode(header, allowed_special="all")
        print(json.dumps({"ids": ids, "text": encoding.decode(ids)}), flush=True)


if __name__ == "__main__":
    main()

"""OpenAI's own client with tools of MCP servers that a gateway's responses service calls.

usage: tools.py BASE_URL MODEL, with the URL of an MCP server in MCP_SERVER
"""

import os

import openai
from checks import DENIED, ECHO, ECHOED, PAID, PAY, SEARCH, Failed, need, run, same
from openai.types import responses
from stored import connect, streamed_events, whole

SERVER = os.environ["MCP_SERVER"]


def mcp(**more):
    return {"type": "mcp", "server_label": "bank", "server_url": SERVER, "require_approval": "never", **more}


def by_events(client, **asked):
    return streamed_events(client, **asked)[-1].response


def by_helper(client, **asked):
    with client.responses.stream(**asked) as stream:
        for _ in stream:
            pass
        return stream.get_final_response()


WAYS = (whole, by_events, by_helper)


def called(client, model):
    """a call of an MCP tool: whole, streamed, by responses.stream"""
    for ask in WAYS:
        response = ask(client, model=model, input=ECHO, tools=[mcp()])
        same([item.type for item in response.output], ["mcp_list_tools", "reasoning", "mcp_call", "message"], "items")
        listed, _, call, _ = response.output
        need("echo" in [tool.name for tool in listed.tools], f"the tools are {listed.tools}")
        same((call.name, call.status, call.error), ("echo", "completed", None), "name, status and error of the call")
        same((call.output, response.output_text), ("a banana", ECHOED), "the tool's text and the answer")
        stored = client.responses.retrieve(response.id)
        same([item.id for item in stored.output], [item.id for item in response.output], "the stored items")
        same((stored.output_text, stored.usage), (ECHOED, response.usage), "the stored text and usage")


def events(client, model):
    """the events of a call"""
    seen = streamed_events(client, model=model, input=ECHO, tools=[mcp()])
    kinds = [e.type.removeprefix("response.") for e in seen if "mcp" in e.type]
    same(
        kinds,
        ["mcp_list_tools.in_progress", "mcp_list_tools.completed", "mcp_call.in_progress", "mcp_call_arguments.delta"]
        + ["mcp_call_arguments.done", "mcp_call.completed"],
        "events",
    )
    same([e.sequence_number for e in seen], list(range(len(seen))), "sequence numbers")


def approved(client, model):
    """an approval, and a denial, by previous_response_id"""
    for ask in WAYS:
        tools = [mcp(require_approval="always")]
        for approve, text in ((True, PAID), (False, DENIED)):
            first = ask(client, model=model, input=PAY, tools=tools)
            request = first.output[-1]
            same((request.type, request.name, first.status), ("mcp_approval_request", "pay", "completed"), "a request")
            answer = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": approve}
            second = ask(client, model=model, input=[answer], tools=tools, previous_response_id=first.id)
            calls = [item for item in second.output if item.type == "mcp_call"]
            same([c.approval_request_id for c in calls], [request.id] if approve else [], "calls")
            same(second.output_text, text, "the answer")


def chained(client, model):
    """a chain, and the same items sent by the client"""
    first = whole(client, model=model, input=ECHO, tools=[mcp()])
    second = whole(client, model=model, input=ECHO, tools=[mcp()], previous_response_id=first.id)
    same([item.type for item in second.output], ["reasoning", "mcp_call", "message"], "items of the second turn")
    history = [{"role": "user", "content": ECHO}, *(item.to_dict() for item in first.output), {"role": "user", "content": ECHO}]
    third = whole(client, model=model, input=history, tools=[mcp()], store=False)
    same([item.type for item in third.output], ["reasoning", "mcp_call", "message"], "items of a turn that is sent whole")
    same(third.usage.input_tokens, second.usage.input_tokens, "input tokens of both")
    kinds = [item.type for item in client.responses.input_items.list(second.id, order="asc")]
    same(kinds, ["message", "mcp_list_tools", "reasoning", "mcp_call", "message", "message"], "input items")


def searched(client, model):
    """a search for a tool of an MCP server, and its call; the library's types take both items strictly"""
    tools = [{"type": "tool_search"}, mcp(defer_loading=True)]
    for ask in WAYS:
        response = ask(client, model=model, input=SEARCH, tools=tools)
        kinds = ["mcp_list_tools", "tool_search_call", "tool_search_output", "mcp_call", "message"]
        same([item.type for item in response.output], kinds, "items")
        same((response.output[3].name, response.output_text), ("echo", ECHOED), "the call and the answer")
        call, output = response.output[1:3]
        for item, kind in ((call, responses.ResponseToolSearchCall), (output, responses.ResponseToolSearchOutputItem)):
            need(type(item) is kind, f"{type(item)}")
            kind.model_validate_json(item.to_json(), strict=True)
            same((item.execution, item.call_id, item.status), ("server", None, "completed"), kind.__name__)
        same(call.arguments, {"query": "echo", "limit": 1}, "arguments")
        need(type(output.tools[0]) is responses.NamespaceTool, f"{output.tools}")
        same([(t.name, [f.name for f in t.tools]) for t in output.tools], [("bank", ["echo"])], "tools")
        same([tool.type for tool in response.tools], ["tool_search", "mcp"], "the tools that are echoed")
        history = [{"role": "user", "content": SEARCH}, *(item.to_dict() for item in response.output)]
        again = ask(client, model=model, input=[*history, {"role": "user", "content": ECHO}], tools=tools, store=False)
        same([item.type for item in again.output], ["reasoning", "mcp_call", "message"], "items with what was found")


def not_listed(client, model):
    """a server that cannot be listed is an APIStatusError with status 424"""
    try:
        whole(client, model=model, input=ECHO, tools=[mcp(server_url=SERVER.replace("/mcp", "/nothing"))])
    except openai.APIStatusError as e:
        same((e.status_code, e.code, e.param, e.type), (424, "http_error", "tools", "external_connector_error"), "the error")
    else:
        raise Failed("no error")


def not_allowed(client, model):
    """a server that the operator does not allow is a BadRequestError"""
    try:
        whole(client, model=model, input=ECHO, tools=[mcp(server_url="http://169.254.169.254/mcp")])
    except openai.BadRequestError as e:
        need(e.param, f"no param: {e}")
    else:
        raise Failed("no error")


run("openai", openai.__version__, [called, events, approved, chained, searched, not_listed, not_allowed], connect)

"""OpenAI's Agents SDK with HostedMCPTool, in front of a gateway whose responses service calls the tools.

usage: tools.py BASE_URL MODEL, with the URL of an MCP server in MCP_SERVER
"""

import os

import turns
from agents import (
    HostedMCPTool,
    OpenAIConversationsSession,
    OpenAIResponsesModel,
    Runner,
    ToolSearchTool,
    function_tool,
    set_tracing_disabled,
    tool_namespace,
)
from agents.version import __version__
from checks import DENIED, ECHO, ECHOED, PAID, PAY, SEARCH, need, run, same
from turns import WAYS, agent, connect, wait

SERVER = os.environ["MCP_SERVER"]


def hosted(approve=None, **more):
    """The tool. approve answers requests for approvals; without it calls need none."""
    asked = []

    def answer(request):
        asked.append((request.data.name, request.data.arguments))
        return {"approve": approve} if approve else {"approve": False, "reason": "Ann is rich."}

    needs = "never" if approve is None else "always"
    config = {"type": "mcp", "server_label": "bank", "server_url": SERVER, "require_approval": needs, **more}
    return asked, HostedMCPTool(tool_config=config, on_approval_request=None if approve is None else answer)


def kinds(result):
    return [item.type for item in result.new_items if item.type != "reasoning_item"]


def called(client, model):
    """HostedMCPTool: one run has the list, the call and the answer, whole and streamed"""
    for ask in WAYS:
        result = wait(ask(agent(client, model, tools=[hosted()[1]]), ECHO))
        same(result.final_output, ECHOED, "final output")
        same(kinds(result), ["mcp_list_tools_item", "tool_call_item", "message_output_item"], "items")
        same(result.context_wrapper.usage.requests, 1, "requests")
        calls = [item.raw_item for item in result.new_items if item.type == "tool_call_item"]
        same([(c.name, c.output) for c in calls], [("echo", "a banana")], "calls")


def further(client, model):
    """a further run with the items of the first, and with previous_response_id"""
    for ask in WAYS:
        guide = agent(client, model, tools=[hosted()[1]])
        first = wait(ask(guide, ECHO))
        again = wait(ask(guide, [*first.to_input_list(), {"role": "user", "content": ECHO}]))
        chained = wait(ask(guide, ECHO, previous_response_id=first.last_response_id))
        for result in (again, chained):
            same((result.final_output, kinds(result)), (ECHOED, ["tool_call_item", "message_output_item"]), "a further run")


@function_tool(defer_loading=True)
def echo(text: str) -> str:
    """Echoes a text."""
    return text


def searched(client, model):
    """ToolSearchTool: a deferred function of a namespace is found, and runs here"""
    tools = [*tool_namespace(name="bank", description="A bank.", tools=[echo]), ToolSearchTool()]
    for ask in WAYS:
        result = wait(ask(agent(client, model, tools=tools), SEARCH))
        same(result.final_output, ECHOED, "final output")
        search = ["tool_search_call_item", "tool_search_output_item"]
        same(kinds(result), [*search, "tool_call_item", "tool_call_output_item", "message_output_item"], "items")


def approvals(client, model):
    """on_approval_request: approved and denied, with the items, by previous_response_id and in a session"""
    for ask in WAYS:
        for approve, text in ((True, PAID), (False, DENIED)):
            for more in ({}, {"auto_previous_response_id": True}, {"session": OpenAIConversationsSession(openai_client=client)}):
                asked, tool = hosted(approve)
                result = wait(ask(agent(client, model, tools=[tool]), PAY, **more))
                same(result.final_output, text, f"final output with {more}")
                same(asked, [("pay", '{"amount":2}')], "requests for approvals")
                made = [item.raw_item for item in result.new_items if item.type == "tool_call_item"]
                same([c.output for c in made], ["2 paid"] if approve else [], "calls")


def interrupted(client, model):
    """an approval by the state of a run that was interrupted"""
    _, tool = hosted(True)
    tool.on_approval_request = None
    guide = agent(client, model, tools=[tool])
    result = wait(Runner.run(guide, PAY))
    need(len(result.interruptions) == 1, f"interruptions: {result.interruptions}")
    state = result.to_state()
    state.approve(result.interruptions[0])
    same(wait(Runner.run(guide, state)).final_output, PAID, "final output")


turns.kind = OpenAIResponsesModel
set_tracing_disabled(True)
run("openai-agents", __version__, [called, further, searched, approvals, interrupted], connect)

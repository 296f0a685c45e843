"""OpenAI's Agents SDK with its Responses model, in front of a gateway. usage: responses.py BASE_URL MODEL"""

from agents import LocalShellTool, OpenAIResponsesModel, Runner
from checks import COUNT, COUNTED, LISTED, same
from turns import agent, collect, main, wait


def local_shell(client, model):
    """LocalShellTool, whole and streamed"""
    ran = []

    def execute(request):
        ran.append(request.data.action)
        return LISTED

    async def go():
        result = Runner.run_streamed(guide, COUNT)
        await collect(result)
        return result

    guide = agent(client, model, tools=[LocalShellTool(executor=execute)])
    for result in (wait(Runner.run(guide, COUNT)), wait(go())):
        same(result.final_output, COUNTED, "final output")
    same([(a.command, a.env, a.timeout_ms) for a in ran], [(["ls", "-1"], {"LC_ALL": "C"}, None)] * 2, "commands")


main(OpenAIResponsesModel, local_shell)

"""Asks a gateway whose server fails, through clients for Python, and prints what their users see.

usage: clients.py BASE_URL CLIENT ...

No environment has all of these clients, so each imports its own.
"""

import asyncio
import logging
import sys
import warnings

MODEL = "gpt-oss-120b"


def haystack(url, chat):
    from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.utils import Secret

    of = OpenAIChatGenerator if chat else OpenAIResponsesChatGenerator
    client = of(
        api_key=Secret.from_token("none"), model=MODEL, api_base_url=url, streaming_callback=lambda _: None, max_retries=0
    )
    return client.run([ChatMessage.from_user("Hi")])["replies"][0].text


def llama_index(url, chat):
    from llama_index.core.llms import ChatMessage
    from llama_index.llms.openai_like import OpenAILike, OpenAILikeResponses

    more = {"is_chat_model": True} if chat else {}
    client = (OpenAILike if chat else OpenAILikeResponses)(
        model=MODEL, api_base=url, api_key="none", max_retries=0, context_window=8000, **more
    )
    return [piece.message.content for piece in client.stream_chat([ChatMessage(role="user", content="Hi")])][-1]


def agno(url, chat):
    from agno.agent import Agent
    from agno.models.openai import OpenAIResponses
    from agno.models.openai.like import OpenAILike

    client = (OpenAILike if chat else OpenAIResponses)(id=MODEL, base_url=url, api_key="none", max_retries=0)
    events = list(Agent(model=client).run("Hi", stream=True, stream_events=True))
    failed = [e.content for e in events if e.event == "RunError"]
    return f"an event RunError: {failed[0]}" if failed else events[-1].content


def strands(url, chat):
    from strands import Agent
    from strands.models.openai import OpenAIModel
    from strands.models.openai_responses import OpenAIResponsesModel

    client = (OpenAIModel if chat else OpenAIResponsesModel)(
        client_args={"base_url": url, "api_key": "none", "max_retries": 0}, model_id=MODEL
    )
    return str(Agent(model=client, callback_handler=None)("Hi"))


def openai_agents(url, chat):
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    async def run():
        client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        model = (OpenAIChatCompletionsModel if chat else OpenAIResponsesModel)(model=MODEL, openai_client=client)
        result = Runner.run_streamed(Agent(name="a", model=model), "Hi")
        async for _ in result.stream_events():
            pass
        return result.final_output

    return asyncio.run(run())


def langchain(url, chat):
    from langchain_openai import ChatOpenAI

    client = ChatOpenAI(base_url=url, api_key="none", model=MODEL, use_responses_api=not chat, max_retries=0)
    return "".join(str(piece.content) for piece in client.stream("Hi"))


CLIENTS = {
    "openai-agents 0.24.0": openai_agents,
    "LangChain 1.7.3": langchain,
    "LlamaIndex 0.8.1": llama_index,
    "Haystack 3.4.1": haystack,
    "Agno 3.1.10": agno,
    "Strands 1.62.0": strands,
}


def main(url, names):
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    for name in names:
        for api in ("Responses", "Chat"):
            try:
                seen = f"no error: {str(CLIENTS[name](url, api == 'Chat'))[:60]!r}"
            except Exception as e:
                seen = f"raises {type(e).__name__}: {str(e)[:60]}"
            print(f"{name:22} {api:10} {seen}", flush=True)


main(sys.argv[1], sys.argv[2:])

"""OpenAI's Agents SDK with its WebSocket model, in front of a gateway with a store. usage: websocket.py BASE_URL MODEL"""

import logging

from agents import ModelSettings, OpenAIResponsesWSModel, Runner
from agents.models.openai_responses import ResponsesWebSocketError
from checks import COMPARE, COMPARED, FOLLOW_UP, FOLLOWED_UP, HELLO, Failed, same
from turns import agent, asked, cancelled, get_weather, main, wait


def refused(client, model):
    """a refused request is ResponsesWebSocketError"""
    logging.disable()  # the SDK logs the error before it raises it
    try:
        wait(Runner.run(agent(client, model + "-that-is-not-there"), HELLO))
    except ResponsesWebSocketError as e:
        same((e.code, e.payload["status"]), ("model_not_found", 404), "code and status")
    else:
        raise Failed("no error")
    finally:
        logging.disable(logging.NOTSET)


def continued(client, model):
    """previous_response_id, without and with a store"""
    for store in (False, True):
        asked.clear()
        guide = agent(client, model, tools=[get_weather])
        guide.model_settings = ModelSettings(store=store)
        result = wait(Runner.run(guide, COMPARE, auto_previous_response_id=True))
        same((result.final_output, asked), (COMPARED, ["Paris", "Rome"]), f"final output and cities with store={store}")
        result = wait(Runner.run(guide, FOLLOW_UP, previous_response_id=result.last_response_id))
        same(result.final_output, FOLLOWED_UP, f"answer to a further question with store={store}")


def left(client, model):
    """RunResultStreaming.cancel"""
    # With a timeout the SDK waits by asyncio.wait_for, which loses a cancellation in Python 3.11 and earlier.
    cancelled(client.with_options(timeout=None), model)


main(OpenAIResponsesWSModel, continued, wrong_request=refused, cancelled=left)

"""Anthropic's own client, which checks every answer against its types, in front of a gateway. usage: main.py BASE_URL MODEL"""

import anthropic
import failures
import messages
import tools
from anthropic import Anthropic
from checks import run

CHECKS = [
    messages.whole,
    messages.without_thinking,
    messages.stream,
    messages.helper,
    messages.structured,
    messages.counted,
    messages.models,
    messages.keys,
    tools.loop,
    tools.loop_of_streams,
    tools.loop_without_thinking,
    tools.choice,
    tools.late_results,
    failures.unknown_model,
    failures.wrong_role,
    failures.too_long,
    failures.server_refuses,
    failures.error_within_stream,
    failures.cut_stream,
    failures.cancelled_stream,
]


def connect(url):
    return Anthropic(
        base_url=url.removesuffix("/v1"), auth_token="none", _strict_response_validation=True, max_retries=0, timeout=60
    )


run("anthropic", anthropic.__version__, CHECKS, connect)

"""Anthropic's own client, which checks every answer against its types, searches the web. usage: messages.py URL MODEL"""

import sys

from anthropic import Anthropic

client = Anthropic(
    base_url=sys.argv[1], auth_token="none", _strict_response_validation=True, max_retries=0, timeout=60
)
asked = {
    "model": sys.argv[2],
    "max_tokens": 2000,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 8}],
}
question = [{"role": "user", "content": "What is tea?"}]
whole = client.messages.create(messages=question, **asked)
with client.messages.stream(messages=question, **asked) as events:
    for _ in events:
        pass
    streamed = events.get_final_message()
for message in (whole, streamed):
    print([block.type for block in message.content])
    text = message.content[-1]
    print(text.text, [(c.type, c.title, c.url) for c in text.citations])
    for block in message.content:
        if block.type == "web_search_tool_result":
            print([(page.title, page.url) for page in block.content])
    usage = message.usage
    print(message.stop_reason, usage.server_tool_use.web_search_requests, usage.input_tokens > 0, usage.output_tokens > 0)
# A turn that goes on, with the blocks as the client has them.
again = question + [
    {"role": "assistant", "content": streamed.content[:-1]},
    {"role": "user", "content": "Go on."},
]
print(client.messages.create(messages=again, **asked).content[-1].text)

"""Adds up the chunks of streams as openai-python does: a JSON list of chunks in each line in, a completion out.

openai-python forgets vLLM's `stop_reason` of a choice, which is copied here.
"""

import json
import sys

from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

for line in sys.stdin:
    state = ChatCompletionStreamState()
    stop_reasons = {}
    for chunk in json.loads(line):
        state.handle_chunk(ChatCompletionChunk.construct(**chunk))
        for choice in chunk["choices"]:
            if "stop_reason" in choice:
                stop_reasons[choice["index"]] = choice["stop_reason"]
    completion = state.current_completion_snapshot.to_dict(mode="json", warnings=False)
    for choice in completion["choices"]:
        if choice["index"] in stop_reasons:
            choice["stop_reason"] = stop_reasons[choice["index"]]
    print(json.dumps(completion))

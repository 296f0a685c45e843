"""Adds up the chunks of streams as openai-python does. Each line in is a JSON list of chunks, each line out a completion."""

import json
import sys

from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

for line in sys.stdin:
    state = ChatCompletionStreamState()
    for chunk in json.loads(line):
        state.handle_chunk(ChatCompletionChunk.construct(**chunk))
    print(json.dumps(state.current_completion_snapshot.to_dict(mode="json", warnings=False)))

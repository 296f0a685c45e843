"""What the reference (openai-harmony 0.0.8, or oss-harmony 0.0.11 in its own environment) does with a conversation or a token stream, in the lines of docs/vectors.md."""
import json
import os

import openai_harmony as oh
from openai_harmony import openai_harmony as native

STATES = {"ExpectStart": 0, "Header": 1, "Content": 2}
EOS = -1  # in a stream's tokens: the end of the stream is told here, and then it goes on


def load():
    if "TIKTOKEN_ENCODINGS_BASE" not in os.environ:
        raise SystemExit("set TIKTOKEN_ENCODINGS_BASE to the folder of o200k_base.tiktoken")
    return oh.load_harmony_encoding(oh.HarmonyEncodingName.HARMONY_GPT_OSS)


def outcome(call):
    try:
        return call()
    except ValueError as error:
        return failure("ValueError", error)
    except RuntimeError as error:
        return failure("HarmonyError", error)


def failure(kind, error):
    return {"error": {"class": kind, "message": str(error)}}


def render(encoding, case):
    inner, text = encoding._inner, case["conversation_json"]
    config = None if case["auto_drop_analysis"] is None else {"auto_drop_analysis": case["auto_drop_analysis"]}
    case["completion"] = outcome(lambda: inner.render_conversation_for_completion(text, case["next_role"], config))
    case["training"] = shorten(case["completion"], outcome(lambda: inner.render_conversation_for_training(text, config)))
    case["plain"] = shorten(case["completion"], outcome(lambda: inner.render_conversation(text, config)))
    if "message_json" in case:
        case["message"] = shorten(case["completion"], outcome(lambda: inner.render(case["message_json"], None)))
    return case


def shorten(base, ids):
    """How many ids to keep of base, and those that follow; "same" for an error that is base's."""
    if isinstance(ids, dict):
        return "same" if ids == base else ids
    keep = 0
    if isinstance(base, list):
        while keep < min(len(base), len(ids)) and base[keep] == ids[keep]:
            keep += 1
    return [keep, ids[keep:]]


def observe(parser):
    state = json.loads(parser.state)["state"]
    return [STATES[state], parser.current_role, parser.current_channel, parser.current_recipient,
            parser.current_content_type, parser.last_content_delta]


def parse(encoding, case):
    parser = native.PyStreamableParser(encoding._inner, case["role"], case["strict"])
    steps, content = [], ""

    def step(token):
        """One observation, or an error and the observation behind it."""
        nonlocal content
        message = None
        try:
            parser.process_eos() if token == EOS else parser.process(token)
        except RuntimeError as error:
            message = str(error)
        seen = observe(parser)
        content = content + (seen[5] or "") if seen[0] == STATES["Content"] and (message is None and token != EOS) else ""
        # The deltas are compared, so the content is too.
        assert parser.current_content == content, (case, len(steps), content)
        return message, seen

    failed = False
    for token in case["tokens"]:
        steps.append(step(token))
        failed = failed or steps[-1][0] is not None
        if failed and not case["resume"]:
            break
    fed = [t for t in case["tokens"][:len(steps)] if t != EOS]
    assert list(parser.tokens) == fed, case
    if not failed or case["resume"]:
        steps.append(step(EOS))
        case["ended"] = True
    case["steps"] = compact(steps)
    case["messages"] = json.loads(parser.messages)
    return case


def compact(steps):
    out, before = [], None
    for message, seen in steps:
        if message is not None:
            out.append({"error": message} if seen == before else {"error": message, "after": seen})
        elif seen != before:
            delta_only = before is not None and seen[:5] == before[:5] and seen[5] is not None
            out.append(seen[5] if delta_only else seen)
        elif out and isinstance(out[-1], int):
            out[-1] += 1
        else:
            out.append(1)
        before = seen
    return out


def spelled(case):
    """A line: a conversation stands in it as it is spelled, where that is JSON and one line."""
    text = case.get("conversation_json")
    rest = {k: v for k, v in case.items() if k != "conversation_json"}
    body = json.dumps(rest, ensure_ascii=False, separators=(",", ":"))
    if text is None:
        return body
    if embeds(text):
        return '{"conversation":' + text + "," + body[1:]
    return '{"conversation_json":' + json.dumps(text, ensure_ascii=False) + "," + body[1:]


def embeds(text):
    """Other readers of JSON take it as well, and it stays on its line."""
    if text != text.strip() or any(bad in text for bad in ("\n", "\r", "NaN", "Infinity")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

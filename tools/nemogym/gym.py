"""Runs NeMo Gym's VLLMModel without a server: its web application, with a client in it that records and answers."""
import asyncio
import copy
import itertools
import json
import types
from unittest import mock

import httpx
import nemo_gym.responses_converter as converter
import nemo_gym.server_utils as server_utils
import responses_api_models.vllm_model.app as app
from aiohttp.client_exceptions import ClientResponseError

NOW = 1_700_000_000
PATHS = {"responses": "/v1/responses", "chat": "/v1/chat/completions"}
FIXED = {
    "host": "127.0.0.1", "port": 1, "entrypoint": "", "name": "policy_model",
    "base_url": "http://127.0.0.1:2/v1", "api_key": "none", "model": "Qwen/Qwen3-30B-A3B",
    "return_token_id_information": False, "uses_reasoning_parser": True,
}


class Server:
    """Stands in for a vLLM server: it keeps what it is asked, and gives the prepared answer."""

    def __init__(self):
        self.asked = []
        self.answer = None

    async def create_chat_completion(self, **body):
        self.asked.append({"path": "/v1/chat/completions", "body": copy.deepcopy(body)})
        if "status" in self.answer:
            failed = ClientResponseError(mock.MagicMock(), (), status=self.answer["status"])
            failed.response_content = json.dumps(self.answer["body"]).encode()
            raise failed
        return {k: v for k, v in copy.deepcopy(self.answer).items() if k != "tokenize"}

    async def create_tokenize(self, **body):
        self.asked.append({"path": "/tokenize", "body": copy.deepcopy(body)})
        return {"tokens": self.answer["tokenize"]}


def start(settings):
    """Returns the application of a VLLMModel with these settings, and its server."""
    count = itertools.count(1)
    converter.uuid4 = lambda: types.SimpleNamespace(hex=f"{next(count):032x}")
    app.time = lambda: NOW
    server_utils.get_global_config_dict = lambda **_: {}
    client = mock.MagicMock(spec=server_utils.ServerClient, global_config_dict={})
    model = app.VLLMModel(config=app.VLLMModelConfig(**(FIXED | settings)), server_client=client)
    server = Server()
    model._clients = [server]
    return model.setup_webserver(), server


async def ask(application, path, body):
    """Returns status and body of an answer, and for an exception the status 500 and the exception's name."""
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://gym") as client:
        try:
            response = await client.post(path, json=body)
        except Exception as e:  # whatever the application raises
            return 500, {"raised": type(e).__name__}
    # The texts of validation errors are pydantic's, and no part of what is compared.
    return response.status_code, response.json() if response.status_code == 200 else {"raised": "ValidationError"}


def grown(api, past, turn, body):
    """Returns the input of the next turn: what was said so far, the answer, and what the client adds."""
    if body is None:
        return turn
    if api == "chat":
        return past + [body["choices"][0]["message"]] + turn
    if isinstance(past, str):
        past = [{"role": "user", "content": past}]
    return past + body["output"] + turn


def vector(case):
    """Asks a VLLMModel turn by turn, and returns the case with what it asked its server and what it answered."""
    application, server = start(case["settings"])
    member = {"responses": "input", "chat": "messages"}[case["api"]]
    turns, past, body = [], None, None
    for turn, answer in case["turns"]:
        past = grown(case["api"], past, turn, body)
        server.asked, server.answer = [], answer
        status, body = asyncio.run(ask(application, PATHS[case["api"]], case["request"] | {member: past}))
        turns.append({member: turn, "answer": answer, "sent": server.asked, "status": status, "response": body})
    return {k: case[k] for k in ("name", "api", "settings", "request")} | {"turns": turns}


def keys():
    """Returns the names of a VLLMModel's keys."""
    return list(app.VLLMModelConfig.model_fields)

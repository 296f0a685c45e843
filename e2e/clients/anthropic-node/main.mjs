// Anthropic's client for JavaScript in front of a gateway. usage: main.mjs BASE_URL MODEL. ANTHROPIC_PACKAGE is the package.
import assert from "node:assert/strict";
import { env } from "node:process";
import { COMPARE, COMPARED, DESCRIPTION, FOLLOW_UP, FOLLOWED_UP, FORECAST, HELLO, PREAMBLE, WEATHER, helloAnswer, run } from "../checks.mjs";

const name = env.ANTHROPIC_PACKAGE ?? "@anthropic-ai/sdk";
const { default: Anthropic } = await import(name);

const connect = (url, options) => new Anthropic({ baseURL: url.replace(/\/v1$/, ""), authToken: "none", apiKey: null, maxRetries: 0, timeout: 60_000, ...options });
const thinking = { type: "enabled", budget_tokens: 1024 };
const ask = (model, settings) => ({ model, max_tokens: 4096, messages: [{ role: "user", content: HELLO }], ...settings });
const kindsOf = (message) => message.content.map((block) => block.type);
const textOf = (message) => message.content.filter((block) => block.type === "text").map((block) => block.text).join("");
const thinkingOf = (message) => message.content.filter((block) => block.type === "thinking").map((block) => block.thinking).join("");
const readTokens = (usage) => usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;

function checkHello(message, model, kinds) {
  const { type, role, stop_reason, stop_sequence, usage } = message;
  assert.deepEqual({ type, role, model: message.model, stop_reason, stop_sequence },
    { type: "message", role: "assistant", model, stop_reason: "end_turn", stop_sequence: null });
  assert.deepEqual(kindsOf(message), kinds);
  helloAnswer(textOf(message), readTokens(usage));
  const thoughts = usage.output_tokens_details.thinking_tokens;
  assert(thoughts > 0 && thoughts < usage.output_tokens, `${thoughts} of ${usage.output_tokens} tokens are thinking`);
  if (kinds.includes("thinking")) assert(message.content[0].thinking && message.content[0].signature);
}

async function whole(url, model) {
  const message = await connect(url).messages.create(ask(model, { system: "Be short.", thinking }));
  checkHello(message, model, ["thinking", "text"]);
  assert(message._request_id, "no request-id");
}

async function withoutThinking(url, model) {
  for (const settings of [{}, { thinking: { type: "disabled" } }]) {
    checkHello(await connect(url).messages.create(ask(model, settings)), model, ["text"]);
  }
}

/** Adds a stream's events up, and checks their order. */
async function added(events) {
  let message, open = false, last;
  for await (const event of events) {
    last = event.type;
    switch (event.type) {
      case "message_start":
        assert(!message);
        message = structuredClone(event.message);
        assert.deepEqual(message.content, []);
        break;
      case "content_block_start":
        assert(!open && event.index === message.content.length);
        open = true;
        message.content.push({ ...event.content_block, json: "" });
        break;
      case "content_block_delta": {
        assert(open && event.index === message.content.length - 1);
        const block = message.content.at(-1);
        const { type, text, thinking, signature, partial_json } = event.delta;
        if (type === "text_delta") block.text += text;
        else if (type === "thinking_delta") block.thinking += thinking;
        else if (type === "signature_delta") block.signature += signature;
        else if (type === "input_json_delta") block.json += partial_json;
        else assert.fail(`a delta ${type}`);
        break;
      }
      case "content_block_stop":
        assert(open && event.index === message.content.length - 1);
        open = false;
        break;
      case "message_delta":
        Object.assign(message, event.delta, { usage: { ...message.usage, ...event.usage } });
        break;
      default:
        assert.equal(event.type, "message_stop");
    }
  }
  assert.equal(last, "message_stop");
  for (const block of message.content) {
    if (block.type === "tool_use") block.input = JSON.parse(block.json);
    delete block.json;
  }
  return message;
}

async function stream(url, model) {
  checkHello(await added(await connect(url).messages.create(ask(model, { thinking, stream: true }))), model, ["thinking", "text"]);
}

async function streamHelper(url, model) {
  const deltas = [];
  const message = await connect(url).messages.stream(ask(model, { thinking })).on("text", (text) => deltas.push(text)).finalMessage();
  checkHello(message, model, ["thinking", "text"]);
  assert.equal(deltas.join(""), textOf(message));
  assert(deltas.length > 1, "the answer came in one piece");
}

const tools = [{
  name: "get_weather", description: DESCRIPTION,
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
}];
const thoughts = ["First I need Paris.", "Now I need Rome.", "Both cities are known."];
const kinds = [["thinking", "tool_use"], ["thinking", "text", "tool_use"], ["thinking", "text"]];
const redacted = [["redacted_thinking", "tool_use"], ["redacted_thinking", "text", "tool_use"], ["text"]];

/** A loop over tools whose history is what came, and a question behind it. */
const toolLoop = (answer, settings, wantThoughts, wantKinds) => async (url, model) => {
  const client = connect(url);
  const messages = [{ role: "user", content: COMPARE }];
  const cities = [], came = [], said = [], thought = [];
  const next = () => answer(client.messages, { model, max_tokens: 4096, system: "You are brief.", tools, messages, ...settings });
  for (;;) {
    const message = await next();
    came.push(kindsOf(message));
    said.push(textOf(message));
    thought.push(thinkingOf(message));
    messages.push({ role: "assistant", content: message.content });
    const calls = message.content.filter((block) => block.type === "tool_use");
    assert.equal(message.stop_reason, calls.length > 0 ? "tool_use" : "end_turn");
    if (calls.length === 0) break;
    cities.push(...calls.map(({ input }) => input.city));
    messages.push({ role: "user", content: calls.map(({ id, input }) => ({ type: "tool_result", tool_use_id: id, content: WEATHER[input.city] })) });
  }
  assert.deepEqual(cities, ["Paris", "Rome"]);
  assert.deepEqual(said, ["", PREAMBLE, COMPARED]);
  assert.deepEqual([thought, came], [wantThoughts, wantKinds]);
  messages.push({ role: "user", content: FOLLOW_UP });
  assert.equal(textOf(await next()), FOLLOWED_UP);
};

async function toolChoice(url, model) {
  for (const tool_choice of [{ type: "any" }, { type: "tool", name: "get_weather", disable_parallel_tool_use: true }]) {
    const { content } = await connect(url).messages.create({ model, max_tokens: 4096, messages: [{ role: "user", content: FORECAST }], tools, tool_choice });
    assert.deepEqual(content.filter((block) => block.type === "tool_use").map(({ input }) => input), [{ city: "Paris" }]);
  }
}

async function structured(url, model) {
  const schema = { type: "object", properties: { city: { type: "string" }, degrees: { type: "integer" } }, required: ["city", "degrees"], additionalProperties: false };
  const message = await connect(url).messages.create({
    model, max_tokens: 4096, messages: [{ role: "user", content: FORECAST }], output_config: { format: { type: "json_schema", schema } },
  });
  assert.equal(JSON.parse(textOf(message)).city, "Paris");
}

async function counted(url, model) {
  const { messages } = connect(url);
  const { max_tokens, ...asked } = ask(model, { system: "Be short." });
  const { usage } = await messages.create({ max_tokens, ...asked });
  assert.equal((await messages.countTokens(asked)).input_tokens, readTokens(usage));
}

async function models(url, model) {
  const client = connect(url);
  const listed = [];
  for await (const { id } of client.models.list()) listed.push(id);
  assert(listed.includes(model), `the models are ${listed}`);
  assert.equal((await client.models.retrieve(model)).id, model);
}

async function apiKey(url, model) {
  const client = connect(url, { apiKey: "none", authToken: null, defaultHeaders: { "x-api-key": "none" } });
  checkHello(await client.messages.create(ask(model)), model, ["text"]);
}

const failed = (promise) => promise.then(() => assert.fail("no error"), (e) => e);

async function wrongRequests(url, model) {
  const { messages } = connect(url);
  for (const [asked, kind, status, type, says] of [
    [ask("nobody"), Anthropic.NotFoundError, 404, "not_found_error", "nobody"],
    [ask("nobody", { stream: true }), Anthropic.NotFoundError, 404, "not_found_error", "nobody"],
    [ask(model, { messages: [{ role: "user", content: HELLO }, { role: "robot", content: HELLO }] }), Anthropic.BadRequestError, 400, "invalid_request_error", "messages.1.role"],
    [ask(model, { messages: [{ role: "user", content: "one two three ".repeat(60_000) }] }), Anthropic.BadRequestError, 400, "invalid_request_error", "prompt is too long: "],
  ]) {
    const error = await failed(messages.create(asked));
    assert(error instanceof kind, `${error}`);
    assert.equal(error.status, status);
    assert.equal(error.error.error.type, type);
    assert(error.error.error.message.includes(says), error.error.error.message);
    assert.equal(error.error.request_id, error.requestID);
  }
}

const fault = (name) => ({ headers: { "x-sim-fault": name } });

async function serverRefuses(url, model) {
  const error = await failed(connect(url).messages.create(ask(model), fault("status:429:7")));
  assert(error instanceof Anthropic.RateLimitError, `${error}`);
  assert.equal(error.headers.get("retry-after"), "7");
}

/** A stream that fails after some deltas. */
const failsWithin = (name, kind) => async (url, model) => {
  const types = [];
  const error = await failed((async () => {
    for await (const { type } of await connect(url).messages.create(ask(model, { thinking, stream: true }), fault(name))) types.push(type);
  })());
  assert(types.includes("content_block_delta"), "nothing came before the error");
  assert(error instanceof kind, `${error}`);
};

async function cancelled(url, model) {
  for await (const { type } of await connect(url).messages.create(ask(model, { thinking, stream: true }), fault("stall:12"))) {
    if (type === "content_block_delta") break;
  }
}

const create = (messages, asked) => messages.create(asked);
const createStream = async (messages, asked) => added(await messages.create({ ...asked, stream: true }));
const helper = (messages, asked) => messages.stream(asked).finalMessage();

await run(name, [
  ["messages.create with thinking: text, usage", whole],
  ["messages.create: the first block is the text", withoutThinking],
  ["messages.create with stream: the order of the events", stream],
  ["messages.stream and finalMessage", streamHelper],
  ["a loop over tools with thinking, and a further question", toolLoop(create, { thinking }, thoughts, kinds)],
  ["the same with stream", toolLoop(createStream, { thinking }, thoughts, kinds)],
  ["the same by messages.stream", toolLoop(helper, { thinking }, thoughts, kinds)],
  ["the same without thinking: it comes back unread", toolLoop(create, {}, ["", "", ""], redacted)],
  ["tool_choice any and tool", toolChoice],
  ["an answer by a schema", structured],
  ["countTokens is what the usage says", counted],
  ["models.list and models.retrieve", models],
  ["a key as x-api-key", apiKey],
  ["refused requests, with type and message", wrongRequests],
  ["a server's 429 is RateLimitError with its retry-after", serverRefuses],
  ["an error within a stream is APIError", failsWithin("error-event:8", Anthropic.APIError)],
  ["a stream that is cut fails", failsWithin("close:8", Error)],
  ["break out of a stream", cancelled],
]);

// OpenAI's client for JavaScript with stored responses and conversations, in front of a gateway with the responses service. usage:
// stored.mjs BASE_URL MODEL
import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import OpenAI from "openai";
import { COMPARE, COMPARED, DESCRIPTION, FOLLOW_UP, FOLLOWED_UP, HELLO, PREAMBLE, WEATHER, helloAnswer, run } from "../checks.mjs";

const connect = (baseURL) => new OpenAI({ baseURL, apiKey: "none", maxRetries: 0, timeout: 60_000 });

/** The ways to ask for a response: whole and streamed. */
const ways = [
  (client, asked) => client.responses.create(asked),
  (client, asked) => client.responses.stream(asked).finalResponse(),
];

/** Checks the answer to HELLO, and returns how many tokens the model has read. */
function readTokens(response) {
  assert.equal(response.status, "completed");
  helloAnswer(response.output_text, response.usage.input_tokens);
  return response.usage.input_tokens;
}

async function collect(list) {
  const all = [];
  for await (const one of list) all.push(one);
  return all;
}

async function refused(promise, kind, code) {
  const error = await promise.then(() => assert.fail("no error"), (e) => e);
  assert(error instanceof kind, `${error}`);
  assert.equal(error.code, code);
}

async function chain(url, model) {
  const client = connect(url);
  for (const ask of ways) {
    let previous_response_id = null, read = 0, response;
    for (let turn = 0; turn < 3; turn++) {
      response = await ask(client, { model, input: HELLO, previous_response_id });
      assert.equal(response.previous_response_id, previous_response_id);
      assert(readTokens(response) > read + 10, "the model has not read the past");
      [previous_response_id, read] = [response.id, readTokens(response)];
    }
    const { output_text, ...stored } = await client.responses.retrieve(response.id);
    assert.equal(output_text, response.output_text);
    assert.deepEqual(stored.output.map(({ id }) => id), response.output.map(({ id }) => id));
  }
}

async function conversation(url, model) {
  const client = connect(url);
  const { id } = await client.conversations.create({ metadata: { topic: "edges" }, items: [{ role: "user", content: "Be kind." }] });
  let read = 0;
  for (const ask of ways) {
    const response = await ask(client, { model, input: HELLO, conversation: id });
    assert(readTokens(response) > read + 10, "the model has not read the past");
    read = readTokens(response);
  }
  const up = await collect(client.conversations.items.list(id, { order: "asc", limit: 2 }));
  assert.deepEqual(up.map(({ type }) => type), ["message", "message", "reasoning", "message", "message", "reasoning", "message"]);
  const down = await collect(client.conversations.items.list(id, { limit: 3 }));
  assert.deepEqual(down.reverse(), up);
  assert.equal((await client.conversations.items.delete(up[0].id, { conversation_id: id })).id, id);
  await refused(client.conversations.items.retrieve(up[0].id, { conversation_id: id }), OpenAI.NotFoundError, null);
  assert.deepEqual((await client.conversations.update(id, { metadata: { a: "b" } })).metadata, { a: "b" });
  assert.equal((await client.conversations.delete(id)).deleted, true);
  await refused(client.conversations.retrieve(id), OpenAI.NotFoundError, null);
}

const tools = [{
  type: "function", name: "get_weather", description: DESCRIPTION, strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false },
}];

async function toolLoop(url, model) {
  const client = connect(url);
  for (const ask of ways) {
    let input = COMPARE, previous_response_id;
    const said = [];
    for (const city of ["Paris", "Rome", undefined]) {
      const response = await ask(client, { model, input, tools, previous_response_id });
      said.push(response.output_text);
      const calls = response.output.filter(({ type }) => type === "function_call");
      assert.deepEqual(calls.map((call) => JSON.parse(call.arguments)), city ? [{ city }] : []);
      input = calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: WEATHER[city] }));
      previous_response_id = response.id;
    }
    assert.deepEqual(said, ["", PREAMBLE, COMPARED]);
    assert.equal((await ask(client, { model, input: FOLLOW_UP, previous_response_id })).output_text, FOLLOWED_UP);
  }
}

async function background(url, model) {
  const { responses } = connect(url);
  let response = await responses.create({ model, input: HELLO, background: true });
  for (const end = Date.now() + 60_000; ["queued", "in_progress"].includes(response.status); await wait(20)) {
    assert(Date.now() < end, `it is ${response.status}`);
    response = await responses.retrieve(response.id);
  }
  readTokens(response);
  await refused(responses.cancel(response.id), OpenAI.BadRequestError, "invalid_value");
}

async function resumed(url, model) {
  const { responses } = connect(url);
  const seen = [];
  for await (const event of await responses.create({ model, input: HELLO, background: true, stream: true })) {
    seen.push(event);
    if (event.type === "response.output_item.added") break;
  }
  const { id } = seen[0].response, starting_after = seen.at(-1).sequence_number;
  const rest = await collect(await responses.retrieve(id, { stream: true, starting_after }));
  assert.deepEqual([...seen, ...rest].map((event) => event.sequence_number), [...seen, ...rest].map((_, n) => n));
  assert.equal(rest.at(-1).type, "response.completed");
  const again = await collect(responses.stream({ response_id: id, starting_after }));
  assert.deepEqual(again.map((event) => event.sequence_number), rest.map((event) => event.sequence_number));
  readTokens(await responses.retrieve(id));
}

async function cancelled(url, model) {
  const { responses } = connect(url);
  let id, last;
  const asked = { model, input: HELLO, background: true, stream: true };
  for await (const event of await responses.create(asked, { headers: { "x-sim-fault": "stall:12" } })) {
    if (event.type === "response.created") id = event.response.id;
    if (event.type === "response.reasoning_text.delta" && last.type !== event.type) {
      const { status, output } = await responses.cancel(id);
      assert.deepEqual({ status, output }, { status: "cancelled", output: [] });
    }
    last = event;
  }
  assert.deepEqual([last.type, last.response.status], ["response.failed", "cancelled"]);
  assert.equal((await responses.retrieve(id)).status, "cancelled");
}

async function deleted(url, model) {
  const { responses } = connect(url);
  const one = await responses.create({ model, input: HELLO });
  const two = await responses.create({ model, input: HELLO, previous_response_id: one.id });
  const items = await collect(responses.inputItems.list(two.id, { order: "asc", limit: 1 }));
  assert.deepEqual(items.map(({ type }) => type), ["message", "reasoning", "message", "message"]);
  await responses.delete(one.id);
  await refused(responses.retrieve(one.id), OpenAI.NotFoundError, null);
  for (const { id } of [one, two]) {
    await refused(responses.create({ model, input: HELLO, previous_response_id: id }), OpenAI.BadRequestError, "previous_response_not_found");
  }
}

await run("openai", [
  ["three turns by previous_response_id, whole and streamed", chain],
  ["a conversation: turns, items page by page, update, delete", conversation],
  ["a loop over tools that sends only what is new, whole and streamed", toolLoop],
  ["background, polled", background],
  ["background with a stream that is left, and resumed by retrieve and by responses.stream", resumed],
  ["cancel in the middle of an answer", cancelled],
  ["delete, and what then cannot be continued", deleted],
]);

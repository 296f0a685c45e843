// OpenAI's client for JavaScript and its Responses API in front of a gateway. usage: responses.mjs BASE_URL MODEL
import assert from "node:assert/strict";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { COMPARE, COMPARED, DESCRIPTION, FOLLOW_UP, FOLLOWED_UP, FORECAST, HELLO, PREAMBLE, WEATHER, helloAnswer, run } from "../checks.mjs";

const connect = (baseURL) => new OpenAI({ baseURL, apiKey: "none", maxRetries: 0, timeout: 60_000 }).responses;
const reasoningOf = (response) => response.output.filter((item) => item.type === "reasoning").map((item) => item.content[0].text).join("");

function checkHello(response, model) {
  assert.equal(response.object, "response");
  assert.equal(response.status, "completed");
  assert.equal(response.model, model);
  assert.deepEqual(response.output.map((item) => item.type), ["reasoning", "message"]);
  helloAnswer(response.output_text, response.usage.input_tokens);
  assert(reasoningOf(response));
  const { input_tokens, output_tokens, total_tokens, output_tokens_details } = response.usage;
  assert.equal(total_tokens, input_tokens + output_tokens);
  assert(output_tokens_details.reasoning_tokens > 0 && output_tokens_details.reasoning_tokens < output_tokens);
}

async function textTurn(url, model) {
  checkHello(await connect(url).create({ model, input: HELLO }), model);
}

async function stream(url, model) {
  const deltas = { "response.output_text.delta": [], "response.reasoning_text.delta": [] };
  let final;
  for await (const event of await connect(url).create({ model, input: HELLO, stream: true })) {
    assert(!final, "an event after the last");
    deltas[event.type]?.push(event.delta);
    final = event.type === "response.completed" ? event.response : undefined;
  }
  const text = deltas["response.output_text.delta"];
  assert(text.length > 1, "the answer came in one piece");
  checkHello({ ...final, output_text: text.join("") }, model);
  assert.equal(deltas["response.reasoning_text.delta"].join(""), reasoningOf(final));
}

async function streamHelper(url, model) {
  const deltas = [];
  const stream = connect(url).stream({ model, input: HELLO }).on("response.output_text.delta", ({ delta }) => deltas.push(delta));
  const final = await stream.finalResponse();
  checkHello(final, model);
  assert.equal(deltas.join(""), final.output_text);
}

const tools = [{
  type: "function", name: "get_weather", description: DESCRIPTION, strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false },
}];

/** A loop over tools. answer asks for a response, whole or by a stream. */
const toolLoop = (answer) => async (url, model) => {
  const responses = connect(url);
  const input = [{ role: "user", content: COMPARE }];
  const asked = [], thoughts = [], said = [];
  for (;;) {
    const response = await answer(responses, { model, instructions: "You are brief.", input, tools, store: false });
    assert.equal(response.status, "completed");
    thoughts.push(reasoningOf(response));
    said.push(response.output_text);
    input.push(...response.output);
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) break;
    for (const { call_id, name, arguments: args } of calls) {
      assert.equal(name, "get_weather");
      const { city } = JSON.parse(args);
      asked.push(city);
      input.push({ type: "function_call_output", call_id, output: WEATHER[city] });
    }
  }
  assert.deepEqual(asked, ["Paris", "Rome"]);
  assert.deepEqual(thoughts, ["First I need Paris.", "Now I need Rome.", "Both cities are known."]);
  assert.deepEqual(said, ["", PREAMBLE, COMPARED]);
  const next = await answer(responses, { model, input: [...input, { role: "user", content: FOLLOW_UP }] });
  assert.equal(next.output_text, FOLLOWED_UP);
};

async function structured(url, model) {
  const responses = connect(url);
  const Forecast = z.object({ city: z.string(), degrees: z.int() });
  const asked = { model, input: FORECAST, text: { format: zodTextFormat(Forecast, "forecast") } };
  for (const answer of [await responses.parse(asked), await responses.stream(asked).finalResponse()]) {
    assert.equal(answer.output_parsed.city, "Paris");
  }
}

async function toolChoice(url, model) {
  for (const tool_choice of ["required", { type: "function", name: "get_weather" }]) {
    const { output } = await connect(url).create({ model, input: FORECAST, tools, tool_choice });
    assert.deepEqual(output.filter((item) => item.type === "function_call").map((item) => JSON.parse(item.arguments)), [{ city: "Paris" }]);
  }
}

async function wrongRequest(url) {
  for (const stream of [false, true]) {
    const error = await connect(url).create({ model: "nobody", input: HELLO, stream }).then(() => assert.fail("no error"), (e) => e);
    assert(error instanceof OpenAI.NotFoundError, `${error}`);
    const { status, code, param, type } = error;
    assert.deepEqual({ status, code, param, type }, { status: 404, code: "model_not_found", param: "model", type: "invalid_request_error" });
  }
}

async function errorWithinStream(url, model) {
  const types = [];
  const error = await (async () => {
    for await (const { type } of await connect(url).create({ model, input: HELLO, stream: true }, { headers: { "x-sim-fault": "error-event:8" } })) {
      types.push(type);
    }
  })().then(() => assert.fail("the stream ends well"), (e) => e);
  assert(types.includes("response.reasoning_text.delta"), "nothing came before the error");
  assert(error instanceof OpenAI.APIError, `${error}`);
  assert.equal(error.code, "server_error");
}

async function cancelled(url, model) {
  const events = await connect(url).create({ model, input: HELLO, stream: true }, { headers: { "x-sim-fault": "stall:12" } });
  for await (const { type } of events) {
    if (type === "response.reasoning_text.delta") break;
  }
}

await run("openai", [
  ["responses.create: text, reasoning, usage", textTurn],
  ["responses.create with stream: deltas, usage", stream],
  ["responses.stream and finalResponse", streamHelper],
  ["responses.create with a tool: two calls, the final text, a further question", toolLoop((responses, asked) => responses.create(asked))],
  ["responses.stream with a tool: the same", toolLoop((responses, asked) => responses.stream(asked).finalResponse())],
  ["parse and stream with zodTextFormat", structured],
  ["tool_choice required and named", toolChoice],
  ["a refused request is NotFoundError, with code and param", wrongRequest],
  ["an error within a stream is APIError", errorWithinStream],
  ["break out of a stream", cancelled],
]);

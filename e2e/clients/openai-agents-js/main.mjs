// OpenAI's Agents SDK for JavaScript with its WebSocket model, in front of a gateway with a store. usage: main.mjs BASE_URL MODEL
import assert from "node:assert/strict";
import { Agent, Runner, tool } from "@openai/agents-core";
import { OpenAIResponsesWSModel } from "@openai/agents-openai";
import OpenAI from "openai";
import { z } from "zod";
import { COMPARE, COMPARED, DESCRIPTION, FOLLOW_UP, FOLLOWED_UP, HELLO, WEATHER, helloAnswer, run } from "../checks.mjs";

const runner = new Runner({ tracingDisabled: true });
const asked = [];
const getWeather = tool({
  name: "get_weather", description: DESCRIPTION, parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => (asked.push(city), WEATHER[city]),
});

/** Calls use with an agent, whose connection is closed after it. */
async function withAgent(url, model, settings, use) {
  const client = new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0, timeout: 60_000 });
  const connection = new OpenAIResponsesWSModel(client, model);
  try {
    await use(new Agent({
      name: "Guide", instructions: "You are brief.", model: connection, tools: [getWeather], modelSettings: settings,
    }));
  } finally {
    await connection.close();
  }
}

const textTurn = (url, model) => withAgent(url, model, {}, async (agent) => {
  const result = await runner.run(agent, HELLO);
  helloAnswer(result.finalOutput, result.rawResponses[0].usage.inputTokens);
});

const stream = (url, model) => withAgent(url, model, {}, async (agent) => {
  const result = await runner.run(agent, HELLO, { stream: true });
  const deltas = [];
  for await (const event of result) {
    if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") deltas.push(event.data.delta);
  }
  await result.completed;
  assert(deltas.length > 1, "the answer came in one piece");
  assert.equal(deltas.join(""), result.finalOutput);
});

const toolLoop = (url, model) => withAgent(url, model, {}, async (agent) => {
  asked.length = 0;
  const result = await runner.run(agent, COMPARE);
  assert.equal(result.finalOutput, COMPARED);
  assert.deepEqual(asked, ["Paris", "Rome"]);
  const next = await runner.run(agent, [...result.history, { role: "user", content: FOLLOW_UP }]);
  assert.equal(next.finalOutput, FOLLOWED_UP);
});

/** Continues by ids. Without a store only the connection has what they name. */
async function continued(url, model) {
  for (const store of [false, true]) {
    await withAgent(url, model, { store }, async (agent) => {
      const result = await runner.run(agent, COMPARE);
      assert.equal(result.finalOutput, COMPARED);
      const next = await runner.run(agent, FOLLOW_UP, { previousResponseId: result.lastResponseId });
      assert.equal(next.finalOutput, FOLLOWED_UP);
    });
  }
}

const refused = (url, model) => withAgent(url, `${model}-that-is-not-there`, {}, async (agent) => {
  await assert.rejects(runner.run(agent, HELLO), /unsuccessful terminal state "error"/); // it says no more
});

const cancelled = (url, model) => {
  const settings = { providerData: { extraHeaders: { "x-sim-fault": "stall:12" } } };
  return withAgent(url, model, settings, async (agent) => {
    const leaving = new AbortController();
    const result = await runner.run(agent, HELLO, { stream: true, signal: leaving.signal });
    for await (const event of result) {
      if (event.type === "raw_model_stream_event") leaving.abort();
    }
  });
};

await run("@openai/agents-openai", [
  ["run: text, usage", textTurn],
  ["run, streamed: deltas of text", stream],
  ["run: two tool calls, the final text, a further question", toolLoop],
  ["previousResponseId, without and with a store", continued],
  ["a refused request is an error", refused],
  ["a run that is aborted", cancelled],
]);

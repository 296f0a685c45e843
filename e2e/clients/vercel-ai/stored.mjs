// Vercel's AI SDK with its provider for OpenAI as it is, which lets the server store, in front of a gateway with the responses service.
// usage: stored.mjs BASE_URL MODEL
import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { isStepCount, streamText } from "ai";
import { COMPARE, COMPARED, FOLLOW_UP, FOLLOWED_UP, HELLO, PREAMBLE, helloAnswer, run } from "../checks.mjs";
import { weatherTool } from "./turns.mjs";
import { ways } from "./ways.mjs";

const call = (baseURL, model, openai = {}, headers = {}) => ({
  model: createOpenAI({ baseURL, apiKey: "none", headers }).responses(model), maxRetries: 0, timeout: 60_000, providerOptions: { openai },
});

/** The default loop: each step sends back the ids of the items before it, which the server looks up. */
const toolLoop = (openai) => async (url, model) => {
  for (const ask of ways) {
    const { asked, tools } = weatherTool();
    const options = { ...call(url, model, await openai(url)), instructions: "You are brief.", tools, stopWhen: isStepCount(5) };
    const messages = [{ role: "user", content: COMPARE }];
    const result = await ask({ ...options, messages });
    assert.deepEqual(asked, [{ city: "Paris" }, { city: "Rome" }]);
    assert.deepEqual(result.steps.map((step) => step.text), ["", PREAMBLE, COMPARED]);
    assert.deepEqual(result.steps.flatMap((step) => step.warnings ?? []), []);
    const more = [...messages, ...result.responseMessages, { role: "user", content: FOLLOW_UP }];
    const next = await ask({ ...options, messages: options.providerOptions.openai.conversation ? more.slice(-1) : more });
    assert.equal(next.text, FOLLOWED_UP);
  }
};

async function createConversation(baseURL) {
  const response = await fetch(`${baseURL}/conversations`, { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
  assert.equal(response.status, 200);
  return { conversation: (await response.json()).id };
}

async function previous(url, model) {
  let previousResponseId, read = 0;
  for (const ask of [...ways, ...ways]) {
    const { text, usage, providerMetadata } = await ask({ ...call(url, model, { previousResponseId }), prompt: HELLO });
    helloAnswer(text, usage.inputTokens);
    assert(usage.inputTokens > read + 10, "the model has not read the past");
    [previousResponseId, read] = [providerMetadata.openai.responseId, usage.inputTokens];
  }
}

async function aborted(url, model) {
  const controller = new AbortController();
  const options = { ...call(url, model, {}, { "x-sim-fault": "stall:12" }), prompt: HELLO, abortSignal: controller.signal };
  let ended = false;
  for await (const part of streamText(options).fullStream) {
    if (part.type === "reasoning-start" || part.type === "reasoning-delta") controller.abort();
    ended ||= part.type === "abort";
  }
  assert(ended, "no abort part");
}

await run("ai", [
  ["the default loop, which stores: two calls, the final text, a further question, whole and streamed", toolLoop(async () => ({}))],
  ["the same in a conversation", toolLoop(createConversation)],
  ["turns by previousResponseId, whole and streamed", previous],
  ["abortSignal", aborted],
]);

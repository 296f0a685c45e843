// Vercel's AI SDK with its provider for Anthropic, in front of a gateway. usage: messages.mjs BASE_URL MODEL
import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { APICallError, Output, generateText, isStepCount, streamText } from "ai";
import { z } from "zod";
import { COMPARE, COMPARED, FOLLOW_UP, FOLLOWED_UP, FORECAST, HELLO, PREAMBLE, helloAnswer } from "../checks.mjs";
import { main, weatherTool } from "./turns.mjs";
import { ways } from "./ways.mjs";

const thinking = { type: "enabled", budgetTokens: 1024 };

/** What every call has. The provider's URL has /v1. */
const connection = (options) => (baseURL, model, headers) => ({
  model: createAnthropic({ baseURL, authToken: "none", headers })(model),
  maxOutputTokens: 4096,
  maxRetries: 0,
  providerOptions: { anthropic: options },
});
const thinks = connection({ thinking });
const plain = connection({});

async function withoutThinking(url, model) {
  for (const ask of ways) {
    const { text, steps, usage } = await ask({ ...plain(url, model), prompt: HELLO });
    helloAnswer(text, usage.inputTokens);
    assert.deepEqual(steps[0].reasoning, []);
  }
}

/** The loop over tools where thinking is not asked for: it comes and goes back unread. */
async function toolLoop(url, model) {
  for (const ask of ways) {
    const { asked, tools } = weatherTool();
    const options = { ...plain(url, model), instructions: "You are brief.", tools, stopWhen: isStepCount(5) };
    const messages = [{ role: "user", content: COMPARE }];
    const { steps, responseMessages } = await ask({ ...options, messages });
    assert.deepEqual(asked, [{ city: "Paris" }, { city: "Rome" }]);
    assert.deepEqual(steps.map((s) => s.text), ["", PREAMBLE, COMPARED]);
    const reasoning = steps.map(({ content }) => content.filter(({ type }) => type === "reasoning"));
    assert.deepEqual(reasoning.map((parts) => parts.map(({ text }) => text)), [[""], [""], []]);
    assert(reasoning.flat().every(({ providerMetadata }) => providerMetadata.anthropic.redactedData));
    messages.push(...responseMessages, { role: "user", content: FOLLOW_UP });
    assert.equal((await ask({ ...options, messages })).text, FOLLOWED_UP);
  }
}

/**
 * An answer by a schema: held to it by the server, or by a tool that must be called.
 * With thinking the provider forces no tool.
 */
async function structured(url, model) {
  for (const own of [{ structuredOutputMode: "outputFormat", thinking }, { structuredOutputMode: "jsonTool" }]) {
    const options = () => ({
      ...connection(own)(url, model), prompt: FORECAST,
      output: Output.object({ schema: z.object({ city: z.string(), degrees: z.int() }) }),
    });
    assert.equal((await generateText(options())).output.city, "Paris");
    const result = streamText(options());
    for await (const part of result.fullStream) assert.notEqual(part.type, "error", `${part.error}`);
    assert.equal((await result.output).city, "Paris");
  }
}

/** The error of a call, and the kinds of what came before it. */
async function failure(options) {
  const came = [];
  try {
    for await (const part of streamText({ ...options, onError() {} }).fullStream) {
      if (part.type === "error") return { error: part.error, came };
      came.push(part.type);
    }
  } catch (error) {
    return { error, came };
  }
  assert.fail("no error");
}

async function refused(url, model) {
  const long = "one two three ".repeat(60_000);
  const limited = { "x-sim-fault": "status:429:7" };
  for (const [options, status, type, says] of [
    [{ ...thinks(url, "nobody"), prompt: HELLO }, 404, "not_found_error", "nobody"],
    [{ ...thinks(url, model), prompt: long }, 400, "invalid_request_error", "prompt is too long: "],
    [{ ...thinks(url, model, limited), prompt: HELLO }, 429, "rate_limit_error", ""],
  ]) {
    const whole = await generateText(options).then(() => assert.fail("no error"), (e) => e);
    for (const error of [whole, (await failure(options)).error]) {
      assert(APICallError.isInstance(error), `${error}`);
      assert.equal(error.statusCode, status);
      assert.equal(error.isRetryable, status === 429);
      assert.equal(error.data.error.type, type);
      assert(error.message.includes(says), error.message);
      if (status === 429) assert.equal(error.responseHeaders["retry-after"], "7");
    }
  }
}

async function failsWithin(url, model) {
  for (const fault of ["error-event:8", "close:8"]) {
    const { came, error } = await failure({ ...thinks(url, model, { "x-sim-fault": fault }), prompt: HELLO });
    assert(came.includes("reasoning-delta"), `${fault}: nothing came before ${error}`);
    assert(!came.includes("finish"), `${fault}: it ends well`);
  }
}

await main(thinks, true, [
  ["without thinking the answer is the text alone", withoutThinking],
  ["the loop over tools without thinking: it comes back unread", toolLoop],
  ["Output.object by outputFormat and by jsonTool", structured],
  ["refused requests, with type, message and retry-after", refused],
  ["a stream that fails or is cut ends with an error", failsWithin],
], { errorCode: "not_found_error", forced: plain });

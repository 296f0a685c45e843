// What the programs of this folder check of Vercel's AI SDK: the same with its provider for OpenAI-compatible servers,
// OpenAI's and Anthropic's.
import assert from "node:assert/strict";
import { APICallError, Output, generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { COMPARE, COMPARED, DESCRIPTION, FOLLOW_UP, FOLLOWED_UP, FORECAST, HELLO, PREAMBLE, WEATHER, helloAnswer, run } from "../checks.mjs";

let connect, showsReasoning, settings;

/** What every call has. */
const call = (url, model, headers) => ({ ...connect(url, model, headers), maxRetries: 0, timeout: 60_000 });

/** The same of calls that make the model call a tool, or answer by a schema. */
const forcedCall = (url, model) => ({ ...call(url, model), ...settings.forced?.(url, model) });

function checkHello({ text, reasoningText, finishReason, usage, warnings }) {
  helloAnswer(text, usage.inputTokens);
  assert.equal(Boolean(reasoningText), showsReasoning);
  assert.equal(finishReason, "stop");
  assert.deepEqual(warnings ?? [], []);
  assert.equal(usage.totalTokens, usage.inputTokens + usage.outputTokens);
  const { reasoningTokens, textTokens } = usage.outputTokenDetails;
  assert(reasoningTokens > 0 && textTokens > 0, JSON.stringify(usage));
}

async function textTurn(url, model) {
  checkHello(await generateText({ ...call(url, model), prompt: HELLO }));
}

/** Reads a stream to its end. */
async function collect(result) {
  const parts = { "text-delta": [], "reasoning-delta": [] };
  for await (const part of result.fullStream) {
    assert.notEqual(part.type, "error", `${part.error}`);
    parts[part.type]?.push(part.text);
  }
  return parts;
}

async function stream(url, model) {
  const result = streamText({ ...call(url, model), prompt: HELLO });
  const parts = await collect(result);
  const [text, reasoningText, finishReason, usage, warnings] = await Promise.all(
    [result.text, result.reasoningText, result.finishReason, result.usage, result.warnings]);
  checkHello({ text, reasoningText, finishReason, usage, warnings });
  assert.equal(parts["text-delta"].join(""), text);
  assert.equal(parts["reasoning-delta"].join(""), reasoningText ?? "");
  assert(parts["text-delta"].length > 1, "the answer came in one piece");
}

/** The tool get_weather, and the arguments that it is called with. */
export function weatherTool() {
  const asked = [];
  const get_weather = tool({
    description: DESCRIPTION,
    inputSchema: z.object({ city: z.string() }),
    execute: async (input) => {
      asked.push(input);
      return WEATHER[input.city];
    },
  });
  return { asked, tools: { get_weather } };
}

/** The conversation that calls it twice. */
const compare = (url, model, tools) => ({
  ...call(url, model), instructions: "You are brief.", messages: [{ role: "user", content: COMPARE }], tools, stopWhen: isStepCount(5),
});

function checkSteps(steps, asked) {
  assert.deepEqual(asked, [{ city: "Paris" }, { city: "Rome" }]);
  assert.deepEqual(steps.map((s) => s.text), ["", PREAMBLE, COMPARED]);
  if (showsReasoning) {
    assert.deepEqual(steps.map((s) => s.reasoningText), ["First I need Paris.", "Now I need Rome.", "Both cities are known."]);
  }
  assert.deepEqual(steps.map((s) => s.finishReason), ["tool-calls", "tool-calls", "stop"]);
  assert.deepEqual(steps.flatMap((s) => s.warnings ?? []), []);
}

async function toolLoop(url, model) {
  const { asked, tools } = weatherTool();
  const options = compare(url, model, tools);
  const result = await generateText(options);
  assert.equal(result.text, COMPARED);
  checkSteps(result.steps, asked);
  const messages = [...options.messages, ...result.responseMessages, { role: "user", content: FOLLOW_UP }];
  assert.equal((await generateText({ ...options, messages })).text, FOLLOWED_UP);
}

async function toolLoopStream(url, model) {
  const { asked, tools } = weatherTool();
  const result = streamText(compare(url, model, tools));
  const parts = await collect(result);
  assert.equal(parts["text-delta"].join(""), PREAMBLE + COMPARED);
  checkSteps(await result.steps, asked);
}

async function structured(url, model) {
  const options = () => ({
    ...forcedCall(url, model), prompt: FORECAST,
    output: Output.object({ schema: z.object({ city: z.string(), degrees: z.int() }) }),
  });
  assert.equal((await generateText(options())).output.city, "Paris");
  const result = streamText(options());
  await collect(result);
  assert.equal((await result.output).city, "Paris");
}

async function toolChoice(url, model) {
  for (const toolChoice of ["required", { type: "tool", toolName: "get_weather" }]) {
    const { asked, tools } = weatherTool();
    const result = await generateText({ ...forcedCall(url, model), prompt: FORECAST, tools, toolChoice });
    assert.equal(result.finishReason, "tool-calls");
    assert.deepEqual(asked, [{ city: "Paris" }]);
  }
}

async function wrongRequest(url) {
  const error = await generateText({ ...call(url, "nobody"), prompt: HELLO }).then(() => assert.fail("no error"), (e) => e);
  assert(APICallError.isInstance(error), `${error}`);
  assert.equal(error.statusCode, 404);
  assert.equal(error.isRetryable, false);
  const { code, type, message } = error.data.error;
  assert.equal(code ?? type, settings.errorCode);
  assert.equal(error.message, message);
}

async function cancelled(url, model) {
  const controller = new AbortController();
  const result = streamText({ ...call(url, model, { "x-sim-fault": "stall:12" }), prompt: HELLO, abortSignal: controller.signal });
  let aborted = false;
  for await (const part of result.fullStream) {
    if (part.type === "reasoning-start") controller.abort();
    aborted ||= part.type === "abort";
  }
  assert(controller.signal.aborted && aborted, "no abort part");
}

/**
 * Checks what a loop over tools comes to where the provider sends ids in place of items: the second step is refused by an error that
 * says what to set. unset makes what calls have of the provider's, as connection does.
 */
export const itemReferences = (unset) => async (url, model) => {
  const options = () => ({ ...compare(url, model, weatherTool().tools), ...unset(url, model) });
  const whole = await generateText(options()).then(() => assert.fail("no error"), (e) => e);
  let streamed;
  for await (const part of streamText({ ...options(), onError() {} }).fullStream) {
    if (part.type === "error") streamed = part.error;
  }
  for (const error of [whole, streamed]) {
    assert(APICallError.isInstance(error), `${error}`);
    assert.equal(error.statusCode, 400);
    assert.equal(error.isRetryable, false);
    assert.match(error.data.error.param, /^input\[[0-9]+\]$/);
    assert.match(error.message, /^Item with id '\w+' not found: .* providerOptions: \{ openai: \{ store: false \} \}\.$/);
  }
};

/**
 * Runs the checks, and more of them. connection makes what calls have of the provider's: (url, model, headers) => ({model, …}); shows
 * says that it shows reasoning. Of a provider's own can be errorCode, the error's where no model has the name, and
 * forced, what calls have that force the model.
 */
export async function main(connection, shows, more = [], own = {}) {
  connect = connection;
  showsReasoning = shows;
  settings = { errorCode: "model_not_found", ...own };
  await run("ai", [
    ["generateText: text, reasoning, usage", textTurn],
    ["streamText: deltas, usage", stream],
    ["generateText with a tool: two calls, the final text, a further question", toolLoop],
    ["streamText with a tool: the same", toolLoopStream],
    ["Output.object, whole and streamed", structured],
    ["toolChoice required and named", toolChoice],
    ["a refused request is APICallError with the error's code", wrongRequest],
    ["abortSignal", cancelled],
    ...more,
  ]);
}

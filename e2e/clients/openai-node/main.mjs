// OpenAI's client for JavaScript in front of a gateway. usage: main.mjs BASE_URL MODEL
import assert from "node:assert/strict";
import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { COMPARE, COMPARED, DESCRIPTION, FOLLOW_UP, FOLLOWED_UP, FORECAST, HELLO, PREAMBLE, WEATHER, helloAnswer, run } from "../checks.mjs";

const connect = (baseURL) => new OpenAI({ baseURL, apiKey: "none", maxRetries: 0, timeout: 60_000 });
const hello = [{ role: "user", content: HELLO }];
const compare = [
  { role: "system", content: "You are brief." },
  { role: "user", content: COMPARE },
];

function checkUsage(usage) {
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
  const reasoning = usage.completion_tokens_details.reasoning_tokens;
  assert(reasoning > 0 && reasoning < usage.completion_tokens, `reasoning tokens: ${reasoning}`);
}

async function textTurn(url, model) {
  const answer = await connect(url).chat.completions.create({ model, messages: hello });
  assert.equal(answer.object, "chat.completion");
  assert.equal(answer.model, model);
  assert.equal(answer.choices.length, 1);
  const [{ message, finish_reason }] = answer.choices;
  assert.equal(finish_reason, "stop");
  helloAnswer(message.content, answer.usage.prompt_tokens);
  assert(message.reasoning);
  checkUsage(answer.usage);
}

async function stream(url, model) {
  const chunks = await connect(url).chat.completions.create({
    model, messages: hello, stream: true, stream_options: { include_usage: true },
  });
  let text = "", reasoning = "", finish, usage, pieces = 0;
  for await (const { choices: [choice], usage: last } of chunks) {
    if (!choice) {
      usage = last;
      continue;
    }
    assert(!finish, "a choice after the finish reason");
    pieces += choice.delta.content ? 1 : 0;
    text += choice.delta.content ?? "";
    reasoning += choice.delta.reasoning ?? "";
    finish = choice.finish_reason;
  }
  assert.equal(finish, "stop");
  assert(pieces > 1, "the answer came in one piece");
  assert(reasoning);
  helloAnswer(text, usage.prompt_tokens);
  checkUsage(usage);
}

async function streamHelper(url, model) {
  const deltas = [];
  const runner = connect(url).chat.completions.stream({ model, messages: hello }).on("content", (delta) => deltas.push(delta));
  const final = await runner.finalChatCompletion();
  assert.equal(final.choices[0].finish_reason, "stop");
  assert.equal(deltas.join(""), final.choices[0].message.content);
  assert(deltas.length > 1, "the answer came in one piece");
}

/** The declaration of get_weather, and the arguments that it is called with. */
function weatherTool() {
  const asked = [];
  const tool = {
    type: "function",
    function: {
      name: "get_weather",
      description: DESCRIPTION,
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false },
      parse: JSON.parse,
      function(args) {
        asked.push(args);
        return WEATHER[args.city];
      },
    },
  };
  return { tool, asked };
}

const runTools = (stream) => async (url, model) => {
  const { tool, asked } = weatherTool();
  const runner = connect(url).chat.completions.runTools({ model, messages: compare, tools: [tool], ...(stream && { stream }) });
  const said = [];
  if (stream) {
    runner.on("content", (delta) => said.push(delta));
  }
  assert.equal(await runner.finalContent(), COMPARED);
  assert.deepEqual(asked, [{ city: "Paris" }, { city: "Rome" }]);
  const assistant = runner.messages.filter((m) => m.role === "assistant");
  assert.deepEqual(assistant.map((m) => m.content || null), [null, PREAMBLE, COMPARED]);
  const completions = runner.allChatCompletions();
  assert.deepEqual(completions.map((c) => c.choices[0].finish_reason), ["tool_calls", "tool_calls", "stop"]);
  if (stream) {
    assert.equal(said.join(""), PREAMBLE + COMPARED);
  }
  const messages = [...runner.messages, { role: "user", content: FOLLOW_UP }];
  const next = await connect(url).chat.completions.create({ model, messages });
  assert.equal(next.choices[0].message.content, FOLLOWED_UP);
};

async function structured(url, model) {
  const { completions } = connect(url).chat;
  const Forecast = z.object({ city: z.string(), degrees: z.int() });
  const asked = { model, messages: [{ role: "user", content: FORECAST }], response_format: zodResponseFormat(Forecast, "forecast") };
  for (const answer of [await completions.parse(asked), await completions.stream(asked).finalChatCompletion()]) {
    assert.equal(answer.choices[0].message.parsed.city, "Paris");
  }
}

async function toolChoice(url, model) {
  const { completions } = connect(url).chat;
  const tools = [zodFunction({ name: "get_weather", description: DESCRIPTION, parameters: z.object({ city: z.string() }) })];
  for (const tool_choice of ["required", { type: "function", function: { name: "get_weather" } }]) {
    const answer = await completions.parse({ model, messages: [{ role: "user", content: FORECAST }], tools, tool_choice });
    assert.deepEqual(answer.choices[0].message.tool_calls.map((c) => c.function.parsed_arguments), [{ city: "Paris" }]);
  }
}

/** The request is refused by an error of this class. */
async function refused(call, kind, want) {
  const error = await call().then(() => assert.fail("no error"), (e) => e);
  assert(error instanceof kind, `${error}`);
  const { status, code, param, type } = error;
  assert.deepEqual({ status, code, param, type }, { type: "invalid_request_error", ...want });
}

async function wrongRequests(url, model) {
  const { completions } = connect(url).chat;
  const robot = [...hello, { role: "robot", content: "Hello" }];
  for (const stream of [false, true]) {
    await refused(() => completions.create({ model, messages: robot, stream }), OpenAI.BadRequestError, {
      status: 400, code: "unknown_role", param: "messages[1].role",
    });
    await refused(() => completions.create({ model: "nobody", messages: hello, stream }), OpenAI.NotFoundError, {
      status: 404, code: "model_not_found", param: "model",
    });
  }
}

async function errorWithinStream(url, model) {
  const chunks = await connect(url).chat.completions.create(
    { model, messages: hello, stream: true }, { headers: { "x-sim-fault": "error-event:8" } });
  let pieces = 0;
  const error = await (async () => { for await (const _ of chunks) pieces++; })().then(() => assert.fail("the stream ends well"), (e) => e);
  assert(error instanceof OpenAI.APIError, `${error}`);
  assert.equal(error.code, "server_error");
  assert(pieces > 1, "nothing came before the error");
}

async function cancelled(url, model) {
  const chunks = await connect(url).chat.completions.create(
    { model, messages: hello, stream: true }, { headers: { "x-sim-fault": "stall:12" } });
  for await (const { choices } of chunks) {
    if (choices[0].delta.reasoning) break;
  }
}

await run("openai", [
  ["chat.completions.create: text, reasoning, usage", textTurn],
  ["chat.completions.create with stream: deltas, usage", stream],
  ["chat.completions.stream", streamHelper],
  ["chat.completions.runTools: two tool calls, the final text, a further question", runTools(false)],
  ["chat.completions.runTools with stream: the same", runTools(true)],
  ["parse and stream with zodResponseFormat", structured],
  ["parse with zodFunction and tool_choice required and named", toolChoice],
  ["refused requests are BadRequestError and NotFoundError, with code and param", wrongRequests],
  ["an error within a stream is APIError", errorWithinStream],
  ["break out of a stream", cancelled],
]);

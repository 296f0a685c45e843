// Asks servers that fail, through clients for JavaScript as they come with their retries, and says what they make of it.
//
// usage: faults.mjs BASE_URL < JSON, a list of {row, client, api, fault, model}; prints a line of JSON for each: how many events,
// chunks or parts came, the type of the last, and the error that was raised, if one was.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
import OpenAI from "openai";
import { argv, stdin } from "node:process";
import { json } from "node:stream/consumers";

const [url] = argv.slice(2);

async function openaiNode({ api, model }, headers) {
  const client = new OpenAI({ baseURL: url, apiKey: "none" });
  return api === "chat"
    ? client.chat.completions.create({ model, messages: [{ role: "user", content: "Hi" }], stream: true }, { headers })
    : client.responses.create({ model, input: "Hi", stream: true }, { headers });
}

async function* vercelAI({ api, model }, headers) {
  const gateway = api === "chat"
    ? createOpenAICompatible({ name: "gateway", baseURL: url, headers })(model)
    : createOpenAI({ baseURL: url, apiKey: "none", headers }).responses(model);
  for await (const part of streamText({ model: gateway, prompt: "Hi", onError: () => {} }).fullStream) {
    if (part.type === "error") throw part.error;
    yield part;
  }
}

const clients = { "openai-node": openaiNode, "vercel-ai": vercelAI };

async function run(task) {
  const seen = { row: task.row, pieces: 0, last: "", error: "" };
  try {
    for await (const piece of await clients[task.client](task, { "x-row": task.row, "x-sim-fault": task.fault })) {
      seen.pieces++;
      seen.last = piece.type ?? "";
    }
  } catch (e) {
    seen.error = e.name === "Error" ? e.constructor.name : e.name;
  }
  return seen;
}

for (const seen of await Promise.all((await json(stdin)).map(run))) {
  console.log(JSON.stringify(seen));
}

// Asks for answers that end before their server does, through clients for JavaScript, and reads each to its end.
//
// usage: early.mjs BASE_URL < JSON, a list of {row, client, stream, body}; prints a line of JSON for each: how it finished,
// the tokens of its usage, and the error that was raised, if one was.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import { argv, stdin } from "node:process";
import { json } from "node:stream/consumers";

const [url] = argv.slice(2);

async function openaiNode({ row, stream, body }, seen) {
  const client = new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0 });
  const answer = await client.chat.completions.create({ ...body, stream }, { headers: { "x-row": row } });
  for await (const { choices, usage } of stream ? answer : [answer]) {
    seen.finish = choices[0]?.finish_reason ?? seen.finish;
    seen.tokens = usage?.completion_tokens ?? seen.tokens;
  }
}

async function vercelAI({ row, stream, body }, seen) {
  const gateway = createOpenAICompatible({ name: "gateway", baseURL: url, includeUsage: true, headers: { "x-row": row } });
  const { thinking_token_budget } = body;
  const answer = await (stream ? streamText : generateText)({
    model: gateway(body.model),
    messages: body.messages,
    maxRetries: 0,
    ...(body.stop && { stopSequences: [body.stop] }),
    ...(thinking_token_budget && { providerOptions: { gateway: { thinking_token_budget } } }),
    onError: () => {}, // it is raised below, too
  });
  if (stream) {
    for await (const part of answer.fullStream) {
      if (part.type === "error") throw part.error;
    }
  }
  seen.finish = await answer.finishReason;
  seen.tokens = (await answer.usage).outputTokens;
}

const clients = { "openai-node": openaiNode, "vercel-ai": vercelAI };

async function run(task) {
  const seen = { row: task.row, finish: "", tokens: 0, error: "" };
  await clients[task.client](task, seen).catch((e) => { seen.error = `${e}: ${e.cause}`; });
  return seen;
}

for (const seen of await Promise.all((await json(stdin)).map(run))) {
  console.log(JSON.stringify(seen));
}

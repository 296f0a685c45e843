// Clients for JavaScript before a server that is quiet, with a limit on silence. usage: quiet.mjs BASE_URL MODEL LIMIT
// It prints a line for each: its answer, or that it gave up.
import Anthropic from "@anthropic-ai/sdk";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
import OpenAI from "openai";

const [url, model, limit] = [process.argv[2], process.argv[3], Number(process.argv[4]) * 1000];
const root = url.replace(/\/v1$/, "");
const messages = [{ role: "user", content: "Hi" }];
const quiet = new Error("quiet for too long");

/** What comes, or an error where nothing comes for too long. */
async function within(promise) {
  let timer;
  const silence = new Promise((_, reject) => { timer = setTimeout(() => reject(quiet), limit); });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}

/** Node's fetch has limits on silence of its own, 5 minutes. This is the same with another limit. */
async function impatient(...args) {
  const answer = await within(fetch(...args));
  const reader = answer.body.getReader();
  const body = new ReadableStream({
    async pull(to) {
      try {
        const { done, value } = await within(reader.read());
        if (done) to.close(); else to.enqueue(value);
      } catch (e) {
        await reader.cancel();
        to.error(e);
      }
    },
  });
  return new Response(body, { status: answer.status, headers: answer.headers });
}

async function openaiChat() {
  let text = "";
  const client = new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0, fetch: impatient });
  for await (const c of await client.chat.completions.create({ model, messages, stream: true })) text += c.choices[0]?.delta.content ?? "";
  return text;
}

async function openaiResponses() {
  const client = new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0, fetch: impatient });
  const stream = client.responses.stream({ model, input: "Hi", store: false });
  return (await stream.finalResponse()).output_text;
}

async function anthropicMessages() {
  const client = new Anthropic({ baseURL: root, authToken: "none", apiKey: null, maxRetries: 0, fetch: impatient });
  return await client.messages.stream({ model, max_tokens: 4096, messages }).finalText();
}

const vercel = (of) => async () => {
  let text = "";
  for await (const part of streamText({ model: of, prompt: "Hi", maxOutputTokens: 4096, maxRetries: 0, onError() {} }).fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") text += part.text;
  }
  return text;
};

const gave = (e) => e === quiet || e?.cause === quiet || String(e?.message).includes(quiet.message);

await Promise.all(Object.entries({
  "openai chat": openaiChat,
  "openai responses": openaiResponses,
  "anthropic messages": anthropicMessages,
  "vercel chat": vercel(createOpenAICompatible({ name: "gateway", baseURL: url, fetch: impatient })(model)),
  "vercel responses": vercel(createOpenAI({ baseURL: url, apiKey: "none", fetch: impatient }).responses(model)),
  "vercel messages": vercel(createAnthropic({ baseURL: url, authToken: "none", fetch: impatient })(model)),
}).map(async ([name, ask]) => {
  try {
    console.log(`${name}: ${await ask()}`);
  } catch (e) {
    console.log(`${name}: ${gave(e) ? "gave up" : e}`);
  }
}));
process.exit(0); // connections that were left keep Node alive

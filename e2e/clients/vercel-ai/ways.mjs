// The ways to ask by Vercel's AI SDK: whole and streamed. Both return the same members.
import assert from "node:assert/strict";
import { generateText, streamText } from "ai";

export const ways = [
  generateText,
  async (options) => {
    const result = streamText(options);
    for await (const part of result.fullStream) assert.notEqual(part.type, "error", `${part.error}`);
    const [text, steps, usage, responseMessages, providerMetadata] = await Promise.all(
      [result.text, result.steps, result.usage, result.responseMessages, result.providerMetadata]);
    return { text, steps, usage, responseMessages, providerMetadata };
  },
];

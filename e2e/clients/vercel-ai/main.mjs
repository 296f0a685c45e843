// Vercel's AI SDK with its provider for OpenAI-compatible servers, in front of a gateway. usage: main.mjs BASE_URL MODEL
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { main } from "./turns.mjs";

await main((baseURL, model, headers) => ({
  model: createOpenAICompatible({ name: "gateway", baseURL, includeUsage: true, supportsStructuredOutputs: true, headers })(model),
}), true);

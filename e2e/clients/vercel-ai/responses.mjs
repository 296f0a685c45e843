// Vercel's AI SDK with its provider for OpenAI, which speaks the Responses API, in front of a gateway. usage: responses.mjs BASE_URL MODEL
import { createOpenAI } from "@ai-sdk/openai";
import { itemReferences, main } from "./turns.mjs";

// Without store: false the SDK sends back no items but their ids, for a server to look up. It shows summaries of reasoning alone,
// which the model named "reasoning-as-summary" has, and sends sealed reasoning back, which it asks for where it is told that the
// model reasons.
await main((baseURL, model, headers) => ({
  model: createOpenAI({ baseURL, apiKey: "none", headers }).responses(model),
  providerOptions: { openai: { store: false, forceReasoning: true, reasoningSummary: "auto" } },
}), process.argv[3] === "reasoning-as-summary", [
  ["without store: false the second step is refused, and the error says what to set", itemReferences((baseURL, model) => ({
    model: createOpenAI({ baseURL, apiKey: "none" }).responses(model), providerOptions: {},
  }))],
]);

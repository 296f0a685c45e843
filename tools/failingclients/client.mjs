// Asks a gateway whose server fails, through LangChain.js, and prints what its users see.
//
// usage: client.mjs BASE_URL
import { ChatOpenAI } from "@langchain/openai";

const baseURL = process.argv[2];

for (const api of ["Responses", "Chat"]) {
  let seen;
  try {
    const client = new ChatOpenAI({
      model: "gpt-oss-120b", apiKey: "none", maxRetries: 0, useResponsesApi: api === "Responses", configuration: { baseURL },
    });
    let text = "";
    for await (const piece of await client.stream("Hi")) text += piece.text;
    seen = `no error: ${JSON.stringify(text)}`;
  } catch (e) {
    seen = `raises ${e.constructor.name}: ${e.message}`;
  }
  console.log("LangChain.js 1.5.8".padEnd(22), api.padEnd(10), seen);
}

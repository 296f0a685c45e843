// LangChain.js, in front of a gateway. usage: langchain.mjs BASE_URL MODEL TASK
import { argv } from "node:process";
import { tool } from "@langchain/core/tools";
import { HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";

const [url, model, task] = argv.slice(2);
const [api, what] = task.split(" ");
const weather = { Paris: "Paris: 21 degrees", Rome: "Rome: 25 degrees" };
const getWeather = tool(({ city }) => weather[city], {
  name: "get_weather",
  description: "The current weather of a city",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
});
const llm = new ChatOpenAI({
  apiKey: "none",
  model,
  maxRetries: 0,
  useResponsesApi: api === "responses",
  configuration: { baseURL: url },
});

if (what === "stream") {
  let text = "";
  for await (const chunk of await llm.stream("What is an edge?")) {
    text += chunk.text;
  }
  console.log(text);
} else {
  const bound = llm.bindTools([getWeather]);
  const messages = [new HumanMessage("Compare the weather in Paris and Rome.")];
  for (;;) {
    const answer = await bound.invoke(messages);
    messages.push(answer);
    if (!answer.tool_calls?.length) {
      console.log(answer.text);
      break;
    }
    for (const call of answer.tool_calls) {
      messages.push(await getWeather.invoke(call));
    }
  }
}

// Vercel's AI SDK with its provider's tool for MCP servers, in front of a gateway whose responses service calls the tools.
// usage: tools.mjs BASE_URL MODEL, with the URL of an MCP server in MCP_SERVER
import assert from "node:assert/strict";
import { env } from "node:process";
import { createOpenAI } from "@ai-sdk/openai";
import { DENIED, ECHO, ECHOED, PAID, PAY, run } from "../checks.mjs";
import { ways } from "./ways.mjs";

/** What every call has: the model, and the tool. */
function call(baseURL, model, requireApproval) {
  const provider = createOpenAI({ baseURL, apiKey: "none" });
  const tools = { mcp: provider.tools.mcp({ serverLabel: "bank", serverUrl: env.MCP_SERVER, requireApproval }) };
  return { model: provider.responses(model), tools, maxRetries: 0, timeout: 60_000 };
}

/** The tools' results of a turn: the name and the text of each. */
const results = ({ steps }) => steps.flatMap((step) => step.toolResults).map(({ toolName, output }) => [toolName, output.output]);

async function called(url, model) {
  for (const ask of ways) {
    const messages = [{ role: "user", content: ECHO }];
    const first = await ask({ ...call(url, model, "never"), messages });
    assert.equal(first.text, ECHOED);
    assert.deepEqual(results(first), [["mcp.echo", "a banana"]]);
    assert.deepEqual(first.steps.flatMap((step) => step.warnings ?? []), []);
    messages.push(...first.responseMessages, { role: "user", content: ECHO });
    assert.equal((await ask({ ...call(url, model, "never"), messages })).text, ECHOED);
  }
}

async function approvals(url, model) {
  for (const ask of ways) {
    for (const [approved, text] of [[true, PAID], [false, DENIED]]) {
      const messages = [{ role: "user", content: PAY }];
      const first = await ask({ ...call(url, model, "always"), messages });
      const requests = first.steps.flatMap((step) => step.content).filter((part) => part.type === "tool-approval-request");
      assert.equal(requests.length, 1);
      messages.push(...first.responseMessages, {
        // Without providerExecuted the SDK takes it for an answer to a tool of its own.
        role: "tool", content: [{ type: "tool-approval-response", approvalId: requests[0].approvalId, approved, providerExecuted: true }],
      });
      const second = await ask({ ...call(url, model, "always"), messages });
      assert.equal(second.text, text);
      assert.deepEqual(results(second), approved ? [["mcp.pay", "2 paid"]] : []);
    }
  }
}

await run("ai", [
  ["tools.mcp: a call and a further turn, with what the server stores", called],
  ["tools.mcp: approved and denied", approvals],
]);

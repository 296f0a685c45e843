// The requests that the playground sends, in the form of each API.

// buildRequest returns the path, the headers and the body of a request. It throws an error in words if tools are none.
export function buildRequest(form) {
  const tools = parseTools(form.tools);
  if (form.api === "responses") {
    return {
      path: "/api/gateway/v1/responses",
      headers: {},
      body: compact({
        model: form.model,
        stream: true,
        store: false,
        instructions: form.instructions || undefined,
        input: form.prompt,
        reasoning: form.effort ? { effort: form.effort } : undefined,
        tools: tools.map(flat),
      }),
    };
  }
  const messages = [{ role: "user", content: form.prompt }];
  if (form.instructions) messages.unshift({ role: "developer", content: form.instructions });
  const channels = form.api === "channels";
  return {
    path: "/api/gateway/v1/chat/completions",
    headers: channels ? { "x-harmony-events": "channels" } : {},
    body: compact({
      model: form.model,
      stream: true,
      stream_options: channels ? undefined : { include_usage: true },
      messages,
      reasoning_effort: form.effort || undefined,
      tools: tools.map(nested),
    }),
  };
}

function compact(body) {
  if (body.tools.length === 0) delete body.tools;
  return JSON.parse(JSON.stringify(body)); // leaves out what is undefined
}

function parseTools(text) {
  if (text.trim() === "") return [];
  let tools;
  try {
    tools = JSON.parse(text);
  } catch (error) {
    throw new Error(`Tools are not JSON: ${error.message}`);
  }
  if (!Array.isArray(tools)) tools = [tools];
  if (tools.some((tool) => tool === null || typeof tool !== "object"))
    throw new Error("Tools are objects in an array.");
  return tools;
}

// A function stands at the top of a tool in Responses, and one level deeper in Chat. Either form is taken for both.
const flat = (tool) => (tool.type === "function" && tool.function ? { type: "function", ...tool.function } : tool);

function nested(tool) {
  if (tool.type !== "function" || tool.function) return tool;
  const { type, ...rest } = tool;
  return { type, function: rest };
}

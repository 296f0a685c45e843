// The requests that the playground sends, in the form of each API.

// buildRequest returns the path, the headers and the body of a request. form.turns are the turns of the conversation
// before it. It throws an error in words if tools are none.
export function buildRequest(form) {
  const tools = parseTools(form.tools);
  const said = form.turns.flatMap((turn) => [
    { role: "user", content: turn.prompt },
    { role: "assistant", content: turn.answer },
  ]);
  const messages = [...said, { role: "user", content: form.prompt }];
  const common = { model: form.model, stream: true, temperature: number(form.temperature) };
  const most = number(form.limit);
  const key = form.key ? { authorization: `Bearer ${form.key}` } : {};
  if (form.api === "responses") {
    return {
      path: "/api/gateway/v1/responses",
      headers: key,
      body: compact({
        ...common,
        store: false,
        max_output_tokens: most,
        instructions: form.instructions || undefined,
        input: said.length > 0 ? messages : form.prompt,
        reasoning: form.effort ? { effort: form.effort } : undefined,
        tools: tools.map(flat),
      }),
    };
  }
  if (form.api === "messages") {
    return {
      path: "/api/gateway/v1/messages",
      headers: { "anthropic-version": "2023-06-01", ...key },
      body: compact({
        ...common,
        max_tokens: most ?? MAX_TOKENS,
        system: form.instructions || undefined,
        messages,
        thinking: { type: "adaptive" }, // without it no reasoning is shown
        output_config: form.effort ? { effort: form.effort } : undefined,
        tools: tools.map(anthropic),
      }),
    };
  }
  if (form.instructions) messages.unshift({ role: "developer", content: form.instructions });
  const channels = form.api === "channels";
  return {
    path: "/api/gateway/v1/chat/completions",
    headers: channels ? { "x-harmony-events": "channels", ...key } : key,
    body: compact({
      ...common,
      max_completion_tokens: most,
      stream_options: channels ? undefined : { include_usage: true },
      messages,
      reasoning_effort: form.effort || undefined,
      tools: tools.map(nested),
    }),
  };
}

// MAX_TOKENS is how long an answer to Messages may be, where a request must say so.
const MAX_TOKENS = 32000;

function compact(body) {
  if (body.tools.length === 0) delete body.tools;
  return JSON.parse(JSON.stringify(body)); // leaves out what is undefined
}

const number = (text) => (text === "" ? undefined : Number(text));

// asCurl returns a request as a command. Whoever runs it puts the key in, if there is one.
export function asCurl(request, gateway) {
  const url = gateway + request.path.replace("/api/gateway", "");
  const lines = [`curl -N ${url}`, "-H 'content-type: application/json'"];
  for (const [name, value] of Object.entries(request.headers))
    lines.push(name === "authorization" ? '-H "authorization: Bearer $OPENAI_API_KEY"' : `-H '${name}: ${value}'`);
  lines.push(`-d '${JSON.stringify(request.body).replaceAll("'", "'\\''")}'`);
  return lines.join(" \\\n  ");
}

// parseTools returns the tools of a text. It throws an error in words if they are none.
export function parseTools(text) {
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

// A function stands at the top of a tool in Responses, and one level deeper in Chat. In Messages a tool has other names.
// Each form of OpenAI's is taken for all three, and any other form stays as it is.
const flat = (tool) => (tool.type === "function" && tool.function ? { type: "function", ...tool.function } : tool);

function nested(tool) {
  if (tool.type !== "function" || tool.function) return tool;
  const { type, ...rest } = tool;
  return { type, function: rest };
}

function anthropic(tool) {
  if (tool.type !== "function") return tool;
  const { name, description, parameters, strict } = flat(tool);
  return { name, description, input_schema: parameters ?? { type: "object" }, strict };
}

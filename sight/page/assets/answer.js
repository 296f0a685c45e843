// Reading the gateway's answers, whole or as streams, in each form of its APIs. What comes out are steps:
//
//   {do: "text", lane, choice, text}       text for a lane: "analysis", "commentary" or "answer"
//   {do: "call", choice, call, name}       a call of a tool begins; call is its key
//   {do: "arguments", choice, call, text}  more of its arguments
//   {do: "finish", finish, usage}          the regular end
//   {do: "error", error}                   the other end
//
// A whole answer gives the same steps as a stream of it.

// Answer reads one answer. step gets each step.
export class Answer {
  constructor(contentType, step) {
    this.stream = /event-stream/.test(contentType ?? "");
    this.step = step;
    this.rest = [];
    this.event = "";
    this.data = [];
    this.items = new Map(); // of a Responses stream, by output_index
    this.calls = new Set();
    this.prompt = {}; // the counts of a message's prompt, which come before it
    this.ended = false; // whether the answer's last word has come
  }

  // push reads a piece of the body.
  push(text) {
    this.rest.push(text);
    if (!this.stream || !text.includes("\n")) return;
    const lines = this.rest.join("").split("\n");
    this.rest = [lines.pop()];
    for (const line of lines) this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  // end says that no more comes.
  end() {
    const text = this.rest.join("");
    this.rest = [];
    if (this.stream) return;
    let body;
    try {
      body = JSON.parse(text);
    } catch {
      return; // cut, or no answer of the gateway's
    }
    this.whole(body);
  }

  line(line) {
    if (line === "") {
      if (this.data.length > 0) this.dispatch(this.event, this.data.join("\n"));
      this.event = "";
      this.data = [];
    } else if (line.startsWith("data:")) {
      this.data.push(line.slice(line[5] === " " ? 6 : 5));
    } else if (line.startsWith("event:")) {
      this.event = line.slice(6).trim();
    }
  }

  dispatch(event, data) {
    if (data === "[DONE]") {
      this.ended = true;
      return;
    }
    let body;
    try {
      body = JSON.parse(data);
    } catch {
      return;
    }
    if (body.error && !body.type?.startsWith?.("response.")) this.fail(body.error);
    else if (Array.isArray(body.choices)) this.chunk(body);
    else if (MESSAGE_EVENT.test(body.type)) this.messageEvent(body);
    else if (typeof body.type === "string") this.responseEvent(body);
    if (event && !body.choices) this.channelEvent(event, body);
  }

  fail(error) {
    if (this.ended) return; // response.failed says once more what error has said
    this.ended = true;
    this.step({ do: "error", error: typeof error === "object" ? error : { message: String(error) } });
  }

  text(lane, text, choice = 0) {
    if (typeof text === "string" && text !== "") this.step({ do: "text", lane, choice, text });
  }

  call(choice, call, name, text) {
    const key = `${choice}/${call}`;
    if (!this.calls.has(key)) {
      this.calls.add(key);
      this.step({ do: "call", choice, call, name: String(name ?? "") });
    }
    if (typeof text === "string" && text !== "") this.step({ do: "arguments", choice, call, text });
  }

  // Chat Completions: a chunk, or a whole answer, whose choices have messages in place of deltas.

  chunk(body) {
    for (const choice of body.choices) {
      const index = choice.index ?? 0;
      const delta = choice.delta ?? choice.message ?? {};
      this.text("analysis", delta.reasoning ?? delta.reasoning_content, index);
      this.text("answer", delta.content, index);
      for (const [i, call] of (delta.tool_calls ?? []).entries()) {
        const one = call.function ?? call.custom ?? {};
        this.call(index, call.index ?? i, one.name, one.arguments ?? one.input);
      }
      if (choice.finish_reason) this.step({ do: "finish", finish: choice.finish_reason, usage: body.usage });
    }
    if (body.choices.length === 0 && body.usage) this.step({ do: "finish", usage: body.usage });
  }

  // Channel events.

  channelEvent(event, body) {
    switch (event) {
      case "analysis":
      case "commentary":
        this.text(event, body.text);
        break;
      case "token":
        this.text("answer", body.text);
        break;
      case "tool_call":
        this.call(0, body.index, body.name, body.arguments);
        break;
      case "done":
        this.ended = true;
        this.step({ do: "finish", finish: body.finish_reason, usage: body.usage });
    }
  }

  // Responses.

  responseEvent(body) {
    const item = this.items.get(body.output_index);
    switch (body.type) {
      case "response.output_item.added":
        this.items.set(body.output_index, body.item);
        if (isCall(body.item)) this.call(0, body.output_index, nameOf(body.item));
        break;
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
        this.text("analysis", body.delta);
        break;
      case "response.output_text.delta":
      case "response.refusal.delta":
        this.text(laneOf(item), body.delta);
        break;
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
      case "response.mcp_call_arguments.delta":
        this.call(0, body.output_index, nameOf(item), body.delta);
        if (item) item.streamed = true;
        break;
      case "response.output_item.done":
        if (isCall(body.item) && !item?.streamed)
          this.call(0, body.output_index, nameOf(body.item), inputOf(body.item));
        break;
      case "response.completed":
      case "response.incomplete":
        this.finishResponse(body.response ?? {});
        break;
      case "response.failed":
        this.fail(body.response?.error ?? { message: "the response failed" });
        break;
      case "error":
        this.fail(body.error ?? body);
    }
  }

  finishResponse(response) {
    this.ended = true;
    const calls = (response.output ?? []).some(isCall);
    const finish =
      response.incomplete_details?.reason === "max_output_tokens"
        ? "length"
        : response.status === "incomplete"
          ? "incomplete"
          : calls
            ? "tool_calls"
            : "stop";
    this.step({ do: "finish", finish, usage: response.usage });
  }

  // Messages.

  messageEvent(body) {
    switch (body.type) {
      case "message_start":
        this.prompt = body.message?.usage ?? {};
        break;
      case "content_block_start":
        this.block(body.index, body.content_block ?? {});
        break;
      case "content_block_delta":
        this.messageDelta(body.index, body.delta ?? {});
        break;
      case "message_delta":
        this.finishMessage(body.delta ?? {}, body.usage);
        break;
      case "message_stop":
        this.ended = true;
    }
  }

  messageDelta(index, delta) {
    switch (delta.type) {
      case "thinking_delta":
        this.text("analysis", delta.thinking);
        break;
      case "text_delta":
        this.text("answer", delta.text);
        break;
      case "input_json_delta":
        this.call(0, index, "", delta.partial_json);
    }
  }

  // block reads a block that begins, or a whole one, whose input is not empty.
  block(index, block) {
    switch (block.type) {
      case "thinking":
        this.text("analysis", block.thinking);
        break;
      case "text":
        this.text("answer", block.text);
        break;
      case "tool_use":
        this.call(0, index, block.name);
    }
  }

  finishMessage(message, usage) {
    const u = { ...this.prompt, ...usage };
    const input = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
    this.step({
      do: "finish",
      finish: STOP_REASONS[message.stop_reason] ?? message.stop_reason,
      usage: {
        input_tokens: input.reduce((sum, name) => sum + (u[name] ?? 0), 0),
        output_tokens: u.output_tokens,
        output_tokens_details: { reasoning_tokens: u.output_tokens_details?.thinking_tokens },
      },
    });
  }

  whole(body) {
    if (body.error) return this.fail(body.error);
    if (body.type === "message") {
      for (const [i, block] of (body.content ?? []).entries()) {
        this.block(i, block);
        if (block.type === "tool_use") this.call(0, i, block.name, JSON.stringify(block.input ?? {}));
      }
      this.ended = true;
      return this.finishMessage(body, body.usage);
    }
    if (Array.isArray(body.choices)) {
      this.ended = true;
      return this.chunk(body);
    }
    for (const [i, item] of (body.output ?? []).entries()) {
      if (isCall(item)) {
        this.call(0, i, nameOf(item), inputOf(item));
        continue;
      }
      const lane = item.type === "reasoning" ? "analysis" : laneOf(item);
      for (const part of [...(item.summary ?? []), ...(item.content ?? [])]) this.text(lane, part.text ?? part.refusal);
    }
    if (body.output) this.finishResponse(body);
  }
}

const MESSAGE_EVENT = /^(message|content_block)_/;
const STOP_REASONS = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

const isCall = (item) => /_call$/.test(item?.type ?? "");
const nameOf = (item) => item?.name ?? String(item?.type ?? "").replace(/_call$/, "");
const laneOf = (item) => (item?.phase === "commentary" ? "commentary" : "answer");

function inputOf(item) {
  const input = item.arguments ?? item.input ?? item.action;
  return typeof input === "string" ? input : JSON.stringify(input ?? {});
}

// The lines of a record (docs/inspect.md) as steps for lanes, with their times.

import { Answer } from "./answer.js";

// Reader reads the lines of one record, in their order. steps are those of the chosen choice, sorted by time: steps of
// answer.js, {do: "recovery", kind}, and {do: "tokens", ids, texts}; each has at, in milliseconds after the request.
export class Reader {
  constructor() {
    this.request = null;
    this.sent = null;
    this.head = null;
    this.end = null;
    this.errors = ""; // what a server sent that is no tokens
    this.answer = "";
    this.choices = new Set();
    this.model = []; // steps of what the model wrote
    this.client = []; // steps of what the client got
    this.tokens = [];
    this.recoveries = [];
    this.messages = new Map(); // by choice
    this.last = 0;
  }

  // line reads a line, parsed.
  line(line) {
    const at = Math.min(Math.max(Number(line.at_ms) || 0, 0), 1e9); // a file may say anything
    this.last = Math.max(this.last, at);
    const choice = line.choice ?? 0;
    switch (line.type) {
      case "request":
        this.request = line;
        break;
      case "sent":
        this.sent = line;
        break;
      case "answer_head":
      case "head":
        this.head = line;
        break;
      case "message":
        this.message(line, choice, at);
        break;
      case "tokens":
        this.generated(line, choice, at);
        break;
      case "recovery":
        this.recoveries.push({ do: "recovery", kind: String(line.kind), token: line.token, choice, at });
        break;
      case "chunk":
        if (this.errors.length < 100_000) this.errors += line.body ?? "";
        break;
      case "answer":
        this.answered(line, at);
        break;
      case "end":
        this.end = line;
        this.parser?.end();
    }
  }

  message(line, choice, at) {
    this.choices.add(choice);
    const before = this.messages.get(choice);
    const message = { lane: laneOf(line), call: (before?.call ?? -1) + (line.recipient ? 1 : 0), begun: !before };
    this.messages.set(choice, message);
    if (message.lane === "calls") {
      this.model.push({ do: "call", choice, call: message.call, name: nameOf(line.recipient), at });
    }
  }

  generated(line, choice, at) {
    this.choices.add(choice);
    this.tokens.push({ do: "tokens", ids: line.ids ?? [], texts: line.texts ?? [], text: line.text ?? "", choice, at });
    const text = line.content;
    if (!text) return;
    const message = this.messages.get(choice) ?? { lane: "answer" };
    this.model.push(
      message.lane === "calls"
        ? { do: "arguments", choice, call: message.call, text, at }
        : { do: "text", lane: message.lane, choice, text, at },
    );
  }

  answered(line, at) {
    this.answer += line.body ?? "";
    this.at = at;
    this.parser ??= new Answer(this.head?.content_type, (step) => {
      if (step.choice !== undefined) this.choices.add(step.choice);
      this.client.push({ ...step, at: this.at });
    });
    this.parser.push(line.body ?? "");
  }

  // steps returns what happened to a choice, by time. What the model wrote is better than what the client got, which
  // may hide reasoning; servers that are sent conversations have only the latter.
  steps(choice) {
    const said = this.model.some((step) => step.choice === choice) ? this.model : this.client;
    const all = [...said, ...this.tokens, ...this.recoveries].filter((step) => step.choice === choice);
    all.push(...this.client.filter((step) => step.do === "error" || step.do === "finish"));
    return all.sort((a, b) => a.at - b.at);
  }
}

const nameOf = (recipient) => String(recipient ?? "").replace(/^functions\./, "");

function laneOf(message) {
  if (message.recipient && message.role !== "tool") return "calls";
  switch (message.channel) {
    case "final":
    case "":
    case undefined:
      return "answer";
    case "commentary":
      return "commentary";
    default:
      return "analysis";
  }
}

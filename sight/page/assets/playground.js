// The playground: a prompt goes to the gateway as a client's would, and the answer comes back in lanes.

import { Answer } from "./answer.js";
import { followRecord } from "./api.js";
import { el, segmented, setText, show } from "./dom.js";
import { count, milliseconds, plural, quantity, visible } from "./format.js";
import { Lanes } from "./lanes.js";
import { Reader } from "./record.js";
import { fillError } from "./replay.js";
import { asCurl, buildRequest, parseTools } from "./request.js";
import { changes, store } from "./store.js";
import { Tokens } from "./tokens.js";
import { finishOf } from "./words.js";

const APIS = [
  ["chat", "Chat"],
  ["channels", "Channels"],
  ["responses", "Responses"],
  ["messages", "Messages"],
];
const EFFORTS = [
  ["", "default"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
];

// MOST_SHOWN is how many characters of a message of the conversation are shown.
const MOST_SHOWN = 2000;

// Playground fills the view of the playground.
export class Playground {
  constructor(root) {
    this.api = "responses";
    this.effort = "";
    this.run = null;
    this.turns = [];
    this.lanes = new Lanes();
    this.tokens = new Tokens();
    this.make(root);
    changes.addEventListener("about", () => this.about());
  }

  make(root) {
    this.model = el("select", { id: "model" });
    this.prompt = el("textarea", {
      id: "prompt",
      rows: "5",
      dir: "auto",
      spellcheck: "false",
      placeholder: "Ask the model …",
    });
    this.instructions = el("textarea", { id: "instructions", rows: "2", dir: "auto", spellcheck: "false" });
    this.tools = el("textarea", {
      id: "tools",
      rows: "6",
      class: "mono",
      dir: "ltr",
      spellcheck: "false",
      placeholder: '[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{}}}]',
      "aria-describedby": "tools-error",
      oninput: () => this.checkTools(),
    });
    this.toolsError = el("p", { class: "invalid", id: "tools-error", role: "status" });
    this.key = el("input", { id: "key", type: "password", autocomplete: "off", placeholder: "none" });
    this.temperature = numberInput("temperature", { max: "2", step: "0.1" });
    this.limit = numberInput("limit", { min: "1", step: "1" });
    this.goOn = el("input", { type: "checkbox", id: "go-on", checked: true });
    this.anew = el("button", { type: "button", class: "quiet", onclick: () => this.forget() }, "New conversation");
    this.history = el("ol", { class: "turns" });
    this.send = el("button", { type: "submit", class: "primary" }, "Send");
    this.cancel = el("button", { type: "button", onclick: () => this.run?.cancel() }, "Cancel");
    this.cancel.disabled = true;
    const form = el(
      "form",
      { class: "ask", "aria-label": "Request", novalidate: true, onsubmit: (event) => this.submit(event) },
      field("Model", this.model),
      segmented("api", "API", APIS, this.api, (api) => (this.api = api)),
      segmented("effort", "Effort", EFFORTS, this.effort, (effort) => (this.effort = effort)),
      field("Prompt", this.prompt),
      el(
        "details",
        {},
        el("summary", {}, "Instructions and tools"),
        field("Instructions", this.instructions),
        field("Tools, as JSON", this.tools),
        this.toolsError,
      ),
      el(
        "details",
        {},
        el("summary", {}, "Key, temperature and length"),
        field("Client's key, which is not kept", this.key),
        field("Temperature, 0 to 2", this.temperature),
        field("Tokens of the answer at most", this.limit),
      ),
      el("label", { class: "inline" }, this.goOn, " go on with the conversation"),
      el(
        "div",
        { class: "row" },
        this.send,
        this.cancel,
        el("button", { type: "button", class: "quiet", onclick: () => this.copy() }, "Copy as curl"),
        el("span", { class: "hint" }, "Ctrl+Enter sends, Esc cancels"),
      ),
    );
    form.addEventListener("keydown", (event) => this.pressed(event, form));
    this.conversation = el(
      "details",
      { class: "panel", hidden: true },
      el("summary", {}, "Conversation so far"),
      this.history,
      this.anew,
    );
    this.command = el("pre", { class: "command mono", tabindex: "0", hidden: true });
    this.status = el("p", { class: "status", role: "status" }, "Nothing sent yet.");
    this.facts = el("dl", { class: "facts-list" });
    this.error = el("div", { class: "error", role: "alert", hidden: true });
    this.details = el(
      "details",
      { class: "panel", ontoggle: () => this.run?.follow(this.details.open) },
      el("summary", {}, "Token ids, times and repairs"),
      this.tokens.element,
    );
    this.noRecords = el(
      "p",
      { class: "hint", hidden: true },
      "This page has no records, so it shows no token ids and no replay. For a fleet ",
      el("code", {}, "harmony record"),
      " keeps them, under the request's id.",
    );
    this.record = el("p", { class: "record" });
    this.none = el(
      "p",
      { class: "empty", hidden: true },
      "This page has no gateway to talk to. On a control plane, ",
      el("code", {}, "--gateway URL"),
      " names one.",
    );
    this.work = el(
      "div",
      { class: "playground" },
      form,
      el(
        "div",
        { class: "answer" },
        this.conversation,
        this.status,
        this.command,
        this.error,
        this.lanes.element,
        this.facts,
        this.details,
        this.noRecords,
        this.record,
      ),
    );
    root.append(el("h1", { id: "title-playground" }, "Playground"), this.none, this.work);
  }

  about() {
    const about = store.about;
    show(this.none, !about.gateway);
    show(this.work, Boolean(about.gateway));
    show(this.details, Boolean(about.records));
    show(this.noRecords, !about.records);
    const chosen = this.model.value;
    this.model.replaceChildren(...(about.models ?? []).map((name) => el("option", { value: name }, visible(name))));
    if (about.models?.includes(chosen)) this.model.value = chosen;
  }

  // checkTools says what is wrong with the tools while they are typed.
  checkTools() {
    let wrong = "";
    try {
      parseTools(this.tools.value);
    } catch (error) {
      wrong = error.message;
    }
    if (wrong) this.tools.setAttribute("aria-invalid", "true");
    else this.tools.removeAttribute("aria-invalid");
    setText(this.toolsError, wrong);
    return wrong === "";
  }

  // read returns the request that the form describes, or null, and says why.
  read() {
    if (!this.checkTools()) {
      this.tools.closest("details").open = true;
      this.tools.focus();
      setText(this.status, this.toolsError.textContent);
      return null;
    }
    for (const input of [this.temperature, this.limit]) {
      if (input.validity.valid) continue;
      input.closest("details").open = true;
      input.reportValidity();
      return null;
    }
    return buildRequest({
      api: this.api,
      model: this.model.value,
      effort: this.effort,
      prompt: this.prompt.value,
      instructions: this.instructions.value,
      tools: this.tools.value,
      key: this.key.value,
      temperature: this.temperature.value,
      limit: this.limit.value,
      turns: this.goOn.checked ? this.turns : [],
    });
  }

  // copy copies the request as a command, and shows it. A page that is not from this machine may not copy.
  async copy() {
    const request = this.read();
    if (!request) return;
    const text = asCurl(request, store.about.gateway);
    setText(this.command, text);
    show(this.command, true);
    try {
      await navigator.clipboard.writeText(text);
      setText(this.status, "Copied as a command.");
    } catch {
      getSelection().selectAllChildren(this.command);
      setText(this.status, "The browser lets no page copy here. The command is selected below.");
    }
  }

  // said notes a turn that has ended well.
  said(prompt, answer) {
    this.turns.push({ prompt, answer });
    this.history.append(el("li", {}, message(prompt), message(answer)));
    show(this.conversation, true);
  }

  forget() {
    this.turns = [];
    this.history.replaceChildren();
    show(this.conversation, false);
    this.prompt.focus();
  }

  pressed(event, form) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "Escape" && this.run) {
      event.preventDefault();
      this.run.cancel();
    }
  }

  submit(event) {
    event.preventDefault();
    if (this.run?.running) return;
    const request = this.read();
    if (!request) return;
    show(this.command, false);
    if (!this.goOn.checked) this.forget();
    this.lanes.clear();
    this.tokens.clear();
    this.facts.replaceChildren();
    this.record.replaceChildren();
    show(this.error, false);
    this.run?.stop();
    this.run = new Run(this, request, this.prompt.value);
    this.run.start();
  }

  // running shows whether an answer is under way. The focus stays on a button that can be pressed.
  running(yes) {
    const focused = document.activeElement;
    this.cancel.disabled = !yes;
    this.send.disabled = yes;
    if (yes && focused === this.send) this.cancel.focus();
    if (!yes && focused === this.cancel) this.send.focus();
  }
}

// Run is one request and its answer.
class Run {
  constructor(view, request, prompt) {
    this.view = view;
    this.request = request;
    this.prompt = prompt;
    this.answer = "";
    this.called = false;
    this.abort = new AbortController();
    this.running = true;
    this.finish = "";
    this.first = null;
    this.pieces = 0;
  }

  elapsed() {
    return performance.now() - this.began;
  }

  async start() {
    this.began = performance.now();
    this.view.running(true);
    this.say("Waiting for the first token …");
    this.ticker = setInterval(() => this.tick(), 200);
    try {
      await this.ask();
    } catch (error) {
      if (this.abort.signal.aborted) this.end(`Cancelled after ${milliseconds(this.elapsed())}.`);
      else this.fail({ message: String(error.message ?? error) }, 0);
    }
    if (this.running) this.end("");
  }

  async ask() {
    let response;
    try {
      response = await fetch(this.request.path, {
        method: "POST",
        signal: this.abort.signal,
        body: JSON.stringify(this.request.body),
        headers: { "content-type": "application/json", ...this.request.headers },
      });
    } catch (error) {
      if (this.abort.signal.aborted) throw error;
      throw new Error("The page's server does not answer. Is harmony still running?");
    }
    this.status = response.status;
    this.id = response.headers.get("x-request-id") ?? "";
    const answer = new Answer(response.headers.get("content-type"), (step) => this.take(step));
    await this.read(response, answer);
    answer.end();
    if (!response.ok && !answer.ended) {
      this.fail(
        { message: `The answer has status ${response.status} and no error in the gateway's form.` },
        response.status,
      );
    } else if (!answer.ended) {
      this.fail(
        { message: "The stream ended before the answer did. The gateway or the server closed the connection." },
        0,
      );
    }
  }

  async read(response, answer) {
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      let piece;
      try {
        piece = await reader.read();
      } catch (error) {
        if (this.abort.signal.aborted) throw error;
        throw new Error("The stream broke off. The gateway or the server closed the connection.");
      }
      if (piece.done) return;
      answer.push(decoder.decode(piece.value, { stream: true }));
    }
  }

  take(step) {
    const at = this.elapsed();
    if (step.do === "error") return this.fail(step.error, this.status);
    if (step.do === "finish") {
      this.finish = step.finish ?? this.finish;
      this.usage = step.usage ?? this.usage;
      return;
    }
    if (this.first === null) {
      this.first = at;
      this.follow(this.view.details.open);
    }
    this.pieces++;
    if (step.do === "text" && step.lane === "answer") this.answer += step.text;
    this.called ||= step.do === "call";
    this.view.lanes.take(step, at);
  }

  tick() {
    if (this.first !== null) this.say(`Answering for ${milliseconds(this.elapsed() - this.first)} …`);
    else if (this.elapsed() > 1000) this.say(`Waiting for the first token for ${milliseconds(this.elapsed())} …`);
  }

  say(text) {
    setText(this.view.status, text);
  }

  cancel() {
    this.abort.abort();
  }

  fail(error, status) {
    fillError(this.view.error, error, status);
    show(this.view.error, true);
    this.end(
      this.first === null
        ? `Failed after ${milliseconds(this.elapsed())}.`
        : `The answer failed after ${milliseconds(this.elapsed())}. What came before is below.`,
    );
  }

  end(words) {
    if (!this.running) return;
    this.running = false;
    clearInterval(this.ticker);
    const ended = this.finish ? finishOf(this.finish) : "";
    if (ended && !words && this.answer && !this.called) this.view.said(this.prompt, this.answer);
    this.say(
      words ||
        (ended ? `Done in ${milliseconds(this.elapsed())}: ${ended}.` : `Done in ${milliseconds(this.elapsed())}.`),
    );
    this.view.lanes.stop();
    this.view.running(false);
    this.showFacts();
  }

  showFacts() {
    const u = this.usage ?? {};
    const written = u.completion_tokens ?? u.output_tokens;
    const thought = u.completion_tokens_details?.reasoning_tokens ?? u.output_tokens_details?.reasoning_tokens;
    const after = this.first === null ? 0 : this.elapsed() - this.first;
    const pairs = [
      ["Prompt", u.prompt_tokens ?? u.input_tokens, "token"],
      ["Generated", written, "token"],
      ["Reasoning", thought, "token"],
    ].map(([name, n, noun]) => [name, n === undefined ? null : plural(n, noun)]);
    pairs.push(["First token", this.first === null ? null : milliseconds(this.first)]);
    pairs.push(["Speed", written > 1 && after > 0 ? `${quantity(((written - 1) * 1000) / after)} tokens/s` : null]);
    pairs.push(["Pieces", this.pieces ? count(this.pieces) : null]);
    this.view.facts.replaceChildren(
      ...pairs
        .filter(([, value]) => value)
        .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
    );
    if (!this.id) return;
    this.view.record.replaceChildren(
      store.about?.records
        ? el("a", { href: `#/requests/${encodeURIComponent(this.id)}` }, "Replay this request")
        : `Request ${visible(this.id)}`,
    );
  }

  // follow shows the tokens as the server generates them, once they are asked for.
  follow(wanted) {
    if (!wanted || this.unfollow || !this.id || this.first === null || !store.about?.records) return;
    const reader = new Reader();
    let shown = 0;
    this.unfollow = followRecord(
      this.id,
      (line) => {
        reader.line(line);
        if (line.type === "tokens") this.view.tokens.take(reader.tokens.at(-1));
        if (line.type !== "recovery") return;
        const step = reader.recoveries[shown++];
        this.view.tokens.take(step);
        this.view.lanes.recovery(step.kind, step.at);
      },
      () => {},
    );
  }

  // stop ends what goes on, because another request begins.
  stop() {
    this.unfollow?.();
  }
}

function message(text) {
  return el("p", { dir: "auto" }, visible(text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)} …` : text));
}

function numberInput(id, attributes) {
  return el("input", { id, type: "number", min: "0", placeholder: "default", ...attributes });
}

function field(label, input) {
  return el("div", { class: "field" }, el("label", { for: input.id }, label), input);
}

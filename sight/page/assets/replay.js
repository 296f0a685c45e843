// One recorded request: its facts, and its answer replayed at the speed at which it came, or another.

import { followRecord, getText, parseLine, recordPath } from "./api.js";
import { el, segmented, setText, show } from "./dom.js";
import { count, milliseconds, moment, plural, quantity, visible } from "./format.js";
import { Lanes } from "./lanes.js";
import { Reader } from "./record.js";
import { Tokens } from "./tokens.js";
import { cutOf, finishOf, meaningOf, missOf, recoveryOf, routeOf } from "./words.js";

const SPEEDS = [
  ["1", "1×"],
  ["4", "4×"],
  ["max", "max"],
];

// Replay shows the record of an id.
export class Replay {
  constructor(id) {
    this.id = id;
    this.speed = "1";
    this.choice = 0;
    this.position = 0; // in milliseconds
    this.next = 0; // the first step that is not shown
    this.steps = [];
    this.playing = false;
    this.lanes = new Lanes();
    this.tokens = new Tokens();
    this.make();
    this.load();
  }

  make() {
    this.title = el("h2", { tabindex: "-1" }, "Request ", el("bdi", { class: "mono" }, visible(this.id)));
    this.facts = el("dl", { class: "facts-list" });
    this.message = el("p", { class: "note", role: "status" }, "Reading the record …");
    this.play = el("button", { type: "button", class: "primary", onclick: () => this.toggle() }, "Play");
    this.stepper = el("button", { type: "button", onclick: () => this.step() }, "Step");
    this.time = el("output", { class: "mono" });
    this.bar = el("input", {
      type: "range",
      min: "0",
      max: "0",
      step: "1",
      value: "0",
      "aria-label": "Position",
      oninput: () => this.seek(Number(this.bar.value)),
    });
    this.select = el("select", { "aria-label": "Choice", onchange: () => this.choose(Number(this.select.value)) });
    this.controls = el(
      "div",
      { class: "controls", role: "group", "aria-label": "Replay" },
      this.play,
      this.stepper,
      segmented("speed", "Speed", SPEEDS, this.speed, (speed) => (this.speed = speed)),
      this.bar,
      this.time,
      this.select,
    );
    this.error = el("div", { class: "error", role: "alert", hidden: true });
    this.prompt = disclosure("What the server got");
    this.body = disclosure("What the client sent");
    this.answer = disclosure("What the client got");
    this.element = el(
      "div",
      { class: "replay" },
      el(
        "div",
        { class: "row" },
        el("a", { href: "#/requests" }, "← All requests"),
        el("a", { href: recordPath(this.id), download: `${this.id}.jsonl` }, "Save the record"),
      ),
      this.title,
      this.facts,
      this.message,
      this.error,
      this.controls,
      this.lanes.element,
      el("details", { class: "panel" }, el("summary", {}, "Token ids, times and repairs"), this.tokens.element),
      this.body.element,
      this.prompt.element,
      this.answer.element,
    );
    show(this.controls, false);
    show(this.select, false);
  }

  async load() {
    this.reader = new Reader();
    let text;
    try {
      text = await getText(recordPath(this.id));
    } catch (error) {
      setText(this.message, `${error.message} Records are kept in memory for the last requests only.`);
      return;
    }
    if (this.gone) return;
    for (const line of text.split("\n")) {
      const parsed = line === "" ? null : parseLine(line);
      if (parsed) this.reader.line(parsed);
    }
    if (this.reader.end) this.ready();
    else this.follow();
  }

  // follow shows a request that still runs, as it runs.
  follow() {
    this.reader = new Reader();
    setText(this.message, "This request is running.");
    let due = false;
    this.unfollow = followRecord(
      this.id,
      (line) => {
        this.reader.line(line);
        if (due) return;
        due = true;
        setTimeout(() => {
          due = false;
          if (this.gone || this.reader.end) return;
          this.steps = this.reader.steps(this.choice);
          this.take(this.reader.last);
        }, 200);
      },
      () => this.gone || this.ready(),
    );
  }

  ready() {
    const { reader } = this;
    this.steps = reader.steps(this.choice);
    this.length = Math.max(reader.last, 1);
    this.lanes.score.length = this.length;
    this.bar.max = String(Math.ceil(this.length));
    this.showFacts();
    this.showError();
    this.body.fill(reader.request?.body, "The body was not recorded.");
    this.prompt.fill(promptOf(reader.sent), "Nothing was sent to a server.");
    this.answer.fill(reader.answer || undefined, "Nothing was recorded.");
    const choices = [...reader.choices].sort((a, b) => a - b);
    this.select.replaceChildren(...choices.map((c) => el("option", { value: String(c) }, `Choice ${c + 1}`)));
    show(this.select, choices.length > 1);
    const any = this.steps.some((step) => step.do === "text" || step.do === "call" || step.do === "tokens");
    show(this.controls, any);
    show(this.lanes.element, any);
    setText(
      this.message,
      any
        ? ""
        : "Only the beginning and the end of this request were recorded. harmony up --record FOLDER " +
            "keeps everything; so does the playground.",
    );
    show(this.message, !any);
    this.seek(this.length);
  }

  showFacts() {
    const { request, sent, head } = this.reader;
    const end = this.reader.end ?? {};
    const repaired = Object.entries(end.recoveries ?? {});
    const pairs = [
      ["Began", moment(request?.time)],
      ["Asked", `${request?.method ?? ""} ${request?.path ?? ""}`],
      ["Model", end.model ?? sent?.model],
      ["Pool", end.pool ?? sent?.pool],
      ["Chosen", routeOf(end.route)],
      ["Policy", end.policy],
      ["Server", [end.upstream, end.server ?? sent?.server].filter(Boolean).join(", ")],
      ["Client", end.client],
      ["Class", end.class],
      ["Queued", end.class ? milliseconds(end.queued_ms ?? 0) : null],
      ["Status", end.status ?? head?.status],
      ["Prompt", tokens(end.prompt_tokens, end.cached_tokens ? ` (${count(end.cached_tokens)} cached)` : "")],
      ["Cache", end.cache ? `${missOf(end.cache.reason)}; ${tokens(end.cache.again) ?? "no tokens"} again` : null],
      ["Generated", tokens(end.completion_tokens)],
      ["Reasoning", tokens(end.reasoning_tokens)],
      ["Preambles", tokens(end.preamble_tokens)],
      ["Calls", tokens(end.tool_call_tokens)],
      ["Answer", tokens(end.final_tokens)],
      ["First token", end.first_token_ms >= 0 ? milliseconds(end.first_token_ms) : null],
      ["Took", milliseconds(this.reader.last)],
      ["Speed", this.rate(end)],
      ["Ended", end.cut ? cutOf(end.cut) : end.finish ? finishOf(end.finish) : null],
      ["Ended early", end.early_end],
      ["Repaired", repaired.map(([k, n]) => `${count(n)} × ${recoveryOf(k)}`).join("; ")],
      ["Broken", end.broken],
      [
        "Lost",
        end.lost_frames || end.lost_lines
          ? `${plural((end.lost_frames ?? 0) + (end.lost_lines ?? 0), "line")} had no room`
          : null,
      ],
    ];
    this.facts.replaceChildren();
    for (const [name, value] of pairs) {
      if (value === null || value === undefined || value === "") continue;
      this.facts.append(el("div", {}, el("dt", {}, name), el("dd", {}, el("bdi", {}, visible(value)))));
    }
  }

  rate(end) {
    const ms = this.reader.last - end.first_token_ms;
    if (!(end.first_token_ms >= 0) || !(ms > 0) || !(end.completion_tokens > 1)) return null;
    return `${quantity(((end.completion_tokens - 1) * 1000) / ms)} tokens/s`;
  }

  showError() {
    const step = this.steps.find((s) => s.do === "error");
    show(this.error, Boolean(step));
    if (step) fillError(this.error, step.error, this.reader.end?.status ?? this.reader.head?.status ?? 0);
  }

  toggle() {
    if (this.playing) return this.pause();
    if (this.position >= this.length) this.seek(0);
    this.playing = true;
    setText(this.play, "Pause");
    if (this.speed === "max") return this.seek(this.length);
    let before = performance.now();
    const tick = (now) => {
      if (!this.playing || this.gone) return;
      const speed = this.speed === "max" ? Infinity : Number(this.speed);
      this.take(Math.min(this.position + Math.max(now - before, 0) * speed, this.length));
      before = now;
      if (this.position >= this.length) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    this.playing = false;
    setText(this.play, "Play");
  }

  // step shows the next piece that came.
  step() {
    this.pause();
    if (this.next >= this.steps.length) this.seek(0);
    else this.take(this.steps[this.next].at);
  }

  choose(choice) {
    this.choice = choice;
    this.steps = this.reader.steps(choice);
    const position = this.position;
    this.clear();
    this.take(position);
  }

  // seek shows the answer as it was at a time.
  seek(position) {
    if (position >= this.length) this.pause();
    if (position < this.position) this.clear();
    this.take(position);
  }

  clear() {
    this.next = 0;
    this.position = 0;
    this.lanes.clear();
    this.tokens.clear();
  }

  // take shows all steps up to a time that is not before the last one.
  take(position) {
    this.position = position;
    while (this.next < this.steps.length && this.steps[this.next].at <= position) {
      const step = this.steps[this.next++];
      if (step.do === "recovery") this.lanes.recovery(step.kind, step.at);
      if (step.do === "recovery" || step.do === "tokens") this.tokens.take(step);
      else this.lanes.take(step, step.at);
    }
    if (this.next >= this.steps.length) this.lanes.stop();
    this.lanes.score.total = Math.max(this.lanes.score.total, Math.min(position, this.length ?? position));
    this.bar.value = String(Math.round(position));
    this.bar.setAttribute("aria-valuetext", `${milliseconds(position)} of ${milliseconds(this.length)}`);
    setText(this.time, `${milliseconds(position)} / ${milliseconds(this.length)}`);
  }

  // close ends what goes on.
  close() {
    this.gone = true;
    this.playing = false;
    this.unfollow?.();
  }
}

const tokens = (n, more = "") => (n === undefined ? null : plural(n, "token") + more);

function promptOf(sent) {
  if (!sent) return undefined;
  const { type: _, at_ms: __, prompt_ids: ids, ...rest } = sent;
  return ids ? { ...rest, prompt_tokens: ids.length, prompt_ids: ids.length > 20_000 ? "…" : ids.join(" ") } : rest;
}

// fillError shows an error of the gateway in words: what it means, its own message, and what to do.
export function fillError(box, error, status) {
  const name = error.code || error.type; // Anthropic's errors have a type only
  const [meaning, todo] = meaningOf(name, status);
  const code = [status ? `HTTP ${status}` : "", name, error.param ? `param ${error.param}` : ""].filter(Boolean);
  box.replaceChildren(
    el("h3", {}, meaning),
    el("p", { dir: "auto" }, visible(String(error.message ?? "").slice(0, 2000))),
    el("p", {}, todo),
    el("p", { class: "mono" }, visible(code.join(" · "))),
  );
}

// disclosure is a closed panel whose text is written when it is opened.
function disclosure(title) {
  const text = el("pre", { tabindex: "0", "aria-label": title, dir: "ltr" });
  const element = el("details", { class: "panel" }, el("summary", {}, title), text);
  let write = () => {};
  element.addEventListener("toggle", () => element.open && write());
  return {
    element,
    fill(value, otherwise) {
      write = () => setText(text, value === undefined ? otherwise : spell(value));
      if (element.open) write();
    },
  };
}

const LIMIT = 200_000;

function spell(value) {
  const text = visible(typeof value === "string" ? value : JSON.stringify(value, null, 2));
  return text.length > LIMIT
    ? `${text.slice(0, LIMIT)}\n… ${plural(text.length - LIMIT, "character")} more: save the record`
    : text;
}

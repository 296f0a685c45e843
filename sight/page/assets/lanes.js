// The lanes of an answer: what the model thinks, says on its way, calls and answers, each with its text as it comes.
// Above them is the score, which shows when each lane was written.

import { el, nextFrame, setText, svg } from "./dom.js";
import { count, milliseconds, plural, visible } from "./format.js";
import { recoveryOf } from "./words.js";

// The lanes in the order in which a model fills them.
const LANES = [
  ["analysis", "Analysis", "what the model thinks"],
  ["commentary", "Commentary", "what it says on its way"],
  ["calls", "Tool calls", "what it asks to be run"],
  ["answer", "Answer", "what the user gets"],
];

// A text is cut into blocks at ends of lines, since a browser lays out a block again when it grows. What is shown of
// one lane is bounded, whatever the model writes. The whole text can be copied.
const BLOCK = 2_000;
const LONG_BLOCK = 12_000;
const SHOWN = 240_000;
const SHOWN_CALLS = 100;

// Text shows a text that grows.
class Text {
  constructor(box) {
    this.box = box;
    this.follow = true;
    box.addEventListener(
      "scroll",
      () => {
        this.follow = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
      },
      { passive: true },
    );
    this.clear();
  }

  clear() {
    this.pieces = [];
    this.length = 0;
    this.shown = 0;
    this.pending = "";
    this.hidden = null;
    this.block = null;
    this.box.replaceChildren();
    this.follow = true;
  }

  add(text) {
    this.pieces.push(text);
    this.length += text.length;
    this.pending += text;
  }

  whole() {
    return this.pieces.join("");
  }

  // flush writes what has come since the last frame.
  flush() {
    let text = this.pending;
    this.pending = "";
    if (text === "") return;
    if (text.length > SHOWN) text = text.slice(wholeFrom(text, text.length - SHOWN));
    while (text !== "") {
      if (!this.block) {
        this.block = document.createTextNode("");
        this.box.append(el("div", { class: "block", dir: "auto" }, this.block));
      }
      const end = this.endOfBlock(text);
      this.block.appendData(text.slice(0, end.keep));
      this.shown += end.keep;
      text = text.slice(end.skip);
      if (end.full) this.block = null;
    }
    this.trim();
    if (this.follow) this.box.scrollTop = this.box.scrollHeight;
  }

  // endOfBlock returns how much of a text goes into the block, where the next one begins, and whether there is one.
  endOfBlock(text) {
    const room = BLOCK - this.block.length;
    const line = text.indexOf("\n", Math.max(0, room));
    const most = LONG_BLOCK - this.block.length;
    if (line >= 0 && line < most) return { keep: line, skip: line + 1, full: true };
    if (text.length <= most) return { keep: text.length, skip: text.length, full: false };
    const cut = wholeFrom(text, most);
    return { keep: cut, skip: cut, full: true };
  }

  trim() {
    while (this.shown > SHOWN && this.box.childElementCount > 2) {
      const first = this.hidden ? this.hidden.nextElementSibling : this.box.firstElementChild;
      this.shown -= first.textContent.length;
      first.remove();
      if (!this.hidden) this.box.prepend((this.hidden = el("p", { class: "cutoff" })));
    }
    if (this.hidden)
      setText(this.hidden, `${plural(this.length - this.shown, "character")} above are not shown. Copy has all.`);
  }
}

// wholeFrom returns the first index from i on that does not cut a pair of surrogates.
function wholeFrom(text, i) {
  const code = text.charCodeAt(i);
  return code >= 0xdc00 && code <= 0xdfff ? i + 1 : i;
}

// Lanes shows one answer.
export class Lanes {
  constructor() {
    this.score = new Score();
    this.lanes = {};
    this.element = el("div", { class: "lanes" }, this.score.element);
    for (const [name, title, hint] of LANES) this.element.append(this.makeLane(name, title, hint));
    this.draw = () => this.flush();
    this.clear();
  }

  makeLane(name, title, hint) {
    const facts = el("span", { class: "facts" });
    const copy = el(
      "button",
      {
        class: "quiet small",
        type: "button",
        "aria-label": `Copy ${title.toLowerCase()}`,
        onclick: () => this.copy(name, copy),
      },
      "Copy",
    );
    const box = el("div", { class: "text", tabindex: "0", role: "log", "aria-label": title, "aria-live": "off" });
    const lane = el(
      "section",
      { class: "lane", "data-lane": name, "data-state": "empty", "aria-label": title },
      el("header", {}, el("h3", {}, title), el("span", { class: "hint" }, hint), facts, copy),
      box,
    );
    this.lanes[name] = { element: lane, facts, box, text: name === "calls" ? null : new Text(box) };
    return lane;
  }

  clear() {
    this.calls = new Map();
    this.active = "";
    this.begun = 0; // lanes
    for (const lane of Object.values(this.lanes)) {
      lane.first = null;
      lane.last = null;
      lane.pieces = 0;
      lane.text?.clear();
      lane.element.dataset.state = "empty";
      delete lane.element.dataset.order;
      setText(lane.facts, "");
    }
    this.lanes.calls.box.replaceChildren();
    this.score.clear();
  }

  // take shows a step of an answer (answer.js) that came so many milliseconds after the request.
  take(step, at) {
    switch (step.do) {
      case "text":
        this.came(step.lane, at);
        this.lanes[step.lane].text.add(step.text);
        break;
      case "call":
        this.came("calls", at);
        this.addCall(step);
        break;
      case "arguments":
        this.came("calls", at);
        this.calls.get(`${step.choice}/${step.call}`)?.text.add(step.text);
        break;
      default:
        return;
    }
    nextFrame(this.draw);
  }

  // recovery shows that the gateway has repaired something.
  recovery(kind, at) {
    this.score.recovery(kind, at);
    nextFrame(this.draw);
  }

  // stop says that the answer has ended.
  stop() {
    this.active = "";
    nextFrame(this.draw);
  }

  came(name, at) {
    const lane = this.lanes[name];
    if (lane.first === null) {
      lane.first = at;
      lane.element.dataset.order = ++this.begun;
    }
    lane.last = at;
    lane.pieces++;
    this.active = name;
    this.score.note(name, at);
  }

  addCall(step) {
    const key = `${step.choice}/${step.call}`;
    if (this.calls.has(key)) return;
    const box = el("div", { class: "arguments", dir: "ltr" });
    const call = { name: step.name, text: new Spelled(box) };
    this.calls.set(key, call);
    const list = this.lanes.calls.box;
    if (this.calls.size <= SHOWN_CALLS) {
      list.append(el("div", { class: "call" }, el("bdi", { class: "name" }, visible(step.name || "unnamed")), box));
    } else if (this.calls.size === SHOWN_CALLS + 1) {
      list.append(el("p", { class: "cutoff" }, `Only the first ${SHOWN_CALLS} calls are shown. Copy has all.`));
    }
  }

  flush() {
    for (const [name, lane] of Object.entries(this.lanes)) {
      lane.text?.flush();
      if (lane.first === null) continue;
      lane.element.dataset.state = name === this.active ? "active" : "filled";
      const amount = name === "calls" ? plural(this.calls.size, "call") : plural(lane.text.length, "character");
      const first = milliseconds(lane.first);
      const time = lane.last > lane.first ? `${first} – ${milliseconds(lane.last)}` : first;
      setText(lane.facts, `${amount} · ${time}`);
    }
    for (const call of this.calls.values()) call.text.flush();
    this.score.draw();
  }

  async copy(name, button) {
    let text = this.lanes[name].text?.whole();
    if (name === "calls") text = [...this.calls.values()].map((c) => `${c.name} ${c.text.whole()}`).join("\n");
    try {
      await navigator.clipboard.writeText(text);
      setText(button, "Copied");
    } catch {
      setText(button, "No clipboard");
    }
    setTimeout(() => setText(button, "Copy"), 1500);
  }
}

// Spelled is a Text of which marks of direction and controls are spelled out, because arguments are data.
class Spelled extends Text {
  add(text) {
    const spelled = visible(text);
    this.pieces.push(text);
    this.length += spelled.length;
    this.pending += spelled;
  }
}

const WIDTH = 1000;
const STAFF = 15;
const BINS = 400;

// Score draws when each lane was written, on one line of a staff for each lane, and what was repaired above them.
class Score {
  constructor() {
    this.paths = {};
    this.length = null; // how long the answer takes, if that is known, as it is in a replay
    const height = STAFF * (LANES.length + 1);
    this.marks = svg("g", { class: "marks" });
    this.head = svg("line", { class: "head", y1: 2, y2: height - 2 });
    this.picture = svg("svg", {
      viewBox: `0 0 ${WIDTH} ${height}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    for (const [i, [name]] of LANES.entries()) {
      const y = STAFF * (i + 1);
      this.picture.append(svg("line", { class: "staff", x1: 0, x2: WIDTH, y1: y, y2: y }));
      this.picture.append((this.paths[name] = svg("path", { "data-lane": name })));
    }
    this.picture.append(this.marks, this.head);
    this.words = el("p", { class: "sr" });
    this.axis = el("div", { class: "axis" }, el("span", {}, "0 ms"), el("span", { class: "total" }));
    this.element = el("div", { class: "score", hidden: true }, this.picture, this.axis, this.words);
    this.clear();
  }

  clear() {
    this.notes = Object.fromEntries(LANES.map(([name]) => [name, new Map()]));
    this.recoveries = [];
    this.unit = 1 / 16; // milliseconds of one bin
    this.total = 0;
    this.element.hidden = true;
    this.marks.replaceChildren();
  }

  note(lane, at) {
    this.reach(at);
    const bin = Math.floor(at / this.unit);
    this.notes[lane].set(bin, (this.notes[lane].get(bin) ?? 0) + 1);
  }

  recovery(kind, at) {
    this.reach(at);
    if (this.recoveries.length < 200) this.recoveries.push({ kind, at });
  }

  // reach makes room for a time: bins are joined in pairs, so that there are never more than BINS.
  reach(at) {
    this.total = Math.max(this.total, at);
    while (at / this.unit >= BINS) {
      this.unit *= 2;
      for (const [lane, bins] of Object.entries(this.notes)) {
        const joined = new Map();
        for (const [bin, n] of bins) joined.set(bin >> 1, (joined.get(bin >> 1) ?? 0) + n);
        this.notes[lane] = joined;
      }
    }
  }

  draw() {
    const total = Math.max(this.length ?? this.total, 1);
    this.element.hidden = this.total === 0;
    const wide = Math.max(3, (this.unit / total) * WIDTH);
    for (const [i, [name]] of LANES.entries()) {
      const y = STAFF * (i + 1);
      let path = "";
      for (const bin of this.notes[name].keys()) {
        const x = Math.min(((bin * this.unit) / total) * WIDTH, WIDTH - wide);
        path += `M${x.toFixed(1)} ${y - 4.5}h${wide.toFixed(1)}v9h${(-wide).toFixed(1)}z`;
      }
      this.paths[name].setAttribute("d", path);
    }
    const x = (Math.min(this.total, total) / total) * WIDTH;
    this.head.setAttribute("x1", x);
    this.head.setAttribute("x2", x);
    this.marks.replaceChildren(
      ...this.recoveries.map(({ kind, at }) => {
        const mark = svg("path", { d: `M${((at / total) * WIDTH).toFixed(1)} 1l5 5l-5 5l-5 -5z` });
        mark.append(svg("title", {}, `${recoveryOf(kind)} (${kind}), ${milliseconds(at)}`));
        return mark;
      }),
    );
    setText(this.axis.lastChild, milliseconds(total));
    const filled = LANES.filter(([name]) => this.notes[name].size > 0).map(([, title]) => title.toLowerCase());
    setText(
      this.words,
      `Written in ${milliseconds(total)}: ${filled.join(", ")}; ${count(this.recoveries.length)} repaired.`,
    );
  }
}

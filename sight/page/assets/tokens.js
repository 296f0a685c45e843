// The tokens of an answer with their ids, times and repairs.

import { el, nextFrame, setText } from "./dom.js";
import { count, milliseconds, plural, visible } from "./format.js";
import { recoveryOf } from "./words.js";

const SHOWN = 400; // rows

// Tokens lists what a server has generated, a row for each piece that came. The newest rows are shown.
export class Tokens {
  constructor() {
    this.rows = el("ol", { class: "rows", tabindex: "0", "aria-label": "Tokens with their times" });
    this.facts = el("p", { class: "facts" });
    this.element = el("div", { class: "tokens" }, this.facts, this.rows);
    this.draw = () => this.flush();
    this.clear();
  }

  clear() {
    this.number = 0;
    this.repairs = 0;
    this.pieces = 0;
    this.before = null;
    this.waiting = [];
    this.rows.replaceChildren();
    setText(this.facts, "No token yet.");
  }

  // take shows a step {do: "tokens"} or {do: "recovery"} of record.js.
  take(step) {
    this.waiting.push(step);
    if (step.do === "tokens") {
      step.number = this.number;
      step.gap = this.before === null ? null : step.at - this.before;
      this.number += step.ids.length;
      this.before = step.at;
      this.pieces++;
    } else {
      this.repairs++;
    }
    nextFrame(this.draw);
  }

  flush() {
    if (this.waiting.length === 0) return;
    const rows = this.waiting.slice(-SHOWN).map(row);
    this.waiting = [];
    this.rows.append(...rows);
    while (this.rows.childElementCount > SHOWN) this.rows.firstElementChild.remove();
    const hidden = this.pieces + this.repairs - this.rows.childElementCount;
    setText(
      this.facts,
      `${plural(this.number, "token")} in ${plural(this.pieces, "piece")}, ${count(this.repairs)} repaired` +
        (hidden > 0 ? `. The last ${SHOWN} rows are shown; the record has all.` : "."),
    );
    this.rows.scrollTop = this.rows.scrollHeight;
  }
}

function row(step) {
  if (step.do === "recovery") {
    return el(
      "li",
      { class: "repair" },
      el("span", { class: "at" }, milliseconds(step.at)),
      el("span", {}, `repaired at token ${count(step.token ?? 0)}: ${recoveryOf(step.kind)} (${step.kind})`),
    );
  }
  const ids = el("span", { class: "ids" });
  for (const [i, id] of step.ids.slice(0, 64).entries()) {
    const text = step.texts[i];
    ids.append(
      el(
        "span",
        { class: /^<\|.*\|>$/.test(text ?? "") ? "token control" : "token" },
        el("span", { class: "id" }, String(id)),
        text === undefined ? null : el("bdi", {}, shown(text)),
      ),
      " ",
    );
  }
  if (step.ids.length > 64) ids.append(`and ${count(step.ids.length - 64)} more`);
  if (step.text) ids.append(el("bdi", { class: "raw" }, shown(step.text.slice(0, 400))));
  return el(
    "li",
    {},
    el("span", { class: "at" }, milliseconds(step.at)),
    el("span", { class: "gap" }, step.gap === null ? "" : `+${milliseconds(step.gap)}`),
    ids,
  );
}

// shown makes ends of lines and spaces at the edges visible.
const shown = (text) => visible(text).replaceAll("\n", "⏎").replaceAll("\t", "⇥").replace(/^ | $/g, "␣");

// The requests that were recorded, as they come, and one of them opened.

import { el, explained, nextFrame, setText, show, sync } from "./dom.js";
import { clock, count, milliseconds, quantity, visible } from "./format.js";
import { Replay } from "./replay.js";
import { changes, store } from "./store.js";
import { cutOf, finishOf, recoveryOf } from "./words.js";

const SHOWN = 200;

// Requests fills the view of the requests.
export class Requests {
  constructor(root) {
    this.root = root;
    this.replay = null;
    this.filter = el("input", {
      type: "search",
      id: "filter",
      placeholder: "server, pool, API, id …",
      autocomplete: "off",
      oninput: () => nextFrame(this.draw),
    });
    this.choices = CHOICES.map((choice) => ({
      ...choice,
      select: el("select", { "aria-label": choice.title, onchange: () => nextFrame(this.draw) }),
    }));
    this.failed = el("input", { type: "checkbox", onchange: () => nextFrame(this.draw) });
    this.body = el("tbody");
    this.table = el(
      "table",
      { class: "requests" },
      el("thead", {}, el("tr", {}, ...HEADS.map(makeHead))),
      this.body,
    );
    this.empty = el("p", { class: "empty" });
    this.list = el(
      "div",
      {},
      el("h1", { id: "title-requests" }, "Requests"),
      el(
        "div",
        { class: "row" },
        el("label", { class: "inline", for: "filter" }, "Filter"),
        this.filter,
        ...this.choices.map(({ select }) => select),
        el("label", { class: "inline" }, this.failed, " failed or repaired only"),
      ),
      this.table,
      this.empty,
    );
    this.detail = el("div", { class: "detail" });
    root.append(this.list, this.detail);
    this.draw = () => this.update();
    for (const what of ["requests", "about"]) changes.addEventListener(what, () => nextFrame(this.draw));
    setInterval(() => this.running && nextFrame(this.draw), 1000);
  }

  // shown shows the list, or the request of an id.
  shown(id) {
    if (this.replay?.id !== id) {
      this.replay?.close();
      this.replay = id ? new Replay(id) : null;
      this.detail.replaceChildren(...(this.replay ? [this.replay.element] : []));
      this.replay?.title.focus();
    }
    show(this.list, !id);
    nextFrame(this.draw);
  }

  update() {
    if (this.root.hidden || this.list.hidden) return;
    const wanted = this.filter.value.trim().toLowerCase();
    const all = [...store.requests.values()].reverse();
    for (const choice of this.choices) offer(choice, all);
    const chosen = this.choices.filter(({ select }) => select.value !== "");
    const fit = all.filter(
      (s) =>
        (!this.failed.checked || isBad(s)) &&
        (wanted === "" || textOf(s).includes(wanted)) &&
        chosen.every(({ of, select }) => of(s).includes(select.value)),
    );
    this.running = fit.some((s) => s.running);
    sync(this.body, fit.slice(0, SHOWN), (s) => s.id, makeRow, updateRow);
    show(this.table, fit.length > 0);
    setText(this.empty, this.words(all.length, fit.length));
    show(this.empty, this.empty.textContent !== "");
  }

  words(all, fit) {
    if (!store.recordsKnown) return "Reading …";
    if (!store.about?.records)
      return "This page has no records. harmony up keeps them, and harmony record does for a fleet.";
    if (all === 0) {
      return (
        "Nothing is recorded yet. The playground's requests are recorded always; harmony up --record FOLDER or " +
        "--watch records all others."
      );
    }
    if (fit === 0) return "No request fits the filter.";
    return fit > SHOWN ? `The last ${SHOWN} of ${count(fit)} requests are shown.` : "";
  }
}

const isBad = (s) => s.status >= 400 || Boolean(s.cut) || s.finish === "error" || repaired(s) > 0 || Boolean(s.broken);
const repaired = (s) => Object.values(s.recoveries ?? {}).reduce((sum, n) => sum + n, 0);
const textOf = (s) =>
  [s.id, s.model, s.api, s.pool, s.policy, s.server, s.status, s.finish, s.cut, s.path, s.client, s.upstream, s.class]
    .join(" ")
    .toLowerCase();

function stateOf(s) {
  if (s.running) return ["running", "running"];
  if (s.broken) return ["bad", "record cut"];
  if (s.cut) return ["bad", cutOf(s.cut)];
  if (s.finish === "error") return ["bad", s.status ? `${s.status}, failed` : "failed"];
  if (s.status >= 500) return ["bad", String(s.status)];
  if (s.status >= 400) return ["warn", String(s.status)];
  return ["ok", s.finish ? finishOf(s.finish) : String(s.status || "done")];
}

// CHOICES are the lists beside the filter: what each is called when nothing is chosen, and what a request has of it.
const CHOICES = [
  { title: "every status", of: classesOf },
  { title: "every model", of: (s) => (s.model ? [s.model] : []) },
  { title: "every client", of: (s) => (s.client ? [s.client] : []) },
];

// classesOf returns the words by which a request's status is chosen.
function classesOf(s) {
  if (s.running) return ["running"];
  const all = s.status ? [String(s.status), `${Math.floor(s.status / 100)}xx`] : ["no status"];
  return s.cut ? [...all, "cut"] : all;
}

const MOST_OFFERED = 200;

// offer fills a list with what the requests have. What is chosen stays, also when no request has it any more.
function offer({ title, of, select }, requests) {
  const words = new Set(requests.flatMap(of));
  const chosen = select.value;
  if (chosen) words.add(chosen);
  const all = ["", ...[...words].sort().slice(0, MOST_OFFERED)];
  if (chosen && !all.includes(chosen)) all.push(chosen);
  sync(
    select,
    all,
    (word) => word,
    (word) => el("option", { value: word }, word === "" ? title : visible(word)),
    () => {},
  );
  select.value = chosen;
  show(select, all.length > 2 || chosen !== ""); // one of a kind is no choice
}

// HEADS are the columns: value, title, class and what the title means. Those of the class rest are left out where a
// request has nothing, if there is little room.
const HEADS = [
  [(s) => clock(Date.parse(s.time)), "Time", "first", "when the gateway had the request's headers"],
  [null, "Result", "", "how the request ended"],
  [(s) => (s.status ? String(s.status) : "–"), "Status", "wide", "the HTTP status that the client got"],
  [(s) => visible(s.model ?? s.path ?? "–"), "Model", ""],
  [(s) => s.api ?? "–", "API", "small"],
  [(s) => visible(s.client ?? "–"), "Client", "rest", "the client's name in the keys file, known at the end"],
  [(s) => visible(s.pool ?? "–"), "Pool", "rest"],
  [(s) => visible(s.upstream ?? "–"), "Server", "rest", "the server that was asked last, known at the end"],
  [(s) => (s.prompt_tokens ? count(s.prompt_tokens) : "–"), "Tokens in", "number", "tokens of the prompt"],
  [(s) => (s.completion_tokens ? count(s.completion_tokens) : "–"), "out", "number", "tokens that the server wrote"],
  [(s) => milliseconds(s.first_token_ms), "First token", "number small", "the time to the server's first token"],
  [(s) => (s.tokens_per_second ? quantity(s.tokens_per_second) : "–"), "Tokens/s", "number small",
    "the tokens after the first one, by their time"],
  [(s) => milliseconds(s.running ? Date.now() - Date.parse(s.time) : s.duration_ms), "Took", "number"],
  [(s) => (repaired(s) ? count(repaired(s)) : "–"), "Repaired", "number small",
    "how often the model's output was repaired"],
];

function makeHead([, name, extra, meaning]) {
  return el("th", { scope: "col", class: extra }, meaning ? explained(name, meaning) : name);
}

function makeRow(s) {
  const row = el("tr");
  for (const [value, name, extra] of HEADS) {
    const cell = el("td", { class: extra, "data-head": name });
    if (name === "Time") cell.append(el("a", { href: `#/requests/${encodeURIComponent(s.id)}` }));
    else if (!value) cell.append(el("span", { class: "chip" }));
    else cell.append(el("bdi"));
    row.append(cell);
  }
  row.addEventListener("click", (event) => {
    if (event.target.closest("a") || String(getSelection())) return;
    location.hash = `#/requests/${encodeURIComponent(s.id)}`;
  });
  return row;
}

function updateRow(row, s) {
  const [tone, words] = stateOf(s);
  for (const [i, [value]] of HEADS.entries()) {
    const inner = row.children[i].firstChild;
    setText(inner, value ? value(s) : words);
    row.children[i].classList.toggle("none", inner.textContent === "–");
    if (!value) inner.dataset.tone = tone;
  }
  row.title = Object.entries(s.recoveries ?? {})
    .map(([kind, n]) => `${n} × ${recoveryOf(kind)}`)
    .join("\n");
}

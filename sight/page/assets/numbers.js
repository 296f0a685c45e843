// The numbers of servers, pools, models and clients within a window, in a table.

import { getJSON } from "./api.js";
import { el, explained, nextFrame, segmented, setText, show, sync } from "./dom.js";
import { count, milliseconds, minute, plural, quantity, visible } from "./format.js";

const SHOWN = 200;

const KINDS = [
  ["server", "servers"],
  ["pool", "pools"],
  ["model", "models"],
  ["client", "clients"],
];

const WINDOWS = [
  ["5", "5 min"],
  ["15", "15 min"],
  ["60", "1 h"],
];

const known = (value, text) => (value === undefined || value === null ? "–" : text(value));
const percent = (share) => `${quantity(100 * share)} %`;
const mean = (n, most, text) =>
  known(n, () => (most === undefined || text(most) === text(n) ? text(n) : `${text(n)}, at most ${text(most)}`));

const load = [
  ["Running", (n) => mean(n.running, n.running_most, quantity), "requests that the server works on, on average"],
  ["Waiting", (n) => mean(n.waiting, n.waiting_most, quantity), "requests in the server's own queue, on average"],
  ["Cache", (n) => mean(n.cache, n.cache_most, percent), "the part of the KV cache that is used"],
];
const missed = ["Missed", (n) => known(n.missed_tokens, quantity),
  "tokens of earlier prompts that were computed again, where cache_reasons is set"];
const traffic = [
  ["Requests", (n) => known(n.requests, count), "requests that ended"],
  ["Errors", (n) => errorsOf(n), "5xx; of servers also attempts that were cut, of clients all but 2xx and 429"],
  ["429", (n) => known(n.limited, count), "requests beyond a limit, or beyond what servers take"],
];

const firstToken = ["First token", (n) => milliseconds(n.first_token_ms),
  "the mean time to the first token, as servers tell it"];

// COLUMNS are what a table has of each kind: title, value, and what it means.
const COLUMNS = {
  server: [
    ["Pool", (n) => visible(n.pool ?? "–"), ""],
    ...traffic.slice(0, 2),
    ...load,
    firstToken,
  ],
  pool: [...traffic.slice(0, 2), ...load, firstToken],
  model: [
    ...traffic,
    ["Tokens in", (n) => known(n.tokens_in, quantity), "tokens of prompts"],
    ["Tokens out", (n) => known(n.tokens_out, quantity), "tokens of answers"],
    missed,
  ],
  client: [...traffic, ["Tokens", (n) => known(n.tokens_out, quantity), "tokens of prompts and answers"], missed],
};

const EMPTY = {
  server: "No server is known in this time.",
  pool: "No pool has had a request in this time, or these Envoys' bootstrap is of before pools were counted here.",
  model: "No model has had a request in this time.",
  client: "No known client has had a request in this time, or there is no keys file.",
};

function errorsOf(n) {
  if (n.errors === undefined) return "–";
  return n.errors > 0 && n.requests > 0 ? `${count(n.errors)} (${percent(n.errors / n.requests)})` : count(n.errors);
}

// Numbers is a section of the view of the load.
export class Numbers {
  constructor() {
    this.kind = "server";
    this.minutes = "5";
    this.rows = null;
    this.had = el("p", { class: "hint", role: "status", hidden: true });
    this.head = el("tr");
    this.body = el("tbody");
    this.table = el("table", {}, el("thead", {}, this.head), this.body);
    this.empty = el("p", { class: "empty" }, "Reading …");
    this.element = el(
      "section",
      { class: "numbers", "aria-labelledby": "title-numbers" },
      el("h2", { id: "title-numbers" }, "By server, pool, model and client"),
      el(
        "div",
        { class: "row" },
        segmented("numbers-of", "Of", KINDS, this.kind, (kind) => {
          this.kind = kind;
          nextFrame(this.draw);
        }),
        segmented("numbers-in", "In the last", WINDOWS, this.minutes, (minutes) => {
          this.minutes = minutes;
          this.ask();
        }),
      ),
      this.had,
      el("div", { class: "card scrolls" }, this.table, this.empty),
    );
    this.draw = () => this.update();
  }

  // ask asks for the numbers of the window, once at a time.
  async ask() {
    if (this.asking === this.minutes) return;
    const minutes = (this.asking = this.minutes);
    try {
      const answer = await getJSON(`/api/numbers?minutes=${minutes}`);
      if (minutes === this.minutes && Array.isArray(answer?.rows)) {
        this.rows = answer.rows;
        setText(this.had, hadOf(answer));
        show(this.had, this.had.textContent !== "");
      }
    } catch {
      // The rows stay as they are; the connection shows that something is wrong.
    }
    if (this.asking === minutes) this.asking = null;
    nextFrame(this.draw);
  }

  update() {
    const all = this.rows ?? [];
    let rows = all.filter((n) => n.of === this.kind);
    if (this.kind === "pool") rows = rows.map((pool) => ({ ...pool, ...loadOf(all, pool.name) }));
    const columns = [[KINDS.find(([kind]) => kind === this.kind)[1].slice(0, -1), null, ""], ...COLUMNS[this.kind]];
    sync(
      this.head,
      columns,
      ([title]) => `${this.kind} ${title}`,
      ([title, , meaning]) =>
        el(
          "th",
          { scope: "col", "data-head": capital(title) },
          meaning ? explained(capital(title), meaning) : capital(title),
        ),
      () => {},
    );
    sync(
      this.body,
      rows.slice(0, SHOWN),
      (n) => `${n.of} ${n.pool ?? ""} ${n.name}`,
      () => el("tr", {}, ...columns.map(([title]) => el("td", { "data-head": capital(title) }, el("bdi")))),
      (row, n) => {
        row.dataset.tone = n.errors > 0 ? "bad" : "";
        for (const [i, [, value]] of columns.entries())
          setText(row.children[i].firstChild, value ? value(n) : visible(n.name));
      },
    );
    show(this.table, rows.length > 0);
    show(this.empty, rows.length === 0 || rows.length > SHOWN);
    setText(
      this.empty,
      rows.length > SHOWN
        ? `The first ${SHOWN} of ${count(rows.length)} are shown.`
        : this.rows
          ? EMPTY[this.kind]
          : "Reading …",
    );
  }
}

const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

// hadOf says what of a window is known, if that is not all of it. The minute that runs is never whole.
function hadOf({ minutes, known, since }) {
  if (!since || known >= minutes - 1) return "";
  const before = Math.floor(Date.now() / 60_000) - minutes + 1 < since / 60;
  if (!before) return `${known} of these ${minutes} minutes are known: the program did not run in the others.`;
  const holes = Math.floor(Date.now() / 60_000) - since / 60 + 1 - known; // one may be the minute that runs
  return (
    `Only ${plural(known, "minute")} of these ${count(minutes)} are known: nothing was recorded before ` +
    minute(since * 1000) +
    (holes > 1 ? `, and the program did not run in ${plural(holes, "minute")} since` : "") +
    "."
  );
}

// loadOf adds up what the servers of a pool tell.
function loadOf(all, pool) {
  const servers = all.filter((n) => n.of === "server" && n.pool === pool);
  const sum = (key) => {
    const told = servers.filter((n) => n[key] !== undefined);
    return told.length > 0 ? told.reduce((total, n) => total + n[key], 0) : undefined;
  };
  const caches = servers.filter((n) => n.cache !== undefined).map((n) => n.cache);
  const timed = servers.filter((n) => n.first_tokens > 0);
  const tokens = timed.reduce((total, n) => total + n.first_tokens, 0);
  return {
    running: sum("running"),
    waiting: sum("waiting"),
    cache: caches.length ? Math.max(...caches) : undefined,
    first_token_ms: tokens ? timed.reduce((all, n) => all + n.first_token_ms * n.first_tokens, 0) / tokens : undefined,
  };
}

// The fleet: what needs attention, the pools and their servers, the Envoys, the configuration and the filter.

import { LATE, attentionOf, missingOf, rolloutText } from "./attention.js";
import { el, explained, nextFrame, setText, show, sync } from "./dom.js";
import { ago, count, facts as joined, milliseconds, moment, plural, quantity, visible } from "./format.js";
import { changes, latest, store } from "./store.js";
import { policyOf, resourceOf, stateOf } from "./words.js";

const FIRST = 30; // how many pools, servers of a pool, and Envoys are shown at first

// TILES are the numbers at the top, and what they mean.
const TILES = {
  "Servers ready": "servers that serve their models, of all that the operator has not drained",
  "Envoys current": "Envoys that have accepted all that the control plane hands out now, of those that should be there",
  Streams: "requests that the Envoys have open now",
  "Tokens generated/s": "reasoning, calls and answers, over the last 5 seconds",
  "Requests/s": "requests that ended, over the last 5 seconds",
};

// Fleet fills the view of the fleet.
export class Fleet {
  constructor(root) {
    this.root = root;
    this.more = new Set(); // what is shown wholly
    this.tiles = el("dl", { class: "tiles" });
    this.attention = el("section", { class: "attention", "aria-label": "What needs attention", "aria-live": "polite" });
    this.pools = el("div", { class: "pools" });
    this.morePools = el("button", { type: "button", class: "quiet more" });
    this.noPools = el("p", { class: "empty" }, "No configuration is in force, so there are no pools.");
    this.envoys = el("div", { class: "envoys" });
    this.envoysPart = el("section", {}, el("h2", {}, "Envoys"), this.envoys);
    this.settings = el("dl", { class: "facts-list wide" });
    root.append(
      el("h1", { id: "title-fleet" }, "Fleet"),
      this.tiles,
      this.attention,
      el("h2", {}, "Pools"),
      this.noPools,
      this.pools,
      this.morePools,
      this.envoysPart,
      el("section", {}, el("h2", {}, "Configuration and filter"), this.settings),
    );
    this.draw = () => this.update();
    for (const what of ["status", "history", "about"]) changes.addEventListener(what, () => nextFrame(this.draw));
    setInterval(() => nextFrame(this.draw), 10_000); // times go on without a change
  }

  shown() {
    nextFrame(this.draw);
  }

  update() {
    const status = store.status;
    if (this.root.hidden || !status) return;
    const pools = status.pools ?? [];
    const envoys = status.envoys ?? [];
    this.showTiles(pools, envoys, envoys.length + missingOf(status));
    this.showAttention(attentionOf(status));
    show(this.noPools, pools.length === 0);
    sync(
      this.pools,
      this.part(
        "pools",
        pools.toSorted((a, b) => rankOf(a) - rankOf(b)),
        this.morePools,
      ),
      (pool) => pool.name,
      () => this.makePool(),
      (card, pool) => this.updatePool(card, pool),
    );
    show(this.envoysPart, store.about?.host !== "wazero" || envoys.length > 0);
    this.differs = differencesOf(envoys);
    this.showEnvoys(envoys, missingOf(status));
    this.showSettings(status);
  }

  showTiles(pools, envoys, expected) {
    const servers = pools.flatMap((pool) => pool.servers ?? []);
    const counted = servers.filter((server) => server.state !== "draining");
    const ready = counted.filter((server) => server.state === "ready").length;
    const current = envoys.filter((envoy) => envoy.current).length;
    const generated = latest("tokens_per_second", ({ kind }) => !["prompt", "cached", "tool_output"].includes(kind));
    const tiles = [
      ["Servers ready", `${count(ready)} of ${count(counted.length)}`, ready < counted.length ? "bad" : "ok"],
      ["Streams", quantity(latest("streams")), ""],
      ["Tokens generated/s", quantity(generated), ""],
      ["Requests/s", quantity(latest("requests_per_second")), ""],
    ];
    if (expected > 0) {
      tiles.splice(1, 0, [
        "Envoys current",
        `${count(current)} of ${count(expected)}`,
        current < expected ? "bad" : "ok",
      ]);
    }
    sync(
      this.tiles,
      tiles,
      ([name]) => name,
      ([name]) => el("div", { class: "tile" }, el("dt", {}, explained(name, TILES[name])), el("dd")),
      (tile, [, value, tone]) => {
        tile.dataset.tone = tone;
        setText(tile.lastChild, value);
      },
    );
  }

  showAttention(all) {
    const list =
      all.length > 0
        ? all.slice(0, 20)
        : [
            {
              tone: "ok",
              title: "All well",
              text: "Every server is ready and every Envoy has accepted its configuration.",
            },
          ];
    if (all.length > 20) list.push({ tone: "bad", title: `And ${count(all.length - 20)} more`, text: "See below." });
    sync(
      this.attention,
      list,
      (item) => item.key ?? item.title,
      () => el("div", { class: "item" }, el("strong"), el("p", { dir: "auto" })),
      (element, item) => {
        element.dataset.tone = item.tone;
        setText(element.firstChild, item.title);
        setText(element.lastChild, item.text);
      },
    );
  }

  makePool() {
    return el(
      "section",
      { class: "card pool" },
      el("header", {}, el("h3"), el("span", { class: "chip" }), el("ul", { class: "facts" })),
      el("p", { class: "problem" }),
      el("div", { class: "queue" }),
      el("ul", { class: "servers" }),
      el("button", { type: "button", class: "quiet more" }),
    );
  }

  updatePool(card, pool) {
    const servers = sorted(pool.servers ?? []);
    const counted = servers.filter((server) => server.state !== "draining").length;
    const ready = servers.filter((server) => server.state === "ready").length;
    const [header, problem, queue, list, more] = card.children;
    setText(header.children[0], visible(pool.name));
    chip(
      header.children[1],
      pool.down ? "bad" : ready < counted ? "warn" : "ok",
      readiness(pool, ready, counted) +
        (counted < servers.length ? `, ${count(servers.length - counted)} drained` : ""),
    );
    card.toggleAttribute("data-wide", servers.length > 2);
    sync(
      header.children[2],
      [
        [`models ${(pool.models ?? []).map(visible).join(", ") || "none"}`, ""],
        [`policy ${visible(pool.policy)}`, policyOf(pool.policy)],
        [pool.spares?.length ? `spares ${pool.spares.map(visible).join(", ")}` : "", SPARES],
      ].filter(([text]) => text !== ""),
      ([text]) => text,
      ([text, meaning]) => el("li", { dir: "auto" }, meaning ? explained(text, meaning) : text),
      () => {},
    );
    setText(problem, visible(pool.problem ?? ""));
    show(problem, Boolean(pool.problem));
    updateQueue(queue, pool.queue);
    sync(
      list,
      this.part(`pool ${pool.name}`, servers, more),
      (server) => `${server.url} ${server.address}`,
      makeServer,
      updateServer,
    );
  }

  showEnvoys(envoys, missing) {
    const all = envoys.toSorted((a, b) => Number(a.current) - Number(b.current));
    this.moreEnvoys ??= el("button", { type: "button", class: "quiet more" });
    const part = this.part("envoys", all, this.moreEnvoys);
    const update = (card, envoy) => updateEnvoy(card, envoy, this.differs);
    sync(this.envoys, part, (envoy) => `${envoy.id} ${envoy.address}`, makeEnvoy, update);
    this.envoys.append(this.moreEnvoys);
    this.none ??= el("p", { class: "empty" });
    setText(
      this.none,
      (envoys.length === 0 ? "No Envoy is connected. " : "") +
        (missing > 0 ? `${plural(missing, "more Envoy")} should be there, by envoy.expect.` : ""),
    );
    if (this.none.textContent) this.envoys.append(this.none);
    else this.none.remove();
  }

  // part returns what of a list is shown, and makes its button say so.
  part(name, list, button) {
    const cut = list.length > FIRST && !this.more.has(name);
    show(button, cut);
    setText(button, `Show all ${count(list.length)}`);
    button.onclick = () => {
      this.more.add(name);
      this.update();
    };
    return cut ? list.slice(0, FIRST) : list;
  }

  showSettings(status) {
    const c = status.configuration ?? {};
    const f = status.filter ?? {};
    const versions = Object.entries(status.snapshot?.versions ?? {});
    const pairs = [
      ["Configuration", visible(c.file || "from flags")],
      ["In force since", c.loaded ? moment(c.loaded) : "never"],
      ["Error", c.error ?? "", "bad"],
      ["Filter", f.version ? visible(f.version) : f.on_envoys ? "on the Envoys' machines" : ""],
      ["Filter's file", visible(f.file ?? "")],
      ["Filter's SHA-256", f.sha256 ?? ""],
      ["Filter's error", f.error ?? "", "bad"],
      ["Rollout", rolloutText(status.rollout), status.rollout?.state === "taken_back" ? "bad" : ""],
      ["Resources", this.differs.size === 0 ? "" : versions.map(([type, version]) => `${resourceOf(type)} ${version.slice(0, 8)}`).join(" · ")],
      ["Resources since", status.snapshot?.pushed ? moment(status.snapshot.pushed) : ""],
      ["Saved", status.snapshot?.saved ? "These are the last good resources of an earlier run." : "", "bad"],
      ["This program", `${status.version ?? ""}, started ${moment(status.started)}`],
    ].filter(([, value]) => value !== "");
    sync(
      this.settings,
      pairs,
      ([name]) => name,
      ([name]) => el("div", {}, el("dt", {}, name), el("dd", {}, el("bdi"))),
      (element, [, value, tone]) => {
        element.dataset.tone = tone ?? "";
        setText(element.lastChild.firstChild, value);
      },
    );
  }
}

function readiness(pool, ready, servers) {
  if (pool.down) return `down for ${ago(pool.down)}`;
  if (pool.at_zero) return "at zero: requests wait for a server";
  return `${count(ready)} of ${plural(servers, "server")} ready`;
}

// ENDINGS are why a queue refuses requests, in words.
const ENDINGS = {
  deadline: "waited too long",
  no_server: "no server came",
  full: "the queue was full",
  client_full: "the client's share was full",
  displaced: "gave their place to others",
};

const SPARES = "pools whose servers answer when this pool has no room, or no server that is ready";

const QUEUE_HEADS = ["Class", "Waiting", "Tokens", "Oldest", "Admitted", "Refused"];

// updateQueue shows what waits for the servers of a pool.
function updateQueue(element, queue) {
  show(element, Boolean(queue));
  if (!queue) return;
  if (!element.firstChild) {
    element.append(
      el("p", { class: "facts" }),
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ...QUEUE_HEADS.map((name) => el("th", { scope: "col" }, name)))),
        el("tbody"),
      ),
      el("p", { class: "facts" }),
    );
  }
  const [facts, table, refusals] = element.children;
  const classes = queue.classes ?? [];
  const waiting = classes.reduce((sum, c) => sum + c.requests, 0);
  element.dataset.tone = queue.problem ? "warn" : queue.held && waiting > 0 ? "bad" : "";
  setText(
    facts,
    [
      queue.held && waiting > 0
        ? `Queue: ${plural(waiting, "request")} held, since no server is ready`
        : `Queue: ${waiting > 0 ? plural(waiting, "request") : "no request"} ${waiting > 1 ? "wait" : "waits"}`,
      queue.tokens_per_second > 0 ? `${quantity(queue.tokens_per_second)} tokens a second admitted of late` : "",
      queue.problem ? visible(queue.problem) : "",
    ]
      .filter(Boolean)
      .join(" · "),
  );
  show(table, classes.length > 0);
  sync(
    table.lastChild,
    classes,
    (c) => c.name,
    () => el("tr", {}, ...QUEUE_HEADS.map((name) => el("td", { "data-head": name }, el("bdi")))),
    (row, c) => {
      const values = [
        visible(c.name),
        count(c.requests),
        quantity(c.tokens),
        c.requests > 0 ? milliseconds(c.oldest_ms) : "–",
        quantity(c.ended?.admitted ?? 0),
        quantity(Object.keys(ENDINGS).reduce((sum, reason) => sum + (c.ended?.[reason] ?? 0), 0)),
      ];
      for (const [i, value] of values.entries()) setText(row.children[i].firstChild, value);
      row.dataset.tone = !queue.held && c.requests > 0 && c.oldest_ms > LATE * c.deadline_ms ? "warn" : "";
    },
  );
  const why = classes.map(refusalsOf).filter(Boolean).join("; ");
  setText(refusals, why && `Refused since the picker's start: ${why}.`);
  show(refusals, why !== "");
}

// refusalsOf says how many requests of a class were refused, and why. It is "" if none was.
function refusalsOf(c) {
  const all = Object.entries(ENDINGS).filter(([reason]) => c.ended?.[reason] > 0);
  if (all.length === 0) return "";
  return `of ${visible(c.name)} ${all.map(([reason, words]) => `${count(c.ended[reason])} (${words})`).join(", ")}`;
}

// rankOf puts pools first that need attention.
function rankOf(pool) {
  if (pool.down) return 0;
  return (pool.servers ?? []).every((server) => ["ready", "draining"].includes(server.state)) ? 2 : 1;
}

const RANK = { not_ready: 0, unreachable: 0, unknown: 1, draining: 1, ready: 2 };

const sorted = (servers) => servers.toSorted((a, b) => (RANK[a.state] ?? 1) - (RANK[b.state] ?? 1));

function chip(element, tone, text) {
  element.dataset.tone = tone;
  setText(element, text);
}

// LOST_TAGS says what a server does that does not hold answers to structural tags.
const LOST_TAGS = { dropped: "drops structural tags", refused: "refuses structural tags" };

function makeServer() {
  return el(
    "li",
    { class: "server" },
    el("span", { class: "chip" }),
    el("bdi", { class: "mono url" }),
    el("span", { class: "facts" }),
    el("p", { class: "reason", dir: "auto" }),
  );
}

function updateServer(row, server) {
  const [tone, word] = stateOf(server.state);
  const [state, url, facts, reason] = row.children;
  chip(state, tone, word);
  setText(url, visible(server.url));
  const { reach = 0, fail = 0 } = server.envoys ?? {};
  setText(
    facts,
    joined([
      server.address && !server.url.endsWith(server.address) ? visible(server.address) : "",
      server.since ? `${word} for ${ago(server.since)}` : "",
      visible(server.program ?? ""),
      server.context ? `context of ${count(server.context)} tokens` : "",
      server.vocabulary === "same" ? "same vocabulary" : server.vocabulary === "other" ? "other vocabulary" : "",
      LOST_TAGS[server.structural_tags] ?? "",
      reach + fail > 0 ? `reached by ${count(reach)} of ${plural(reach + fail, "Envoy")}` : "",
      ...loadOf(server),
    ]),
  );
  setText(reason, visible(server.reason ?? ""));
  show(reason, Boolean(server.reason));
}

// loadOf returns what is known of a server's load, and its weight, in words.
function loadOf(server) {
  const load = server.load ?? {};
  const known = (value, text) => (value === undefined ? [] : [text(value)]);
  return [
    ...known(load.running, (n) => `${count(n)} running`),
    ...known(load.waiting, (n) => `${count(n)} waiting`),
    ...known(load.cache, (n) => `cache ${Math.round(100 * n)} % full`),
    ...known(load.preemptions_per_minute, (n) => (n > 0 ? `${n} preemptions a minute` : "")),
    ...known(load.prefix_hits, (n) => `${Math.round(100 * n)} % of the prompts from the cache`),
    ...known(load.first_token_ms, (n) => `first token ${milliseconds(n)}`),
    load.problem ? `load unknown: ${visible(load.problem)}` : "",
    server.weight && server.weight !== 100 ? `weight ${server.weight}: ${visible(server.weight_reason ?? "")}` : "",
  ];
}

function makeEnvoy() {
  return el(
    "section",
    { class: "card envoy" },
    el("header", {}, el("h3", {}, el("bdi")), el("span", { class: "chip" }), el("p", { class: "facts" })),
    el("ul", { class: "types" }),
    el("div", { class: "nacks" }),
  );
}

// differencesOf returns the types of resources of which Envoys have different versions. Those that all have alike say
// nothing.
function differencesOf(envoys) {
  const versions = new Map();
  const differs = new Set();
  for (const envoy of envoys) {
    for (const [type, state] of Object.entries(envoy.types ?? {})) {
      if (!versions.has(type)) versions.set(type, state.version);
      if (state.version !== versions.get(type)) differs.add(type);
    }
  }
  return differs;
}

function updateEnvoy(card, envoy, differs) {
  const [header, types, nacks] = card.children;
  const states = Object.entries(envoy.types ?? {});
  const refused = states.filter(([, state]) => state.refused);
  setText(header.children[0].firstChild, visible(envoy.id || "without a name"));
  chip(
    header.children[1],
    refused.length > 0 ? "bad" : envoy.current ? "ok" : "warn",
    refused.length > 0 ? "refuses" : envoy.current ? "current" : "not current yet",
  );
  setText(
    header.children[2],
    joined([
      `Envoy ${visible(envoy.version ?? "")}`,
      visible(envoy.address ?? ""),
      `connected for ${ago(envoy.connected)}`,
      ...(envoy.group ? [`group ${visible(envoy.group)}`] : []),
      ...(envoy.chosen ? ["with the rollout's filter"] : []),
    ]),
  );
  sync(
    types,
    states,
    ([type]) => type,
    () => el("li", {}, el("span"), el("bdi", { class: "mono" })),
    (item, [type, state]) => {
      item.dataset.tone = state.refused ? "bad" : state.current ? "ok" : "warn";
      setText(
        item.firstChild,
        `${resourceOf(type)} ${state.refused ? "refused" : state.current ? "accepted" : "behind"}`,
      );
      setText(item.lastChild, state.version ? visible(state.version.slice(0, 8)) : "none");
      show(item.lastChild, differs.has(type));
      item.title = state.acknowledged ? `accepted ${moment(state.acknowledged)}` : "";
    },
  );
  sync(
    nacks,
    refused,
    ([type]) => type,
    () => el("div", { class: "nack" }, el("strong"), el("pre", { tabindex: "0", dir: "ltr" })),
    (item, [type, state]) => {
      setText(
        item.firstChild,
        `Refused: ${visible((state.resources ?? []).join(", ") || resourceOf(type))}, ` +
          `${plural(state.refusals ?? 1, "time")}`,
      );
      setText(item.lastChild, visible(state.error ?? ""));
    },
  );
}

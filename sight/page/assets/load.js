// The load of the last hour, in plots that share one time.

import { el, nextFrame, show } from "./dom.js";
import { Numbers } from "./numbers.js";
import { Plot } from "./plot.js";
import { changes, seriesNamed, store } from "./store.js";
import { recoveryOf } from "./words.js";

// What is plotted and what it means: which series, how their label's values are named, in which order and tone.
const PLOTS = [
  {
    title: "Tokens generated",
    meaning: "what the servers have written, by what it was",
    unit: "tokens/s",
    name: "tokens_per_second",
    label: "kind",
    stacked: true,
    named: [
      ["reasoning", "reasoning", "analysis"],
      ["preamble", "preambles", "commentary"],
      ["tool_call", "tool calls", "calls"],
      ["final", "answer", "answer"],
    ],
    only: true,
  },
  {
    title: "Tokens read",
    meaning: "prompts, and how much of them the servers had in their caches",
    unit: "tokens/s",
    name: "tokens_per_second",
    label: "kind",
    named: [
      ["prompt", "prompt", "answer"],
      ["cached", "from the server's cache", "ok"],
      ["tool_output", "tools' results", "calls"],
    ],
    only: true,
  },
  {
    title: "Requests",
    meaning: "requests that ended, by the class of their HTTP status",
    unit: "requests/s",
    name: "requests_per_second",
    label: "status",
    stacked: true,
    named: [
      ["2xx", "2xx", "ok"],
      ["4xx", "4xx", "warn"],
      ["5xx", "5xx", "bad"],
      ["none", "client left", "unknown"],
    ],
  },
  {
    title: "Time to the first token",
    meaning: "from the whole request in the gateway to the server's first token",
    unit: "ms",
    name: "first_token_ms",
    label: "quantile",
    named: [
      ["0.5", "median", "answer"],
      ["0.95", "95th percentile", "analysis"],
    ],
  },
  {
    title: "Streams",
    meaning: "requests that the Envoys have open now",
    unit: "running",
    name: "streams",
    named: [["", "streams", "answer"]],
  },
  {
    title: "Requests that wait",
    meaning: "requests that a picker holds until a server has room",
    unit: "in queues",
    name: "queued_requests",
    label: "class",
    stacked: true,
    named: [],
    optional: true, // most fleets have no queue
  },
  {
    title: "Refusals of queues",
    meaning: "requests that a picker gave up, by why",
    unit: "per minute",
    name: "queue_refusals_per_minute",
    label: "reason",
    stacked: true,
    named: [
      ["deadline", "waited too long", "warn"],
      ["full", "queue full", "bad"],
      ["client_full", "client's share full", "calls"],
      ["displaced", "displaced", "commentary"],
      ["no_server", "no server", "unknown"],
    ],
    optional: true,
  },
  {
    title: "Recoveries",
    meaning: "errors in the form of the model's output that the gateway has repaired",
    unit: "per minute",
    name: "recoveries_per_minute",
    label: "kind",
    stacked: true,
    named: [],
    words: recoveryOf,
  },
  {
    title: "Servers",
    meaning: "the servers of all pools, by their state",
    unit: "servers",
    name: "servers",
    label: "state",
    stacked: true,
    named: [
      ["ready", "ready", "ok"],
      ["unknown", "not known yet", "unknown"],
      ["not_ready", "not ready", "warn"],
      ["unreachable", "unreachable", "bad"],
      ["draining", "drained", "unknown"],
    ],
  },
  {
    title: "Refusals of Envoys",
    meaning: "resources that Envoys did not accept (NACKs): they keep what they had",
    unit: "per minute",
    name: "nacks_per_minute",
    named: [["", "NACKs", "bad"]],
    envoys: true, // there are none of them under wazero
  },
];

const TONES = ["analysis", "calls", "commentary", "answer", "ok", "bad", "warn", "unknown"];

// Load fills the view of the load.
export class Load {
  constructor(root) {
    this.root = root;
    const grid = el("div", { class: "plots" });
    this.plots = PLOTS.map((spec) => {
      const plot = new Plot({ ...spec, moved: (at) => this.mark(at) });
      grid.append(plot.element);
      return { spec, plot };
    });
    root.append(
      el("h1", { id: "title-load" }, "Load of the last hour"),
      el(
        "p",
        { class: "hint" },
        "Point at a plot to read its values, or go to it by Tab and along it by the arrow keys. Esc goes back to now.",
      ),
      grid,
    );
    this.numbers = new Numbers();
    root.append(this.numbers.element);
    this.draw = () => this.update();
    changes.addEventListener("history", () => {
      if (!this.root.hidden) this.numbers.ask();
      nextFrame(this.draw);
    });
  }

  shown() {
    this.numbers.ask();
    nextFrame(this.draw);
  }

  mark(at) {
    for (const { plot } of this.plots) plot.mark(at);
  }

  update() {
    if (this.root.hidden) return;
    const { times } = store.history;
    for (const { spec, plot } of this.plots) {
      const lines = linesOf(spec, times.length);
      show(
        plot.element,
        (!spec.envoys || store.about?.host !== "wazero") && (!spec.optional || lines.length > 0),
      );
      plot.set(times, lines);
    }
  }
}

// linesOf returns the lines of a plot. Series that differ only in other labels, such as the pool, are added up.
function linesOf(spec, length) {
  const sums = new Map();
  for (const series of seriesNamed(spec.name)) {
    const key = spec.label ? String(series.labels[spec.label] ?? "") : "";
    const sum = sums.get(key);
    if (!sum) sums.set(key, series.values.slice(0, length));
    else for (const [i, v] of series.values.entries()) if (typeof v === "number") sum[i] = (sum[i] ?? 0) + v;
  }
  const lines = [];
  for (const [key, name, tone] of spec.named) {
    if (sums.has(key)) lines.push({ name, tone, values: sums.get(key) });
    sums.delete(key);
  }
  if (spec.only) return lines;
  for (const key of [...sums.keys()].sort()) {
    const values = sums.get(key);
    lines.push({ name: spec.words ? spec.words(key) : key, tone: TONES[lines.length % TONES.length], values });
  }
  return lines;
}

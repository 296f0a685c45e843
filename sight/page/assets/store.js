// What the page knows of the fleet: the state, the last hour and the requests, kept current by /api/live.

import { getJSON } from "./api.js";

const HOUR = 3600;
const KEEP_REQUESTS = 1000;

// changes tells what of the store has changed: "about", "status", "history", "requests" or "connection".
export const changes = new EventTarget();

// store has what the server has said last. It is read by the views and written here alone.
export const store = {
  about: null,
  status: null,
  history: { interval: 5, times: [], series: new Map() },
  requests: new Map(), // summaries by id, oldest first
  recordsKnown: false,
  connection: "connecting", // then "live" or "lost"
};

const tell = (what) => changes.dispatchEvent(new Event(what));

// seriesKey names a series by its name and labels.
function seriesKey(name, labels) {
  const pairs = Object.entries(labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([name, pairs]);
}

// seriesNamed returns the series of a name, each with its labels and values.
export const seriesNamed = (name) => [...store.history.series.values()].filter((s) => s.name === name);

// latest returns the sum of the last values of a name's series that keep says yes to. It is null if there is none.
export function latest(name, keep = () => true) {
  let sum = null;
  for (const s of seriesNamed(name)) {
    const value = s.values.at(-1);
    if (keep(s.labels) && typeof value === "number") sum = (sum ?? 0) + value;
  }
  return sum;
}

function setHistory(answer) {
  const series = new Map();
  const times = answer.times ?? [];
  for (const s of answer.series ?? []) {
    const values = (s.values ?? []).slice(0, times.length);
    while (values.length < times.length) values.push(null);
    series.set(seriesKey(s.name, s.labels), { name: s.name, labels: s.labels ?? {}, unit: s.unit ?? "", values });
  }
  store.history = { interval: answer.interval_s || 5, times, series };
  tell("history");
}

function addSample(sample) {
  const { times, series } = store.history;
  const time = Number(sample.time);
  if (!Number.isFinite(time) || time <= (times.at(-1) ?? 0)) return; // the history had it already
  times.push(time);
  for (const s of sample.series ?? []) {
    const key = seriesKey(s.name, s.labels);
    let found = series.get(key);
    if (!found) {
      found = {
        name: s.name,
        labels: s.labels ?? {},
        unit: s.unit ?? "",
        values: new Array(times.length - 1).fill(null),
      };
      series.set(key, found);
    }
    found.values[times.length - 1] = s.value;
  }
  let old = 0;
  while (old < times.length && times[old] <= time - HOUR) old++;
  times.splice(0, old);
  for (const s of series.values()) {
    while (s.values.length < times.length + old) s.values.push(null);
    s.values.splice(0, old);
  }
  tell("history");
}

function addRequest(summary) {
  if (!summary?.id) return;
  store.requests.set(summary.id, summary);
  for (const id of store.requests.keys()) {
    if (store.requests.size <= KEEP_REQUESTS) break;
    store.requests.delete(id);
  }
}

let source = null;
let retry = 1000;

// connect asks for everything once and then follows. It is called again when the connection is lost, since what
// happened meanwhile is not sent again.
function connect() {
  if (source) return;
  source = new EventSource("/api/live");
  source.onopen = async () => {
    retry = 1000;
    connection("live");
    await refresh();
  };
  source.onerror = () => {
    disconnect();
    connection("lost");
    setTimeout(() => document.hidden || connect(), retry);
    retry = Math.min(retry * 2, 15_000);
  };
  on("status", (status) => {
    store.status = status;
    tell("status");
  });
  on("sample", addSample);
  on("request", (summary) => {
    addRequest(summary);
    tell("requests");
  });
  on("running", (summaries) => {
    // What has ended meanwhile has ended, however late this came.
    if (!store.recordsKnown) return; // the list comes first, since it has the order
    for (const s of summaries.toReversed()) if (store.requests.get(s.id)?.running ?? true) addRequest(s);
    tell("requests");
  });
}

function on(name, handle) {
  source.addEventListener(name, (event) => {
    let data;
    try {
      data = JSON.parse(event.data);
    } catch {
      return; // cut by the end of the connection
    }
    handle(data);
  });
}

function disconnect() {
  source?.close();
  source = null;
}

function connection(state) {
  if (store.connection === state) return;
  store.connection = state;
  tell("connection");
}

async function refresh() {
  const [about, status, history] = await Promise.allSettled(
    ["/api/about", "/api/status", "/api/history"].map((path) => getJSON(path)),
  );
  if (about.status === "fulfilled") {
    store.about = about.value;
    tell("about");
  }
  if (status.status === "fulfilled") {
    store.status = status.value;
    tell("status");
  }
  if (history.status === "fulfilled") setHistory(history.value);
  if (!store.about?.records) {
    store.recordsKnown = true;
    tell("requests");
    return;
  }
  try {
    const summaries = await getJSON("/api/records");
    for (const summary of summaries.toReversed()) addRequest(summary);
    store.recordsKnown = true;
  } catch {
    // The list stays as it is; the connection shows that something is wrong.
  }
  tell("requests");
}

// start keeps the store current from now on, while the page can be seen. A browser opens six connections to one server
// at most, for all tabs together, so hidden ones give theirs back.
export function start() {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) disconnect();
    else connect();
  });
  connect();
}

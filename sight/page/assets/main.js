// The page: its four views, by the part of the address behind #, and its colour scheme.

import { el, setText, show } from "./dom.js";
import { visible } from "./format.js";
import { Fleet } from "./fleet.js";
import { Load } from "./load.js";
import { Playground } from "./playground.js";
import { Requests } from "./requests.js";
import { changes, start, store } from "./store.js";

const VIEWS = {
  fleet: ["Fleet", Fleet],
  load: ["Load", Load],
  requests: ["Requests", Requests],
  playground: ["Playground", Playground],
};

const views = {};
for (const [name, [, View]] of Object.entries(VIEWS)) views[name] = new View(root(name));

function root(name) {
  return document.getElementById(`view-${name}`);
}

// go shows the view that the address names: #/requests/ID is a request.
function go() {
  const [, wanted = "", id = ""] = location.hash.split("/");
  const known = Object.hasOwn(VIEWS, wanted);
  const unknown = document.getElementById("unknown");
  setText(unknown, wanted === "" || known ? "" : `There is no view ${visible(location.hash)}. This is the fleet.`);
  show(unknown, unknown.textContent !== "");
  const name = known ? wanted : "fleet";
  for (const other of Object.keys(VIEWS)) show(root(other), other === name);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${VIEWS[name][0]} – Harmony Edge`;
  views[name].shown?.(decode(id));
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const THEMES = ["system", "light", "dark"];
const theme = document.getElementById("theme");

function showTheme() {
  setText(theme, `Theme: ${document.documentElement.dataset.theme ?? "system"}`);
}

theme.addEventListener("click", () => {
  const now = document.documentElement.dataset.theme ?? "system";
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("theme", next);
  } catch {
    // Storage may be forbidden. The choice then lasts until the page is loaded again.
  }
  showTheme();
});

const CONNECTION = { connecting: "connecting", live: "live", lost: "no connection" };

changes.addEventListener("connection", () => {
  const connection = document.getElementById("connection");
  connection.dataset.state = store.connection;
  setText(connection, CONNECTION[store.connection]);
});

changes.addEventListener("about", () => {
  const { host, version, gateway, admin, records } = store.about;
  // A fleet's page has no records, and so no list of them. Whoever has its address is told where records are.
  show(document.querySelector('nav a[href="#/requests"]'), records);
  const hosts = { envoy: "on Envoy", wazero: "on wazero, without Envoy", controlplane: "a control plane" };
  const parts = [
    `Harmony Edge ${visible(version ?? "")}`,
    hosts[host] ?? "",
    gateway ? `gateway ${visible(gateway)}` : "",
  ];
  document
    .getElementById("about")
    .replaceChildren(
      el("span", {}, parts.filter(Boolean).join(" · ")),
      admin ? el("a", { href: "/stats/prometheus" }, "Envoy's metrics") : "",
    );
});

// The link past the navigation moves the focus and leaves the address alone, since that names the view.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});

addEventListener("hashchange", go);
showTheme();
go();
start();

// What an operator should look at, in words.

import { ago, count, milliseconds, moment, plural, visible } from "./format.js";
import { resourceOf, stateOf } from "./words.js";

const TOLD = 24 * 3600 * 1000; // how long a rollout that was taken back needs attention, in milliseconds
const EXPIRES = 14 * 24 * 3600 * 1000; // how long before its end a certificate needs attention

// LATE is which part of their time requests may have waited before that needs attention.
export const LATE = 0.8;

// rolloutText says how a rollout of another filter goes, or is empty if there has been none.
export function rolloutText(rollout) {
  if (!rollout) return "";
  const version = visible(rollout.filter?.version ?? "");
  const reason = visible(rollout.reason ?? "");
  if (rollout.state === "done") return `${version}: done ${ago(rollout.ended)} ago: ${reason}`;
  if (rollout.state === "taken_back") return `${version}: taken back ${ago(rollout.ended)} ago: ${reason}`;
  const steps = rollout.steps ?? [];
  const step = steps[rollout.step - 1];
  const share = step ? `${Math.round(100 * step.share)} % of ${step.group ? `group ${visible(step.group)}` : "all"}` : "";
  return (
    `${version}: step ${rollout.step} of ${steps.length} (${share}), ` +
    `${count(rollout.accepted)} of ${count(rollout.envoys)} Envoys have it: ${reason}`
  );
}

// missingOf returns how many Envoys should be connected, by envoy.expect, and are not.
export const missingOf = (status) => Math.max(0, (status.expected_envoys ?? 0) - (status.envoys ?? []).length);

// attentionOf returns what an operator should look at, in words.
export function attentionOf(status) {
  const all = [];
  const c = status.configuration ?? {};
  if (c.error) all.push({ tone: "bad", title: "The configuration is not in force", text: visible(c.error) });
  if (status.filter?.error)
    all.push({ tone: "bad", title: "The filter's file is not in force", text: visible(status.filter.error) });
  const rollout = status.rollout;
  if (rollout?.state === "taken_back" && Date.now() - Date.parse(rollout.ended) < TOLD)
    all.push({ tone: "bad", title: "A rollout is taken back", text: rolloutText(rollout) });
  const missing = missingOf(status);
  if (missing > 0)
    all.push({
      tone: "bad",
      title: `${plural(missing, "Envoy")} of ${count(status.expected_envoys)} ${missing === 1 ? "is" : "are"} missing`,
      text: `envoy.expect is ${count(status.expected_envoys)}, and ${count(status.envoys?.length ?? 0)} are connected.`,
      key: "missing Envoys",
    });
  for (const service of status.services ?? []) {
    if (!service.problem) continue;
    all.push({
      tone: "bad",
      title: `The ${visible(service.name)} service at ${visible(service.url)} does not work`,
      text: `${upper(visible(service.problem))}.${service.since ? ` It has been so for ${ago(service.since)}.` : ""}`,
      key: `service ${service.name} ${service.url}`,
    });
  }
  for (const { file, expires } of status.certificates ?? []) {
    const left = Date.parse(expires) - Date.now();
    if (!(left < EXPIRES)) continue;
    all.push({
      tone: left < 0 ? "bad" : "warn",
      title: `The certificate ${visible(file)} ${left < 0 ? "has expired" : "expires soon"}`,
      text: `It is valid until ${moment(expires)}.`,
      key: `certificate ${file}`,
    });
  }
  for (const envoy of status.envoys ?? []) {
    const id = visible(envoy.id);
    for (const [type, state] of Object.entries(envoy.types ?? {})) {
      if (!state.refused) continue;
      all.push({
        tone: "bad",
        title: `Envoy ${id} refuses its ${resourceOf(type)}`,
        text: visible(`${(state.resources ?? []).join(", ")}: ${state.error ?? ""}`),
        key: `refusal ${envoy.id} ${envoy.address} ${type}`,
      });
    }
  }
  for (const pool of status.pools ?? []) {
    if (pool.down) {
      all.push({
        tone: "bad",
        title: `Pool ${visible(pool.name)} has no server that is ready`,
        text:
          `For ${ago(pool.down)}. ` +
          (pool.spares?.length
            ? `Its spares answer: ${pool.spares.map(visible).join(", ")}.`
            : pool.queue
              ? "Its queue holds requests as long as hold says; then clients get 503."
              : "Clients of its models get 503."),
      });
    }
    for (const server of pool.servers ?? []) {
      if (["ready", "unknown", "draining"].includes(server.state)) continue; // the operator has drained it
      all.push({
        tone: pool.down ? "bad" : "warn",
        title: `${visible(server.url)} in pool ${visible(pool.name)} is ` + stateOf(server.state)[1],
        text: sentence(server),
        key: `server ${pool.name} ${server.url} ${server.address}`, // several may stand behind one name
      });
    }
    attentionOfQueue(pool, all);
    const texts = [pool.problem, ...(pool.warnings ?? [])].filter(Boolean);
    for (const text of texts) {
      const key = `pool ${pool.name} ${text}`;
      all.push({ tone: "warn", title: `Pool ${visible(pool.name)}`, text: visible(text), key });
    }
  }
  return all;
}

function attentionOfQueue(pool, all) {
  const queue = pool.queue;
  if (!queue) return;
  const name = visible(pool.name);
  if (queue.problem)
    all.push({
      tone: "warn",
      title: `The queue of pool ${name} is not known`,
      text: `${visible(queue.problem)} (${visible(queue.picker)}).`,
    });
  for (const c of queue.classes ?? []) {
    if (queue.held || !(c.requests > 0) || !(c.oldest_ms > LATE * c.deadline_ms)) continue;
    all.push({
      tone: "warn",
      key: `queue ${pool.name} ${c.name}`,
      title: `Requests of the class ${visible(c.name)} wait too long for pool ${name}`,
      text:
        `${plural(c.requests, "request")} of ${count(c.tokens)} tokens wait, the oldest for ` +
        `${milliseconds(c.oldest_ms)}. After ${milliseconds(c.deadline_ms)} they get 429.`,
    });
  }
}

function sentence(server) {
  const reason = visible(server.reason || "no reason is known").replace(/[.;\s]+$/, "");
  const apart = server.address && !server.url.endsWith(server.address);
  const at = apart ? ` Its address is ${visible(server.address)}.` : "";
  const since = server.since ? ` It has been so for ${ago(server.since)}.` : "";
  return `${upper(reason)}.${since}${at}`;
}

const upper = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

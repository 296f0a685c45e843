// What the JavaScript programs of this folder share: the questions, and how a check fails. The same as checks.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { argv, exit } from "node:process";

export const HELLO = "What is an edge?";
export const COMPARE = "Compare the weather in Paris and Rome.";
export const PREAMBLE = "Paris is mild. Rome is next.";
export const COMPARED = "Paris has 21 degrees, Rome has 25.";
export const FOLLOW_UP = "Which is warmer?";
export const FOLLOWED_UP = "Rome is warmer.";
export const WEATHER = { Paris: "Paris: 21 degrees", Rome: "Rome: 25 degrees" };
export const DESCRIPTION = "The current weather of a city";
export const FORECAST = "How warm is it in Paris?";
export const ECHO = "Echo a banana.";
export const ECHOED = "It says: a banana.";
export const PAY = "Pay Ann.";
export const PAID = "Ann has it.";
export const DENIED = "Ann has nothing.";

/** Checks the answer to HELLO, and that the usage counts the tokens that the model says it has read. */
export function helloAnswer(text, promptTokens) {
  const read = /^You said: What is an edge\?\. I read ([0-9]+) tokens\.$/.exec(text);
  assert(read, `the answer to HELLO is ${JSON.stringify(text)}`);
  assert.equal(promptTokens, Number(read[1]), "prompt tokens in the usage");
}

/** Runs the checks, [what, async (url, model) => …], prints a line for each, and ends with status 1 at the first that does not hold. */
export async function run(client, checks) {
  const [url, model] = argv.slice(2);
  if (!model) {
    console.error("usage: main.mjs BASE_URL MODEL");
    exit(2);
  }
  for (const [what, check] of checks) {
    try {
      await check(url, model);
    } catch (e) {
      console.log(`FAILED ${what}: ${e.stack}`);
      exit(1);
    }
    console.log(`ok     ${what}`);
  }
  console.log(`${checks.length} checks passed with ${client} ${versionOf(client)}`);
}

/** The version of an installed package. Not all of them export their package.json. */
function versionOf(name) {
  const main = createRequire(import.meta.url).resolve(name);
  const root = main.slice(0, main.lastIndexOf(join("node_modules", name)));
  return JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"))).version;
}

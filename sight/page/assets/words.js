// What codes and states mean, in words.

const states = {
  ready: ["ok", "ready"],
  not_ready: ["bad", "not ready"],
  unreachable: ["bad", "unreachable"],
  draining: ["unknown", "drained"],
  unknown: ["unknown", "not known yet"],
};

// stateOf returns the tone and the word of a server's state.
export const stateOf = (state) => states[state] ?? ["unknown", String(state)];

const policies = {
  least_request: "each request goes to the server with the fewest requests",
  round_robin: "requests go to one server after another",
  session: "the requests of a session go to the same server",
  prefix: "requests whose prompts begin alike go to the same server, so that its cache has them",
  picker: "a program beside the Envoys chooses the server of each request",
};

// policyOf says how a pool chooses a server. It is "" for a policy that is not known here.
export const policyOf = (policy) => (Object.hasOwn(policies, policy) ? policies[policy] : "");

const meanings = {
  server_unavailable: [
    "No server of this model can be reached.",
    "Look at the pool in Fleet: it says why each server is not used. The request is safe to send again.",
  ],
  server_timeout: [
    "The server was silent for too long.",
    "Its queue may be full, or the prompt long. The limit is stall_timeout in the configuration.",
  ],
  server_overloaded: ["The server has no room now.", "Send it again in a moment, or add servers to the pool."],
  server_error: [
    "The server failed while it answered.",
    "The server's own log says why. Fleet shows whether it is well.",
  ],
  server_model_not_found: [
    "The server does not know the model by this name.",
    "Set server_model (or --server-model) to the name that the server lists at GET /v1/models.",
  ],
  server_refused_structural_tag: [
    "The server takes no structural tags.",
    "Start vLLM without the backend guidance, or set structured_outputs of the model to none.",
  ],
  structured_output_broken: ["The answer does not have the form that was asked for.", "Send it again."],
  server_refused_credentials: ["The server refused the gateway's credentials.", "Set the pool's token."],
  rate_limit_exceeded: ["The server limits requests.", "Wait as long as retry-after says."],
  gateway_overloaded: [
    "The gateway has no memory left for this request.",
    "Send it again in a moment. If this happens often, raise memory_limit or add workers.",
  ],
  gateway_misconfigured: ["The gateway's configuration is wrong.", "Fleet shows the error of the configuration."],
  model_not_found: ["The gateway has no model of this name.", "Choose one of those that the gateway serves."],
  context_length_exceeded: ["Prompt and answer do not fit into the model's context.", "Shorten the prompt."],
  no_final_channel: ["The model ended without an answer.", "Send it again, or try another effort."],
  harmony_parse_error: ["The model left its format.", "Send it again, or without x-harmony-strict."],
  answer_too_large: ["The answer grew too large.", "Ask for less at once."],
  invalid_json: ["The request is not JSON.", "This page made it: please report it."],
  invalid_value: ["A value in the request is out of its range.", "The message names it."],
  invalid_type: ["A value in the request has the wrong type.", "The message names it."],
  missing_required_parameter: ["Something is missing in the request.", "The message names it."],
  unsupported_parameter: ["This gateway or its servers cannot do that.", "The message says what to do."],
  tool_choice_not_supported: ["The model's servers cannot be made to call a tool.", "Leave tool_choice out."],
  rate_limit_error: ["The server or the gateway limits requests.", "Wait as long as retry-after says."],
  overloaded_error: ["There is no room for the request now.", "Send it again in a moment, or add servers to the pool."],
  not_found_error: ["The gateway has no model of this name.", "Choose one of those that the gateway serves."],
  authentication_error: ["The gateway refused the key.", "Its operator says which keys it takes."],
  timeout_error: [
    "The server was silent for too long.",
    "Its queue may be full, or the prompt long. The limit is stall_timeout in the configuration.",
  ],
  request_too_large: ["The request is larger than body_limit.", "Shorten it, or raise the limit."],
};

// meaningOf returns what an error of the gateway means and what to do, in two sentences.
export function meaningOf(code, status) {
  if (meanings[code]) return meanings[code];
  if (status >= 500 || status === 0)
    return ["The answer failed.", "Send it again. Fleet shows whether the servers are well."];
  if (status === 404) return ["The gateway does not know this address.", "Is this gateway older than its page?"];
  if (status === 403)
    return ["The page's server refused the request.", "Open the page by the address that it is bound to."];
  return ["The gateway refused the request.", "The message says why."];
}

const recoveries = {
  stray_terminator: "an end between messages",
  stray_control: "a control token where it means nothing",
  unknown_token: "an id outside the vocabulary",
  doubled_start: "a start marker too many",
  doubled_channel: "a channel marker too many",
  missing_start: "a start marker too few",
  missing_message: "a message marker too few",
  missing_end: "an end marker too few",
  implicit_final: "text without any header, delivered as the answer",
  after_stop: "a message after the end",
  channel_in_content: "a header inside of content",
  long_header: "a header without end",
  dropped_header: "a header without content",
  repaired_role: "a role missing, doubled or glued",
  repaired_channel: "a channel missing, doubled or glued",
  repaired_recipient: "a recipient missing, doubled or glued",
  unknown_channel: "a channel that is unknown",
  loose_words: "words in a header that mean nothing",
  invalid_text: "bytes that are not UTF-8",
  missing_mark: "reasoning without the mark that ends it",
  implicit_split: "text without any header, split at the marker",
};

// recoveryOf says what the model did that the gateway repaired.
export const recoveryOf = (kind) => recoveries[kind] ?? kind;

const finishes = {
  stop: "answered",
  length: "cut by the limit on tokens",
  tool_calls: "ended with calls",
  error: "failed",
  incomplete: "incomplete",
  content_filter: "filtered",
};

// finishOf says how an answer ended.
export const finishOf = (finish) => finishes[finish] ?? finish;

const cuts = {
  client: "the client left",
  server: "the server broke off",
  stall: "the server was silent too long",
  timeout: "a time limit of the proxy's",
  other: "cut",
};

// cutOf says who cut an answer.
export const cutOf = (cut) => cuts[cut] ?? cut;

const misses = {
  none: "nothing was missed",
  system: "the system message differs",
  date: "the date differs",
  effort: "the reasoning effort differs",
  tools: "the tools differ",
  instructions: "the instructions differ",
  format: "the format of the answer differs",
  user: "a message of the user differs",
  answer: "an answer of the past differs",
  preamble: "a message of the past differs",
  reasoning: "reasoning of the past differs",
  call: "a call of the past differs",
  result: "a result of the past differs",
  reasoning_dropped: "reasoning of the past is gone",
  messages_removed: "messages of the past are gone",
  messages_inserted: "messages are new before known ones",
  another_server: "another server had the earlier prompt",
  evicted: "the server has not kept the earlier prompt",
};

// missOf says why a server's cache was missed.
export const missOf = (reason) => misses[reason] ?? reason;

const routes = {
  class: "by the client's class",
  length: "by the prompt's length",
  context: "because the context of others has no room",
  default: "because no rule fits",
};

// routeOf says which of a model's pools was chosen, and why. It is null for a model with one pool.
export function routeOf(route) {
  if (!route) return null;
  const [pool, ...rest] = String(route).split(";");
  const facts = Object.fromEntries(rest.map((pair) => pair.split("=")));
  return (
    `${pool}, ${routes[facts.why] ?? facts.why ?? ""}` +
    (facts.model ? `; by the model ${facts.model}` : "") +
    (facts.spare ? `; a server of the spare ${facts.spare} answered` : "")
  );
}

const resources = {
  listeners: "listeners",
  routes: "routes",
  clusters: "clusters",
  endpoints: "endpoints",
  extensions: "filter",
  secrets: "secrets",
  runtime: "runtime",
};

// resourceOf names a type of Envoy's resources.
export const resourceOf = (type) => resources[type] ?? type;

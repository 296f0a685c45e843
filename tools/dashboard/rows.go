package main

import "strings"

// Selectors that the reader's choices narrow.
const (
	ofModel = `{model=~"$model",instance=~"$envoy"}`
	ofEnvoy = `{instance=~"$envoy"}`
	ofPool  = `{pool=~"$pool"}`
	// said narrows kinds of tokens to the kinds of answers.
	said = `kind!~"prompt|cached|tool_output"`
	// clients are the listeners for clients, and not that for Prometheus.
	clients = `{envoy_http_conn_manager_prefix!~"admin|harmony-stats",instance=~"$envoy"}`
	// clusters are Envoy's clusters of the pools.
	clusters = `{envoy_cluster_name=~"harmony-pool-($pool)",instance=~"$envoy"}`
)

// with returns a selector with one more matcher.
func with(selector, matcher string) string {
	return strings.TrimSuffix(selector, "}") + "," + matcher + "}"
}

// rate returns the rate of a counter, summed up by labels.
func rate(metric, selector, by string) string {
	sum := "sum"
	if by != "" {
		sum = "sum by (" + by + ")"
	}
	return sum + " (rate(" + metric + selector + "[$__rate_interval]))"
}

// share returns which part of one counter another is. Without any of the part it is 0.
func share(part, whole string) string { return "(" + part + " or vector(0)) / " + whole }

// quantile returns a quantile of a histogram, by labels.
func quantile(q, metric, selector, by string) string {
	le := "le"
	if by != "" {
		le += ", " + by
	}
	return "histogram_quantile(" + q + ", " + rate(metric+"_bucket", selector, le) + ")"
}

// more returns by how much a counter has grown, by labels.
func more(metric, selector, by string) string {
	return "sum by (" + by + ") (increase(" + metric + selector + "[$__rate_interval]))"
}

// each returns the rate of a counter of Envoy's clusters.
func each(metric string) string { return "rate(" + metric + clusters + "[$__rate_interval])" }

// byPool returns a sum of Envoy's own series of its clusters, by the pools' names.
func byPool(expr string) string {
	return `sum by (pool) (label_replace(` + expr + `, "pool", "$1", "envoy_cluster_name", "harmony-pool-(.*)"))`
}

// plain is a panel with one line for each label's value of a counter's rate.
func plain(title, help, unit, metric, selector, by string) panel {
	return panel{title: title, help: help, unit: unit, form: stack,
		queries: []query{{rate(metric, selector, by), "{{" + by + "}}"}}}
}

// rows returns the whole dashboard.
func rows() []row {
	return []row{now(), traffic(), times(), answers(), pools(), queues(), envoys(), controlPlane(), service()}
}

func now() row {
	requests := rate("harmony_requests_total", ofModel, "")
	return row{"Now", []panel{
		{title: "Requests", form: number, unit: "reqps", width: 3, queries: []query{{requests, ""}},
			help: "Requests that ended, per second."},
		{title: "Failed", form: number, unit: "percentunit", width: 3, bad: 0.05,
			help:    "The part of requests that the gateway or the servers failed: status 5xx.",
			queries: []query{{share(rate("harmony_requests_total", with(ofModel, `status=~"5.."`), ""), requests), ""}}},
		{title: "Streams", form: number, unit: "short", width: 3, help: "Requests that are being answered.",
			queries: []query{{"sum(envoy_http_downstream_rq_active" + clients + ")", ""}}},
		{title: "Tokens of answers", form: number, unit: "short", width: 3, help: "Tokens per second.",
			queries: []query{{rate("harmony_tokens_total", with(ofModel, said), ""), ""}}},
		{title: "First token, 95 of 100", form: number, unit: "ms", width: 3, bad: 10000,
			help:    "From the whole request to the server's first token.",
			queries: []query{{quantile("0.95", "harmony_time_to_first_token_milliseconds", ofEnvoy, ""), ""}}},
		{title: "Pools down", form: number, unit: "short", width: 3, bad: 1,
			help:    "Pools without any server that is reachable and ready.",
			queries: []query{{"count(min by (pool) (harmony_controlplane_pool_up" + ofPool + ") == 0) or vector(0)", ""}}},
		{title: "Envoys that lack something", form: number, unit: "short", width: 3, bad: 1,
			help:    "Connected Envoys that have not accepted everything that the control plane gives them.",
			queries: []query{{"sum(harmony_controlplane_envoys - harmony_controlplane_envoys_current)", ""}}},
		{title: "Alerts", form: number, unit: "short", width: 3, bad: 1, help: "Alerts of alerts.yaml that fire now.",
			queries: []query{{`count(ALERTS{alertname=~"Harmony.*",alertstate="firing"}) or vector(0)`, ""}}},
	}}
}

func traffic() row {
	return row{"Traffic", []panel{
		plain("Requests by status", "What clients got; none is a client that left before.", "reqps",
			"harmony_requests_total", ofModel, "status"),
		plain("Requests by model", "Names that are not configured are other.", "reqps", "harmony_requests_total", ofModel,
			"model"),
		plain("Requests by API", "", "reqps", "harmony_requests_total", ofModel, "api"),
		{title: "Tokens of prompts", unit: "short", help: "Per second. cached is the part that servers had in their cache.",
			queries: []query{{
				rate("harmony_tokens_total", with(ofModel, `kind=~"prompt|cached|tool_output"`), "kind"), "{{kind}}"}}},
		plain("Missed caches", "Tokens per second that servers computed again, by why their caches did not have them.", "short",
			"harmony_cache_missed_tokens_total", ofModel, "kind"),
		{title: "Tokens of answers by channel", unit: "short", form: stack, help: "Per second.",
			queries: []query{{rate("harmony_tokens_total", with(ofModel, said), "kind"), "{{kind}}"}}},
		{title: "Streams and connections of clients", unit: "short",
			queries: []query{{"sum(envoy_http_downstream_rq_active" + clients + ")", "streams"},
				{"sum(envoy_http_downstream_cx_active" + clients + ")", "connections"}}},
		plain("Answers that were cut, by who cut them", "Clients had the beginning and no end.", "reqps",
			"harmony_cut_streams_total", ofEnvoy, "cause"),
		{title: "Requests for others", unit: "reqps", help: "For the responses service; not translated, as translate says.",
			queries: []query{{rate("harmony_routed_requests_total", ofEnvoy, ""), "responses service"},
				{rate("harmony_untranslated_requests_total", ofEnvoy, ""), "not translated"}}},
		plain("Wasted tokens", "Tokens per second that came behind an answer's early end, by why it ended.", "short",
			"harmony_wasted_tokens_total", ofModel, "kind"),
	}}
}

func times() row {
	first, render := "harmony_time_to_first_token_milliseconds", "harmony_render_microseconds"
	return row{"Time", []panel{
		{title: "First token", unit: "ms", help: "From the whole request to the server's first token.", queries: []query{
			{quantile("0.5", first, ofEnvoy, ""), "50 of 100"}, {quantile("0.95", first, ofEnvoy, ""), "95 of 100"},
			{quantile("0.99", first, ofEnvoy, ""), "99 of 100"}}},
		{title: "Whole answers by pool, 95 of 100", unit: "ms", help: "Servers' answers from the first byte sent to the end.",
			queries: []query{{`label_replace(` + quantile("0.95", "envoy_cluster_upstream_rq_time", clusters, "envoy_cluster_name") +
				`, "pool", "$1", "envoy_cluster_name", "harmony-pool-(.*)")`, "{{pool}}"}}},
		{title: "The filter's own part", unit: "µs",
			help: "Reading, translating, rendering and tokenizing a request; collecting a VM's heap.", queries: []query{
				{quantile("0.5", render, ofEnvoy, ""), "rendering, 50 of 100"},
				{quantile("0.95", render, ofEnvoy, ""), "rendering, 95 of 100"},
				{quantile("0.95", "harmony_vm_collection_microseconds", ofEnvoy, ""), "collection, 95 of 100"}}},
	}}
}

func answers() row {
	told := with(ofModel, said)
	return row{"What models write", []panel{
		plain("Messages by channel", "", "short", "harmony_channel_messages_total", ofEnvoy, "channel"),
		{title: "Recoveries in 1,000 messages", unit: "short", help: "What was repaired, by kind: docs/metrics.md.",
			queries: []query{{"1000 * " + rate("harmony_recoveries_total", ofEnvoy, "kind") + " / scalar(" +
				rate("harmony_channel_messages_total", ofEnvoy, "") + ")", "{{kind}}"}}},
		{title: "Reasoning's part of the tokens", unit: "percentunit", queries: []query{{
			rate("harmony_tokens_total", with(ofModel, `kind="reasoning"`), "model") + " / " +
				rate("harmony_tokens_total", told, "model"), "{{model}}"}}},
		{title: "Answers of a kind that should be rare", unit: "reqps",
			help: "Mostly reasoning; nothing for the user; no header; an answer before any reasoning.", queries: []query{
				{rate("reasoning_ratio_alert_total", ofEnvoy, ""), "mostly reasoning"},
				{rate("harmony_no_final_channel_total", ofEnvoy, ""), "no answer and no call"},
				{rate("harmony_marker_fallback_total", ofEnvoy, ""), "text without a header"},
				{rate("harmony_channel_unexpected_order_total", ofEnvoy, ""), "final before analysis"}}},
		plain("Answers that a strict parser would refuse", "By the first error.", "reqps",
			"harmony_channel_parse_errors_total", ofEnvoy, "kind"),
		{title: "Calls and parts", unit: "short", queries: []query{
			{rate("harmony_unfit_arguments_total", ofEnvoy, ""), "arguments that do not fit their schema"},
			{rate("harmony_half_builtin_calls_total", ofEnvoy, ""), "half calls of tools that were not offered"},
			{rate("harmony_dropped_parts_total", ofEnvoy, ""), "images, files and sound left out"},
			{rate("harmony_truncated_turns_total", ofEnvoy, ""), "turns left out, since the conversation was too long"}}},
	}}
}

func pools() row {
	return row{"Pools", []panel{
		{title: "Pools with a server that is well", form: states,
			queries: []query{{"min by (pool) (harmony_controlplane_pool_up" + ofPool + ")", "{{pool}}"}}},
		{title: "Servers by state", unit: "short", help: "harmony status says why a server is not ready.",
			queries: []query{{"max by (pool, state) (harmony_controlplane_servers" + ofPool + ") > 0", "{{pool}}: {{state}}"}}},
		{title: "Requests by pool", unit: "reqps", help: "By the class of their status.", queries: []query{{
			rate("harmony_pool_requests_total", `{pool=~"$pool",instance=~"$envoy"}`, "pool, class"), "{{pool}}: {{class}}"}}},
		{title: "Answers that failed before their first token", unit: "short",
			help:    "Other servers were asked, or clients got an error. Envoy's log names the servers.",
			queries: []query{{more("harmony_failed_attempts_total", `{pool=~"$pool",instance=~"$envoy"}`, "pool"), "{{pool}}"}}},
		{title: "Requests at the servers", unit: "short", help: "That are being answered.",
			queries: []query{{byPool("envoy_cluster_upstream_rq_active" + clusters), "{{pool}}"}}},
		{title: "Refused, since a pool was full", unit: "reqps", help: "Requests beyond capacity: 429 server_overloaded.",
			// Envoy 1.37 counts by the second name, newer ones by the first.
			queries: []query{{byPool(each("envoy_cluster_upstream_rq_active_overflow")), "{{pool}}"},
				{byPool(each("envoy_cluster_upstream_rq_pending_overflow")), "{{pool}}, pending"}}},
		{title: "Failed connections and health checks", unit: "cps", queries: []query{
			{byPool(each("envoy_cluster_upstream_cx_connect_fail")), "{{pool}}: connections"},
			{byPool(each("envoy_cluster_health_check_failure")), "{{pool}}: health checks"}}},
	}}
}

func queues() row {
	inClass := "sum by (pool, class) (%" + ofPool + ")"
	waiting := func(metric string) string { return strings.Replace(inClass, "%", metric, 1) }
	return row{"Queues", []panel{
		{title: "Requests that wait", unit: "short", form: stack, help: "In the pickers' queues: docs/overload.md.",
			queries: []query{{waiting("harmony_queue_requests"), "{{pool}}: {{class}}"}}},
		{title: "Tokens that wait", unit: "short", form: stack, help: "What the waiting requests cost.",
			queries: []query{{waiting("harmony_queue_tokens"), "{{pool}}: {{class}}"}}},
		{title: "How long the oldest has waited", unit: "s", queries: []query{
			{"max by (pool, class) (harmony_queue_oldest_seconds" + ofPool + ")", "{{pool}}: {{class}}"}}},
		{title: "Wait of the admitted, 95 of 100", unit: "s",
			queries: []query{{quantile("0.95", "harmony_queue_wait_seconds", ofPool, "pool, class"), "{{pool}}: {{class}}"}}},
		{title: "Refused by a queue", unit: "reqps", form: stack, help: "By reason: docs/overload.md#what-is-seen.",
			queries: []query{{rate("harmony_queue_requests_total", with(ofPool, `result!~"admitted|left"`),
				"pool, class, result"), "{{pool}}: {{class}}: {{result}}"}}},
		{title: "Held, since no server is ready", form: states,
			queries: []query{{"1 - max by (pool) (harmony_queue_held" + ofPool + ")", "{{pool}}"}}},
		{title: "Pools chosen by length or class", unit: "reqps", form: stack, help: "docs/pools.md#choice-by-length",
			queries: []query{{rate("harmony_route_requests_total", `{pool=~"$pool",model=~"$model",instance=~"$envoy"}`,
				"model, pool, reason"), "{{model}} to {{pool}}: {{reason}}"}}},
		{title: "Servers chosen by a picker", unit: "reqps", form: stack, help: "By why it chose them.",
			queries: []query{{rate("harmony_picker_requests_total", ofPool, "pool, reason"), "{{pool}}: {{reason}}"}}},
	}}
}

func envoys() row {
	const monitor = "envoy_overload_envoy_resource_monitors_"
	listeners := `{envoy_listener_address!="",instance=~"$envoy"}`
	return row{"Envoys", []panel{
		{title: "Heap of the fullest VM", unit: "bytes", help: "Beyond memory_limit new requests are refused.",
			queries: []query{
				{"max by (instance) (harmony_vm_heap_bytes" + ofEnvoy + ")", "{{instance}}"},
				{"max by (instance) (harmony_vm_heap_limit_bytes" + ofEnvoy + ")", "{{instance}}: memory_limit"},
			}},
		{title: "Memory and connections, of their limits", unit: "percent",
			help: "Envoy's own memory of envoy.max_heap: from 90 % on requests are refused. Clients of envoy.max_connections.",
			queries: []query{{"max by (instance) (" + monitor + "fixed_heap_pressure" + ofEnvoy + ")", "{{instance}}: memory"},
				{"max by (instance) (" + monitor + "global_downstream_max_connections_pressure" + ofEnvoy + ")",
					"{{instance}}: connections"}}},
		{title: "Requests that begin as earlier ones", unit: "reqps", form: stack,
			help:    "An agent's next turn is a hit: docs/agent-turns.md. Without prefix_memory there are none.",
			queries: []query{{rate("harmony_prefix_requests_total", ofEnvoy, "kind"), "{{kind}}"}}},
		{title: "Tokens of prompts that were remembered", unit: "percentunit",
			help: "The part of all tokens of prompts that was neither read nor tokenized again.",
			queries: []query{{share(rate("harmony_prefix_tokens_total", ofEnvoy, ""),
				rate("harmony_tokens_total", `{kind="prompt",instance=~"$envoy"}`, "")), ""}}},
		{title: "What is remembered, in the fullest VM", unit: "bytes", help: "At most prefix_memory; part of the VM's heap.",
			queries: []query{{"max by (instance) (harmony_prefix_memory_bytes" + ofEnvoy + ")", "{{instance}}"}}},
		{title: "Memory of the process", unit: "bytes", help: "With the VMs.",
			queries: []query{{"max by (instance) (envoy_server_memory_physical_size" + ofEnvoy + ")", "{{instance}}"}}},
		{title: "VMs that died", unit: "short", help: "And were loaded again, or could not be. It is a bug: please report it.",
			queries: []query{
				{more("envoy_wasm_harmony_vm_reload_success", ofEnvoy, "instance"), "{{instance}}"},
				{more("envoy_wasm_harmony_vm_reload_failure", ofEnvoy, "instance"),
					"{{instance}}: not loaded again"}}},
		{title: "Refused by an Envoy that is full", unit: "cps", queries: []query{
			{rate("envoy_http_downstream_rq_overload_close", clients, ""), "requests"},
			{rate("envoy_listener_downstream_global_cx_overflow", listeners, ""), "connections"}}},
		{title: "Filter and configuration in force", form: list, help: "More than one line: not all Envoys have the same.",
			queries: []query{{"count by (version, config) (harmony_build_info" + ofEnvoy + " == 1)", ""}}},
		{title: "Faults of the set-up", unit: "short", queries: []query{
			{rate("harmony_config_errors_total", ofEnvoy, ""), "wrong configurations of the filter"},
			{rate("harmony_edits_refused_total", ofEnvoy, ""), "requests that the proxy did not let the filter rewrite"}}},
		{title: "Pieces of servers' answers", unit: "cps",
			queries: []query{{rate("harmony_response_chunks_total", ofEnvoy, ""), "pieces"}}},
		{title: "What reduced mode costs", unit: "cps", help: "docs/modes.md. It is nothing in full mode.", queries: []query{
			{rate("harmony_reduced_late_errors_total", ofEnvoy, ""), "errors as events"},
			{rate("harmony_reduced_resets_total", ofEnvoy, ""), "answers cut"}}},
	}}
}

func controlPlane() row {
	return row{"Control plane", []panel{
		{title: "Envoys", unit: "short", queries: []query{{"sum(harmony_controlplane_envoys)", "connected"},
			{"sum(harmony_controlplane_envoys_current)", "have accepted everything"}}},
		{title: "Refused by Envoys", unit: "short", form: stack, help: "Answers to what they were sent, by type.",
			queries: []query{{more("harmony_controlplane_responses_total", `{result="refused"}`, "type"),
				"{{type}}"}}},
		{title: "From a push to all having accepted", unit: "s", queries: []query{
			{quantile("0.5", "harmony_controlplane_push_to_accept_seconds", "", ""), "50 of 100"},
			{quantile("0.95", "harmony_controlplane_push_to_accept_seconds", "", ""), "95 of 100"}}},
		{title: "In force", form: states, help: "Whether the files as they are now are in force.", queries: []query{
			{"min(harmony_controlplane_config_valid)", "configuration"}, {"min(harmony_controlplane_filter_valid)", "filter"}}},
		plain("Pushes", "", "cps", "harmony_controlplane_pushes_total", "", "type"),
		{title: "Files read", unit: "short", queries: []query{
			{more("harmony_controlplane_config_loads_total", "", "result"), "configuration: {{result}}"},
			{more("harmony_controlplane_filter_loads_total", "", "result"), "filter: {{result}}"},
			{more("harmony_controlplane_snapshot_saves_total", "", "result"), "state saved: {{result}}"}}},
	}}
}

func service() row {
	return row{"Responses service", []panel{
		plain("Requests by route", "", "reqps", "harmony_responses_requests_total", "", "route"),
		plain("Requests by status", "", "reqps", "harmony_responses_requests_total", "", "status"),
		{title: "Time by route, 95 of 100", unit: "s",
			queries: []query{{quantile("0.95", "harmony_responses_request_seconds", "", "route"), "{{route}}"}}},
		{title: "Under way", unit: "short", queries: []query{
			{"sum(harmony_responses_requests_in_flight)", "requests"},
			{"sum(harmony_responses_websocket_connections)", "WebSocket connections"},
			{"max by (state) (harmony_responses_background)", "in the background: {{state}}"}}},
		{title: "The store answers", form: states,
			queries: []query{{"min by (instance) (harmony_responses_store_up)", "{{instance}}"}}},
		{title: "Time of the database, 95 of 100", unit: "s",
			queries: []query{{quantile("0.95", "harmony_responses_store_seconds", "", "operation"), "{{operation}}"}}},
		plain("Failures of the database", "", "cps", "harmony_responses_store_errors_total", "", "operation"),
		{title: "Connections to the database", unit: "short", form: stack,
			queries: []query{{"sum by (state) (harmony_responses_store_connections)", "{{state}}"}}},
		{title: "Memory of requests", unit: "bytes", help: "Of memory_limit (1 GiB).",
			queries: []query{{"max by (instance) (harmony_responses_memory_bytes)", "{{instance}}"}}},
		{title: "Calls of tools", unit: "cps", form: stack,
			queries: []query{{rate("harmony_responses_tool_calls_total", "", "server, outcome"), "{{server}}: {{outcome}}"}}},
		{title: "Time of tools, 95 of 100", unit: "s",
			queries: []query{{quantile("0.95", "harmony_responses_tool_seconds", "", "server"), "{{server}}"}}},
		{title: "How responses ended", unit: "reqps", form: stack,
			queries: []query{{rate("harmony_responses_responses_total", "", "status"), "{{status}}"}}},
	}}
}

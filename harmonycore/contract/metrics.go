package contract

// MetricKind is a kind of metric, by proxy-wasm's number.
type MetricKind uint8

// The kinds of metrics in proxy-wasm.
const (
	Counter MetricKind = iota
	Gauge
	Histogram
)

// Metric is one of the filter's metrics (docs/metrics.md).
type Metric uint8

// The metrics.
const (
	// RequestsTotal counts requests on the paths that the filter reads, at their end.
	RequestsTotal Metric = iota
	// PoolRequestsTotal counts requests that were sent to the servers of a pool, at their end.
	PoolRequestsTotal
	// RouteRequestsTotal counts requests of models with several pools ([Model.Route]), by the pool that was chosen and by
	// why, at their end.
	RouteRequestsTotal
	// FailedAttemptsTotal counts attempts at a pool's servers that have failed before their first token although the
	// answer had begun with 200, or that were lost. Each is followed by another attempt, or by an error for the client.
	FailedAttemptsTotal
	// AffinityTotal counts requests that were sent with an [AffinityHeader], by what it was made of, at their end.
	AffinityTotal
	// PrefillTotal counts requests whose prompts the servers of another pool were to read, by that pool and by what has
	// become of it.
	PrefillTotal
	// PrefillTimeTotal counts the milliseconds that those servers took.
	PrefillTimeTotal
	// ClientRequestsTotal counts requests of clients, at their end, by the class of the status.
	ClientRequestsTotal
	// ClientTokensTotal counts tokens of their requests, prompts and answers.
	ClientTokensTotal
	// MissedTokensTotal counts tokens of earlier prompts that servers had to compute again, by why caches did not have
	// them.
	MissedTokensTotal
	// ClientMissedTokensTotal counts the same by client.
	ClientMissedTokensTotal
	// TokensTotal counts tokens of translated requests.
	TokensTotal
	// WastedTokensTotal counts tokens that servers generated after the early end of an answer, by the reason for the end.
	WastedTokensTotal
	// TimeToFirstToken is the time from the whole request in the filter to the server's first token.
	TimeToFirstToken
	// RenderTime is the time in which a client's body is turned into the server's.
	RenderTime
	// PrefixRequestsTotal counts requests whose beginnings may be remembered, by whether it was.
	PrefixRequestsTotal
	// PrefixTokensTotal counts tokens of prompts that were remembered.
	PrefixTokensTotal
	// PrefixBytes is the memory of prefixes of the worker's VM with the largest one.
	PrefixBytes
	// RecoveriesTotal counts repairs of models' output.
	RecoveriesTotal
	// ChannelMessagesTotal counts messages of models.
	ChannelMessagesTotal
	// ParseErrorsTotal counts answers that a strict parser would have refused, by its first error.
	ParseErrorsTotal
	// UnexpectedOrderTotal counts answers with a final message before any analysis, at effort medium or high.
	UnexpectedOrderTotal
	// FallbackTotal counts answers with text without any header, which was taken as the answer.
	FallbackTotal
	// NoFinalTotal counts answers that the model ended by itself without a final message and without a call.
	NoFinalTotal
	// RepetitionsTotal counts answers that ended since the model repeated itself.
	RepetitionsTotal
	// UnfitArgumentsTotal counts calls whose arguments do not fit the declared schema.
	UnfitArgumentsTotal
	// UnknownItemsTotal counts items of requests that were ignored, by kind.
	UnknownItemsTotal
	// HalfBuiltInsTotal counts calls of the model's own tools that were cut before they were complete.
	HalfBuiltInsTotal
	// LeftOutTotal counts messages of models that were left out because they came after a call.
	LeftOutTotal
	// CutStreamsTotal counts answers that were cut, by the cause of the cut.
	CutStreamsTotal
	// DroppedPartsTotal counts images, files and sound that were left out.
	DroppedPartsTotal
	// UnenforcedGrammarsTotal counts grammars of custom tools that no server can be held to.
	UnenforcedGrammarsTotal
	// BrokenControlTokensTotal counts spellings of control tokens that were broken in the texts of requests.
	BrokenControlTokensTotal
	// FailedRendersTotal counts conversations that servers were to render and did not, through no fault of the client.
	FailedRendersTotal
	// RoutedTotal counts requests that were sent to the responses service.
	RoutedTotal
	// UntranslatedTotal counts requests that went to the models' own servers as they were.
	UntranslatedTotal
	// ObservedTotal counts what the gateway would have done with such requests and their answers, by kind.
	ObservedTotal
	// ObservedPromptTokensTotal counts tokens of their prompts, by who has counted them.
	ObservedPromptTokensTotal
	// TruncatedTurnsTotal counts turns of Responses inputs that were left out, because the conversation did not fit.
	TruncatedTurnsTotal
	// ReasoningAlertTotal counts answers with a share of reasoning above [Config.ReasoningRatioAlert].
	ReasoningAlertTotal
	// HeapBytes is the heap in use of the worker's VM with the fullest heap.
	HeapBytes
	// HeapLimit is how much of its heap a VM may have in use before it refuses new requests.
	HeapLimit
	// CollectionTime is how long the collections of a VM's heap take.
	CollectionTime
	// EndedFullTotal counts VMs that ended themselves because their heap was full although they had no stream.
	EndedFullTotal
	// BuildInfo is 1 for a configuration that is in force, and 0 for an earlier one.
	BuildInfo
	// ResponseChunksTotal counts the pieces of servers' answers to translated requests.
	ResponseChunksTotal
	// EditsRefusedTotal counts requests that the proxy did not let the filter rewrite.
	EditsRefusedTotal
	// ConfigErrorsTotal counts invalid configurations of the filter, each once.
	ConfigErrorsTotal
	// ReducedLateErrorsTotal counts streams in reduced mode with an error event that would be a status in full mode.
	ReducedLateErrorsTotal
	// ReducedResetsTotal counts answers in reduced mode that the filter cut and that would have had a status in full
	// mode.
	ReducedResetsTotal
	// MetricCount is the number of metrics.
	MetricCount
)

// MetricInfo describes a metric. Proxy-wasm has no labels, so a metric's name carries them, as
// NAME.LABEL.VALUE.LABEL.VALUE. [LabelPatterns] extract them.
type MetricInfo struct {
	Name   string
	Kind   MetricKind
	Labels []string
}

var metricInfos = [MetricCount]MetricInfo{
	RequestsTotal:             {"harmony_requests_total", Counter, []string{"model", "api", "status"}},
	PoolRequestsTotal:         {"harmony_pool_requests_total", Counter, []string{"pool", "policy", "class"}},
	RouteRequestsTotal:        {"harmony_route_requests_total", Counter, []string{"model", "pool", "reason"}},
	FailedAttemptsTotal:       {"harmony_failed_attempts_total", Counter, []string{"pool"}},
	AffinityTotal:             {"harmony_affinity_requests_total", Counter, []string{"kind"}},
	PrefillTotal:              {"harmony_prefill_total", Counter, []string{"pool", "result"}},
	PrefillTimeTotal:          {"harmony_prefill_milliseconds_total", Counter, nil},
	ClientRequestsTotal:       {"harmony_client_requests_total", Counter, []string{"client", "class"}},
	ClientTokensTotal:         {"harmony_client_tokens_total", Counter, []string{"client"}},
	MissedTokensTotal:         {"harmony_cache_missed_tokens_total", Counter, []string{"model", "kind"}},
	ClientMissedTokensTotal:   {"harmony_client_cache_missed_tokens_total", Counter, []string{"client", "kind"}},
	TokensTotal:               {"harmony_tokens_total", Counter, []string{"model", "kind"}},
	WastedTokensTotal:         {"harmony_wasted_tokens_total", Counter, []string{"model", "kind"}},
	TimeToFirstToken:          {"harmony_time_to_first_token_milliseconds", Histogram, nil},
	RenderTime:                {"harmony_render_microseconds", Histogram, nil},
	PrefixRequestsTotal:       {"harmony_prefix_requests_total", Counter, []string{"kind"}},
	PrefixTokensTotal:         {"harmony_prefix_tokens_total", Counter, nil},
	PrefixBytes:               {"harmony_prefix_memory_bytes", Gauge, nil},
	RecoveriesTotal:           {"harmony_recoveries_total", Counter, []string{"kind"}},
	ChannelMessagesTotal:      {"harmony_channel_messages_total", Counter, []string{"channel"}},
	ParseErrorsTotal:          {"harmony_channel_parse_errors_total", Counter, []string{"kind"}},
	UnexpectedOrderTotal:      {"harmony_channel_unexpected_order_total", Counter, nil},
	FallbackTotal:             {"harmony_marker_fallback_total", Counter, nil},
	NoFinalTotal:              {"harmony_no_final_channel_total", Counter, nil},
	RepetitionsTotal:          {"harmony_repetitions_total", Counter, nil},
	UnfitArgumentsTotal:       {"harmony_unfit_arguments_total", Counter, nil},
	UnknownItemsTotal:         {"harmony_unknown_items_total", Counter, []string{"kind"}},
	HalfBuiltInsTotal:         {"harmony_half_builtin_calls_total", Counter, nil},
	LeftOutTotal:              {"harmony_left_out_messages_total", Counter, nil},
	CutStreamsTotal:           {"harmony_cut_streams_total", Counter, []string{"cause"}},
	DroppedPartsTotal:         {"harmony_dropped_parts_total", Counter, nil},
	UnenforcedGrammarsTotal:   {"harmony_unenforced_grammars_total", Counter, nil},
	BrokenControlTokensTotal:  {"harmony_broken_control_tokens_total", Counter, nil},
	FailedRendersTotal:        {"harmony_failed_renders_total", Counter, nil},
	RoutedTotal:               {"harmony_routed_requests_total", Counter, nil},
	UntranslatedTotal:         {"harmony_untranslated_requests_total", Counter, nil},
	ObservedTotal:             {"harmony_observed_total", Counter, []string{"kind"}},
	ObservedPromptTokensTotal: {"harmony_observed_prompt_tokens_total", Counter, []string{"kind"}},
	TruncatedTurnsTotal:       {"harmony_truncated_turns_total", Counter, nil},
	ReasoningAlertTotal:       {"reasoning_ratio_alert_total", Counter, nil},
	HeapBytes:                 {"harmony_vm_heap_bytes", Gauge, nil},
	HeapLimit:                 {"harmony_vm_heap_limit_bytes", Gauge, nil},
	CollectionTime:            {"harmony_vm_collection_microseconds", Histogram, nil},
	EndedFullTotal:            {"harmony_vm_ended_full_total", Counter, nil},
	BuildInfo:                 {"harmony_build_info", Gauge, []string{"version", "config"}},
	ResponseChunksTotal:       {"harmony_response_chunks_total", Counter, nil},
	EditsRefusedTotal:         {"harmony_edits_refused_total", Counter, nil},
	ConfigErrorsTotal:         {"harmony_config_errors_total", Counter, nil},
	ReducedLateErrorsTotal:    {"harmony_reduced_late_errors_total", Counter, nil},
	ReducedResetsTotal:        {"harmony_reduced_resets_total", Counter, nil},
}

// Info returns the metric's description.
func (m Metric) Info() MetricInfo {
	if m >= MetricCount {
		return MetricInfo{}
	}
	return metricInfos[m]
}

// Buckets returns the upper bounds of a histogram's buckets, or nil for other kinds.
func (m Metric) Buckets() []float64 {
	switch m {
	case TimeToFirstToken:
		return []float64{10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000}
	case RenderTime:
		return []float64{
			50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
		}
	case CollectionTime:
		return []float64{100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000}
	default:
		return nil
	}
}

// MetricPrefix is the prefix that Envoy adds to the names of a filter's metrics.
const MetricPrefix = "wasmcustom."

// LabelPattern extracts a label from the names of Envoy's statistics: the first group is removed from the name, and the
// second is the label's value.
type LabelPattern struct{ Label, Regex string }

// LabelPatterns returns a pattern for each label. Names of models may contain dots, and end before the next label.
// Envoy tries a pattern only on names with its literal prefix, so other filters' metrics cost nothing.
func LabelPatterns() []LabelPattern {
	return []LabelPattern{
		{"model", `^wasmcustom\.harmony_(?:requests|tokens|wasted_tokens|cache_missed_tokens|route_requests)_total` +
			`(\.model\.(.+))\.(?:(?:api|kind)\.[a-z_]+|pool\..+\.reason\.)`},
		{"api", `^wasmcustom\.harmony_requests_total\.model\..+(\.api\.([a-z]+))\.status\.[a-z0-9]+$`},
		{"status", `^wasmcustom\.harmony_requests_total\.model\..+(\.status\.([a-z0-9]+))$`},
		{"pool", `^wasmcustom\.harmony_(?:pool_requests|prefill|failed_attempts|route_requests)_total(?:\.model\..+)?` +
			`(\.pool\.(.+?))(?:\.policy\.[a-z_]+\.class\.[a-z0-9]+|\.result\.[a-z]+|\.reason\.[a-z]+)?$`},
		{"reason", `^wasmcustom\.harmony_route_requests_total\..+(\.reason\.([a-z]+))$`},
		{"result", `^wasmcustom\.harmony_prefill_total\.pool\..+(\.result\.([a-z]+))$`},
		{"policy", `^wasmcustom\.harmony_pool_requests_total\.pool\..+(\.policy\.([a-z_]+))\.class\.[a-z0-9]+$`},
		{"class", `^wasmcustom\.harmony_(?:pool|client)_requests_total\..+(\.class\.([a-z0-9]+))$`},
		{"client", `^wasmcustom\.harmony_client_(?:requests|tokens|cache_missed_tokens)_total(\.client\.(.+?))` +
			`(?:\.class\.[a-z0-9]+|\.kind\.[a-z_]+)?$`},
		{"kind", `^wasmcustom\.harmony_[a-z_]+_total(?:\.(?:model|client)\..+)?(\.kind\.([a-z_]+))$`},
		{"channel", `^wasmcustom\.harmony_channel_messages_total(\.channel\.([a-z]+))$`},
		{"cause", `^wasmcustom\.harmony_cut_streams_total(\.cause\.([a-z]+))$`},
		{"version", `^wasmcustom\.harmony_build_info(\.version\.(.+))\.config\.[0-9a-f]+$`},
		{"config", `^wasmcustom\.harmony_build_info\.version\..+(\.config\.([0-9a-f]+))$`},
	}
}

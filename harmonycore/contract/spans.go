package contract

// The properties that the filter sets for the proxy's spans only, each named as in the access log.
const (
	// SpanOperation is the kind of a request that asks a model, as OpenTelemetry names it.
	SpanOperation = "operation"
	// SpanRoute is the pattern of the request's path, or [SpanOtherRoute].
	SpanRoute = "route"
	// SpanFirstSeconds is the time to the first token, in seconds.
	SpanFirstSeconds = "first_token_seconds"
	// SpanCachedTokens is how many tokens of the prompt the server had in its cache.
	SpanCachedTokens = "cached_tokens"
	// SpanConversation is the client's own name of the conversation.
	SpanConversation = "conversation"
)

// The values of [SpanOperation].
const (
	OperationChat       = "chat"
	OperationCompletion = "text_completion"
)

// SpanOtherRoute is the value of [SpanRoute] for a path that the filter does not know.
const SpanOtherRoute = "other"

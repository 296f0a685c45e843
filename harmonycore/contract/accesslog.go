package contract

// LogStatePrefix begins the names of the stream's properties that the filter sets for the proxy's access log.
const LogStatePrefix = "harmony_"

// The fields of the access log that the filter sets. Each is a property named [LogStatePrefix] and the field's name.
const (
	LogAPI              = "api"
	LogModel            = "model"
	LogServer           = "server"
	LogPool             = "pool"
	LogPolicy           = "policy"
	LogRoutedBy         = "routed_by"
	LogClient           = "client"
	LogClientKey        = "client_key"
	LogPromptTokens     = "prompt_tokens"
	LogReasoningTokens  = "reasoning_tokens"
	LogPreambleTokens   = "preamble_tokens"
	LogFinalTokens      = "final_tokens"
	LogToolCallTokens   = "tool_call_tokens"
	LogCompletionTokens = "completion_tokens"
	LogFirstTokenMS     = "first_token_ms"
	LogRecoveries       = "recoveries"
	LogFinish           = "finish"
	LogEarlyEnd         = "early_end"
	LogCut              = "cut"
	LogUntranslated     = "untranslated"
	LogRole             = "role"
	LogPrefill          = "prefill"
	LogPrefillServer    = "prefill_server"
	LogPrefillMS        = "prefill_ms"
	LogRenderMS         = "render_ms"
	LogReservedTokens   = "reserved_tokens"
	LogUnusedTokens     = "unused_tokens"
	LogRoute            = "route"
	LogCacheReason      = "cache_reason"
	LogMissedTokens     = "missed_tokens"
)

// UsedTokensState is the property with the tokens that a request has used, for the settlement of its reservation. Its
// name begins with [LogStatePrefix] too. It is not a field of the access log.
const UsedTokensState = "used_tokens"

// ReservationState is the property with the name of the reservation. It is not a field of the access log.
const ReservationState = "reservation"

// ErrorsState is the property with the form of the errors that the client gets, if that is not OpenAI's. It is not a
// field of the access log.
const (
	ErrorsState     = "errors"
	ErrorsAnthropic = "anthropic"
)

// LogNumbers returns the names of the fields that are whole numbers.
func LogNumbers() []string {
	return []string{
		LogPromptTokens, LogReasoningTokens, LogPreambleTokens, LogFinalTokens, LogToolCallTokens, LogCompletionTokens,
		LogFirstTokenMS, LogRecoveries, LogRenderMS, LogPrefillMS, LogReservedTokens, LogUnusedTokens, LogMissedTokens,
	}
}

// LogFields returns the names of all fields.
func LogFields() []string {
	return []string{
		LogAPI, LogModel, LogServer, LogPool, LogPolicy, LogRoutedBy, LogClient, LogClientKey, LogPromptTokens,
		LogReasoningTokens,
		LogPreambleTokens, LogFinalTokens, LogToolCallTokens, LogCompletionTokens, LogFirstTokenMS, LogRecoveries,
		LogFinish, LogEarlyEnd, LogCut, LogUntranslated, LogRole, LogPrefill, LogPrefillServer, LogPrefillMS,
		LogRenderMS, LogReservedTokens, LogUnusedTokens, LogRoute, LogCacheReason, LogMissedTokens,
	}
}

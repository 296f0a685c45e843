package contract

// LogStatePrefix begins the names of the stream's properties that the filter sets for the proxy's access log.
const LogStatePrefix = "harmony_"

// The fields of the access log that the filter sets. Each is a property named [LogStatePrefix] and the field's name.
const (
	LogAPI             = "api"
	LogModel           = "model"
	LogServer          = "server"
	LogPromptTokens    = "prompt_tokens"
	LogReasoningTokens = "reasoning_tokens"
	LogFinalTokens     = "final_tokens"
	LogRecoveries      = "recoveries"
	LogFinish          = "finish"
	LogEarlyEnd        = "early_end"
	LogCut             = "cut"
	LogUntranslated    = "untranslated"
)

// LogFields returns the names of all fields.
func LogFields() []string {
	return []string{
		LogAPI, LogModel, LogServer, LogPromptTokens, LogReasoningTokens, LogFinalTokens, LogRecoveries, LogFinish,
		LogEarlyEnd, LogCut, LogUntranslated,
	}
}

package contract

// LogStatePrefix begins the names of the stream's properties that the filter leaves for the proxy's access log.
const LogStatePrefix = "harmony_"

// The fields of the access log that come from the filter: each is the property [LogStatePrefix] and its name.
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
)

// LogFields returns all of them.
func LogFields() []string {
	return []string{
		LogAPI, LogModel, LogServer, LogPromptTokens, LogReasoningTokens, LogFinalTokens, LogRecoveries, LogFinish,
		LogEarlyEnd, LogCut,
	}
}

package contract

// The types of errors, as OpenAI names them.
const (
	InvalidRequestError = "invalid_request_error"
	AuthenticationError = "authentication_error"
	RateLimitError      = "rate_limit_error"
	ServerErrorType     = "server_error"
)

// The codes of errors in a request. [CodeUnsupportedParameter] is for what the API allows and this translation does not
// support. [CodeInvalidValue] is for a value that the API does not allow.
const (
	CodeInvalidJSON              = "invalid_json"
	CodeInvalidUTF8              = "invalid_utf8"
	CodeMaxDepthExceeded         = "max_depth_exceeded"
	CodeMaxValuesExceeded        = "max_values_exceeded"
	CodeDuplicateKey             = "duplicate_key"
	CodeMissingParameter         = "missing_required_parameter"
	CodeInvalidType              = "invalid_type"
	CodeInvalidValue             = "invalid_value"
	CodeUnknownRole              = "unknown_role"
	CodeUnsupportedParameter     = "unsupported_parameter"
	CodeModelNotFound            = "model_not_found"
	CodePreviousResponseNotFound = "previous_response_not_found"
	CodeResponseNotFound         = "response_not_found"
	CodeInvalidEncryptedContent  = "invalid_encrypted_content"
	CodeContextLengthExceeded    = "context_length_exceeded"
	CodeRequestTooLarge          = "request_too_large"
	CodeRawPromptNotAllowed      = "raw_prompt_not_allowed"
	CodeToolChoiceNotSupported   = "tool_choice_not_supported"
	CodeMutuallyExclusive        = "mutually_exclusive_parameters"
	CodeChoicesNotSupported      = "choices_not_supported"
	CodeControlTokenInText       = "control_token_in_text"
	CodeUnknownURL               = "unknown_url"
	CodeMethodNotSupported       = "method_not_supported"
	CodeInvalidAPIKey            = "invalid_api_key"
	CodeWebSocketNotSupported    = "websocket_not_supported"
)

// The codes of errors after the request was read. If a server sends a code of its own, the client gets that one.
const (
	CodeInvalidRequest           = "invalid_request"
	CodeServerRefusedCredentials = "server_refused_credentials"
	CodeRateLimitExceeded        = "rate_limit_exceeded"
	CodeServerModelNotFound      = "server_model_not_found"
	CodeServerPathNotFound       = "server_path_not_found"
	CodeServerRefusedTags        = "server_refused_structural_tag"
	CodeServerOverloaded         = "server_overloaded"
	CodeServerUnavailable        = "server_unavailable"
	CodeServerTimeout            = "server_timeout"
	CodeServerError              = "server_error"
	CodeAnswerTooLarge           = "answer_too_large"
	CodeNoFinalChannel           = "no_final_channel"
	CodeHarmonyParseError        = "harmony_parse_error"
	CodeStructuredOutputBroken   = "structured_output_broken"
	CodeGatewayOverloaded        = "gateway_overloaded"
	CodeServiceOverloaded        = "service_overloaded"
	CodeGatewayMisconfigured     = "gateway_misconfigured"
)

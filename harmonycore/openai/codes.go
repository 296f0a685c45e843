package openai

// The types of errors, as OpenAI names them.
const (
	InvalidRequestError = "invalid_request_error"
	ServerErrorType     = "server_error"
)

// The closed list of error codes. CodeUnsupportedParameter is for what the API allows and this translation does not
// do; CodeInvalidValue is for what has no meaning here at all.
const (
	CodeInvalidJSON              = "invalid_json"
	CodeInvalidUTF8              = "invalid_utf8"
	CodeMaxDepthExceeded         = "max_depth_exceeded"
	CodeDuplicateKey             = "duplicate_key"
	CodeMissingParameter         = "missing_required_parameter"
	CodeInvalidType              = "invalid_type"
	CodeInvalidValue             = "invalid_value"
	CodeUnknownRole              = "unknown_role"
	CodeUnsupportedParameter     = "unsupported_parameter"
	CodeModelNotFound            = "model_not_found"
	CodePreviousResponseNotFound = "previous_response_not_found"
	CodeContextLengthExceeded    = "context_length_exceeded"
	CodeServerError              = "server_error"
)

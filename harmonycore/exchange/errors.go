package exchange

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

func errBodyTooLarge(limit int) *openai.Error {
	return &openai.Error{
		Status: 413, Type: contract.InvalidRequestError, Code: contract.CodeRequestTooLarge,
		Message: "The request body is larger than the limit of " + strconv.Itoa(limit) + " bytes.",
	}
}

// errProxyLimit is for a body that the proxy refuses to hold because of its own limit. A proxy that the control plane
// configures holds as much as the gateway accepts.
func errProxyLimit(bodyLimit int) *openai.Error {
	return &openai.Error{
		Status: 413, Type: contract.InvalidRequestError, Code: contract.CodeRequestTooLarge,
		Message: "The request body is larger than the proxy holds: its own limit is per_connection_buffer_limit_bytes of " +
			"the listener or request_body_buffer_limit of the route. " +
			"The gateway's limit is " + strconv.Itoa(bodyLimit) + " bytes.",
	}
}

func errBadPath() *openai.Error {
	return &openai.Error{
		Status: 400, Type: contract.InvalidRequestError, Code: contract.CodeInvalidRequest,
		Message: "The method or the path can be read in more than one way. Write the method in capitals, and the path " +
			"without escaped slashes, dots or control characters, without backslashes, and without empty, '.' or '..' segments.",
	}
}

func errMethod(allow string) *openai.Error {
	return &openai.Error{
		Status: 405, Type: contract.InvalidRequestError, Code: contract.CodeMethodNotSupported,
		Message: "This URL takes " + allow + " requests only.",
	}
}

func errUpgrade() *openai.Error {
	return &openai.Error{
		Status: 426, Type: contract.InvalidRequestError, Code: contract.CodeWebSocketNotSupported,
		Message: "WebSocket is not served here. Send POST /v1/responses over HTTP.",
	}
}

func errModelNotFound(model string) *openai.Error {
	return &openai.Error{
		Status: 404, Type: contract.InvalidRequestError, Code: contract.CodeModelNotFound, Param: "model",
		Message: "The model '" + clip(model) + "' does not exist here. GET /v1/models lists those that do.",
	}
}

func errRawPrompt(model string) *openai.Error {
	return &openai.Error{
		Status: 403, Type: contract.InvalidRequestError, Code: contract.CodeRawPromptNotAllowed, Param: "prompt",
		Message: "Raw prompts are not allowed for the model '" + clip(model) + "': " +
			"use /v1/chat/completions or /v1/responses.",
	}
}

func errOllama() *openai.Error {
	return &openai.Error{
		Status: 404, Type: contract.InvalidRequestError, Code: contract.CodeUnknownURL,
		Message: "Ollama's API is not served; use " + contract.ChatPath + ".",
	}
}

// errContextLength is about a prompt made from param. The length of the prompt is not known: counting stops where the
// prompt is too long.
func errContextLength(param string, context int) *openai.Error {
	return &openai.Error{
		Status: 400, Type: contract.InvalidRequestError, Code: contract.CodeContextLengthExceeded, Param: param,
		// Clients look for the first words, which are OpenAI's.
		Message: "This model's maximum context length is " + strconv.Itoa(context) + " tokens. " +
			"The prompt has more, or leaves none for the answer. Shorten the " + param + ".",
	}
}

func errToolChoice(kind string) *openai.Error {
	return &openai.Error{
		Status: 400, Type: contract.InvalidRequestError, Code: contract.CodeToolChoiceNotSupported, Param: "tool_choice",
		Message: "The model's servers (" + kind + ") cannot be made to call a tool of their own choice: " +
			"name one function, or use 'auto'.",
	}
}

// errForcedCall and errForm are for servers that cannot be held to a form, where a prompt alone is not to ask for it.
func errForcedCall() *openai.Error {
	return &openai.Error{
		Status: 400, Type: contract.InvalidRequestError, Code: contract.CodeToolChoiceNotSupported, Param: "tool_choice",
		Message: "The model's servers cannot be made to call a tool: use 'auto', and ask the model for the call.",
	}
}

func errForm(param string) *openai.Error {
	return &openai.Error{
		Status: 400, Type: contract.InvalidRequestError, Code: contract.CodeUnsupportedParameter, Param: param,
		Message: "The model's servers cannot be held to a form of the answer. Leave the format out, and ask the model for it.",
	}
}

func errTooManyTools(n int) *openai.Error {
	return openai.Invalid("tools", "Invalid 'tools': a call can be held to one of "+strconv.Itoa(maxCallable)+
		" tools at most, and these are "+strconv.Itoa(n)+
		". Declare fewer, or ask for no call, no format and no strict function.")
}

func errStrict(param, kind string) *openai.Error {
	return &openai.Error{
		Status: 400, Type: contract.InvalidRequestError, Code: contract.CodeUnsupportedParameter, Param: param,
		Message: "The model's servers (" + kind + ") cannot be held to a form of the answer. " +
			"Leave '" + param + "' out, and ask the model for it.",
	}
}

// errStrictSchema is for a strict schema that says more than a grammar for the servers can.
func errStrictSchema(param, kind string) *openai.Error {
	return &openai.Error{
		Status: 400, Type: contract.InvalidRequestError, Code: contract.CodeUnsupportedParameter, Param: param,
		Message: "The model's servers (" + kind + ") cannot be held to all of this schema: a grammar has no patterns, " +
			"no ranges of numbers, no 'not' and no 'if'. Leave '" + param + "' out, or those keywords.",
	}
}

// errRender is for errors that only rendering finds. In a client's request that can only be a tool's schema: everything
// else has been checked, or comes from the gateway.
func errRender(reason string) *openai.Error {
	return openai.Invalid("tools", "Invalid 'tools': a schema cannot be shown to the model: "+reason+".")
}

func errMisconfigured() *openai.Error {
	return &openai.Error{
		Status: 503, Type: contract.ServerErrorType, Code: contract.CodeGatewayMisconfigured,
		Message: "The gateway is misconfigured. Its operator finds the reason in its log.",
	}
}

// statusBusy is the status of a refusal for load. Clients wait as long as its retry-after says, and then ask again a
// few times. After a 503 some ask at once, and 30 times (RATIONALE.md#230).
const statusBusy = 429

// The seconds after which a client may ask again: a gateway that had no memory, and servers that had no room and have
// not said when.
const (
	waitForMemory  = "1"
	waitForServers = "2"
)

func errOverloaded() *openai.Error {
	return &openai.Error{
		Status: statusBusy, Type: contract.ServerErrorType, Code: contract.CodeGatewayOverloaded,
		Message: "The gateway has no memory to spare for another request. Try again.", RetryAfter: waitForMemory,
	}
}

// errFull is for a request for which the pool has no room, where the proxy does not say so itself.
func errFull() *openai.Error {
	return &openai.Error{
		Status: statusBusy, Type: contract.ServerErrorType, Code: contract.CodeServerOverloaded,
		Message: "The inference servers are at their limit. Try again later.", RetryAfter: waitForServers,
	}
}

func errCannotRewrite() *openai.Error {
	return &openai.Error{
		Status: 500, Type: contract.ServerErrorType, Code: contract.CodeGatewayMisconfigured,
		Message: "The gateway cannot rewrite requests: its proxy must set allow_on_headers_stop_iteration.",
	}
}

func errStalled(milliseconds int64) *openai.Error {
	return &openai.Error{
		Status: 504, Type: contract.ServerErrorType, Code: contract.CodeServerTimeout,
		Message: "The inference server was silent for " + strconv.FormatInt(milliseconds, 10) + " ms.",
	}
}

// errGivenUp is the error for a request that no further server is asked for. milliseconds is the time of silence.
func errGivenUp(status int, milliseconds int64) *openai.Error {
	if status == 504 {
		return errStalled(milliseconds)
	}
	return &openai.Error{
		Status: 503, Type: contract.ServerErrorType, Code: contract.CodeServerError,
		Message: "The inference server closed the connection before its answer was finished.",
	}
}

func errUnfinished() *openai.Error {
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerError,
		Message: "The inference server ended its answer before it was finished.",
	}
}

func errNotUnderstood() *openai.Error {
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerError,
		Message: "The inference server's answer could not be understood.",
	}
}

// noLogprobs returns the error for a server that does not send the logprobs of its tokens.
func (g *generation) noLogprobs() *openai.Error {
	if g.translated.Logprobs {
		return errNoLogprobs(g.api)
	}
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerError,
		Message: "The inference server does not say how likely its tokens are, as its operator's setting " +
			"answers.token_ids needs.",
	}
}

func errNoLogprobs(api translate.API) *openai.Error {
	param := "logprobs"
	if api == translate.ResponsesAPI {
		param = "message.output_text.logprobs"
	}
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerError,
		Message: "The inference server does not say how likely its tokens are. Ask without '" + param + "'.",
	}
}

func errTooManyMessages() *openai.Error {
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeAnswerTooLarge,
		Message: "The model wrote more than " + strconv.Itoa(maxMessages) + " messages in one answer.",
	}
}

func errAnswerTooLarge(api translate.API, stream bool) *openai.Error {
	instead := "ask for a stream, for fewer choices, or for fewer 'top_logprobs'."
	switch {
	case api == translate.MessagesAPI:
		instead = "ask for a stream, or for a shorter one."
	case api == translate.ChatAPI && stream: // channel events
		instead = "ask for a shorter one."
	case api == translate.ResponsesAPI:
		instead = "ask for fewer 'top_logprobs', or without 'message.output_text.logprobs', or for a shorter one."
	}
	return &openai.Error{
		Status: 400, Type: contract.InvalidRequestError, Code: contract.CodeAnswerTooLarge,
		Message: "The answer is larger than the gateway can hold: " + instead,
	}
}

// errHarmony is the reference's error for the model's answer.
func errHarmony(e *harmony.ParseError) *openai.Error {
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeHarmonyParseError, Message: e.Message,
	}
}

// errBrokenForm is for an answer without the form that its server was to hold it to.
func errBrokenForm() *openai.Error {
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeStructuredOutputBroken,
		Message: "The answer does not have the form that the inference server was to hold it to: " +
			"its JSON breaks off, or the call is missing. Try again.",
	}
}

// errServerModel is for a server that does not have the model under the name that the gateway asked for.
func errServerModel(serverModel string) *openai.Error {
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerModelNotFound,
		Message: "The inference server does not know the model by the name '" + clip(serverModel) + "'. " +
			"This gateway's operator sets the name that GET /v1/models of the server lists: " +
			"--server-model of harmony up, or server_model in the configuration.",
	}
}

// errServerRefuses is for a server that refuses the gateway's own key. The server's words are left out, because they
// may repeat a part of the key.
func errServerRefuses(status int) *openai.Error {
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerRefusedCredentials,
		Message: "The inference server refuses the gateway's own credentials (status " + strconv.Itoa(status) + "). " +
			"The client's key is not meant. This gateway's operator sets authorization of the server's pool: " +
			"harmony status names the server.",
	}
}

// errServerPath is for a server that does not have the path that servers of its kind have.
func errServerPath(model *Model, status int) *openai.Error {
	kind := model.Kind.Facts()
	out := &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerPathNotFound,
		Message: "The inference server does not serve POST " + model.ServerPath(kind.Path) + " (status " +
			strconv.Itoa(status) + "), the path of the kind " + kind.Name + ". ",
	}
	if isScaleOut(model, status) {
		out.Message += "A vLLM serves it only with --enable-scale-out. "
	}
	out.Message += "The kind may be wrong: harmony probe tells this gateway's operator the right one."
	return out
}

// errRenderPath is for a server that does not render conversations.
func errRenderPath(path string, status int) *openai.Error {
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerPathNotFound,
		Message: "The server does not render conversations at POST " + path + " (status " + strconv.Itoa(status) +
			"). A vLLM does only with --enable-scale-out.",
	}
}

// errControlSpelling is for text that spells a control token, where a server renders conversations.
func errControlSpelling(param string) *openai.Error {
	return &openai.Error{
		Status: 400, Type: contract.InvalidRequestError, Code: contract.CodeControlTokenInText, Param: param,
		Message: "Invalid '" + param + "': its text spells a control token of the model, such as <|im_end|>. " +
			"The model's servers would read it as that token. Write it differently. This gateway's operator can let such text " +
			"through with control_tokens: break of the model, and name the model's tokens in control_spellings.",
	}
}

// errRendered is for a rendered conversation that the engine cannot get.
func errRendered(what string) *openai.Error {
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerError,
		Message: "The conversation that the server rendered " + what + ".",
	}
}

// errServerTags is for a server that takes no structural tag, whatever the request.
func errServerTags(kind string) *openai.Error {
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerRefusedTags,
		Message: "The inference server (" + kind + ") takes no structural tags, so it cannot be held to a form of the answer. " +
			"This gateway's operator starts vLLM without the structured outputs backend guidance, " +
			"or sets structured_outputs of the model to none.",
	}
}

// isScaleOut reports whether a server's status may be the 403 of a vLLM without --enable-scale-out. For a wrong key
// vLLM answers 401.
func isScaleOut(model *Model, status int) bool {
	name := model.Kind.Facts().Name
	return status == 403 && (name == contract.VLLMGenerate || name == contract.VLLMRender)
}

// isGatewaysFault reports whether a server's status is about the gateway's own request, of whose key, path and name of
// the model the client knows nothing. The client gets 502 instead.
func isGatewaysFault(status int, model *Model) bool {
	switch status {
	case 404, 405:
		return true
	case 401, 403:
		return model != nil && !model.ForwardAuthorization
	}
	return false
}

// serverError puts a server's error into OpenAI's form. It keeps the status, so that clients back off and retry as they
// would with the server itself, unless [isGatewaysFault], or the server has no room. model is nil if the response came
// before the request was read.
func serverError(e *backend.Error, model *Model) *openai.Error {
	out := &openai.Error{Status: e.Status, Message: e.Message, Param: e.Param, Code: e.Code}
	if isGatewaysFault(e.Status, model) {
		switch missing := e.Status == 404 || e.Status == 405; {
		case model != nil && !missing && !isScaleOut(model, e.Status):
			return errServerRefuses(e.Status)
		case model != nil && namesModel(e, model):
			return errServerModel(model.ServerModel)
		case model != nil && (!missing || e.NamesPath(model.ServerPath(model.Kind.Facts().Path))):
			return errServerPath(model, e.Status)
		}
		out.Status, out.Param = 502, ""
	}
	if out.Status < 400 || out.Status > 599 {
		out.Status = 502
	}
	if out.Message == "" {
		out.Message = "The inference server failed."
	}
	out.Type, out.Code = kindOf(out.Status, out.Code)
	switch {
	case out.Status == 503 && out.Code != contract.CodeServerUnavailable:
		out.Status, out.RetryAfter = statusBusy, waitForServers
	case out.Status == 429 && out.Code != insufficientQuota:
		out.RetryAfter = waitForServers // without it some clients do not ask again
	}
	return out
}

// insufficientQuota is the code of a 429 that no waiting helps against.
const insufficientQuota = "insufficient_quota"

// namesModel reports whether a server's error says that it does not know the model.
func namesModel(e *backend.Error, model *Model) bool {
	return e.Param == "model" || e.Code == contract.CodeModelNotFound ||
		model.ServerModel != "" && strings.Contains(e.Message, model.ServerModel)
}

// localError puts the proxy's own reply into OpenAI's form. received is how much of the request's body had come.
func localError(status int, text string, received, bodyLimit int) *openai.Error {
	if status == 413 && received > bodyLimit {
		return errBodyTooLarge(bodyLimit)
	}
	if status == 413 {
		return errProxyLimit(bodyLimit)
	}
	if text == "" {
		text = "The gateway answered with status " + strconv.Itoa(status) + "."
	}
	e := &openai.Error{Status: status, Message: clip(text)}
	if status == 503 {
		e.Code = contract.CodeServerUnavailable
	}
	e.Type, e.Code = kindOf(status, e.Code)
	return e
}

// kindOf returns the error's type, and a code if the server named none.
func kindOf(status int, code string) (kind, codeOut string) {
	fallback := contract.CodeServerError
	switch {
	case status == 429:
		kind, fallback = contract.RateLimitError, contract.CodeRateLimitExceeded
	case status == 503:
		kind, fallback = contract.ServerErrorType, contract.CodeServerOverloaded
	case status == 504:
		kind, fallback = contract.ServerErrorType, contract.CodeServerTimeout
	case status >= 500:
		kind = contract.ServerErrorType
	case status == 401:
		kind, fallback = contract.AuthenticationError, contract.CodeInvalidAPIKey
	default:
		kind, fallback = contract.InvalidRequestError, contract.CodeInvalidRequest
	}
	if code != "" {
		return kind, code
	}
	return kind, fallback
}

// maxQuoted is how much of the client's or the proxy's words an error repeats, in bytes.
const maxQuoted = 200

func clip(s string) string { return openai.Clip(s, maxQuoted) }

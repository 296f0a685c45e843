package backend

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Prefiller is a [Kind] whose servers read prompts for others of the kind, one after the other:
// [contract.PrefillParams].
type Prefiller interface {
	// AppendPrefill appends the body of a request to read a prompt, without an answer. The server's answer has what
	// [TransferParams] returns.
	AppendPrefill(dst []byte, r *Request) []byte
}

// remoteDecode asks vLLM to keep what it has read for another server. All members are the same as from vLLM's own
// routers: its connectors (NIXL, LMCache, Mooncake) take those that they know.
const remoteDecode = `"kv_transfer_params":{"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,` +
	`"remote_block_ids":null,"remote_host":null,"remote_port":null}`

// AppendPrefill writes nothing of the sampling: the one token that vLLM must generate is not used.
func (vllm) AppendPrefill(dst []byte, r *Request) []byte {
	dst = reserve(dst, r)
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = rawjson.AppendIDs(append(dst, `,"prompt":`...), r.Prompt)
	dst = appendScheduling(dst, r)
	return append(dst, `,"max_tokens":1,"stream":false,`+remoteDecode+`}`...)
}

func (vllmGenerate) AppendPrefill(dst []byte, r *Request) []byte {
	dst = reserve(dst, r)
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = rawjson.AppendIDs(append(dst, `,"token_ids":`...), r.Prompt)
	dst = appendScheduling(dst, r)
	return append(dst, `,"sampling_params":{"max_tokens":1,"detokenize":false},"stream":false,`+remoteDecode+`}`...)
}

// appendScheduling appends the parameters of a request that matter before its first token.
func appendScheduling(dst []byte, r *Request) []byte {
	for _, m := range r.Sampling.Extras {
		if !isSamplingParameter(m.Name) {
			dst = appendMember(dst, m)
		}
	}
	return dst
}

// transferParams is the member with what one of vLLM's servers tells another.
const transferParams = "kv_transfer_params"

// TransferParams returns what a server that has read a prompt tells the one that writes the answer, as a JSON object in
// body, and the host where the first one keeps it. Both are empty if body has none.
func TransferParams(body []byte) (params []byte, host string) {
	if rawjson.Validate(body, rawjson.MaxDepth) != nil {
		return nil, ""
	}
	params, kind := rawjson.Find(body, transferParams)
	if kind != rawjson.Object {
		return nil, ""
	}
	if value, kind := rawjson.Find(params, "remote_host"); kind == rawjson.String {
		host = rawjson.Unescape(value)
	}
	return params, host
}

// AppendTransferParams appends the end of a request without its last brace: params of a server that has read its
// prompt, or nothing, and the brace.
func AppendTransferParams(dst, params []byte) []byte {
	if len(params) > 0 {
		dst = append(append(dst, `,"`+transferParams+`":`...), params...)
	}
	return append(dst, '}')
}

// Bootstrap is where two of SGLang's servers meet for a request: [contract.PrefillBootstrap].
type Bootstrap struct {
	// Host and Port are the place, at the server that reads the prompt. An IPv6 address has brackets.
	Host string
	Port int
	// Room is the number of the request there.
	Room uint64
	// ID is the request's id, by which it can be aborted.
	ID string
}

// AppendBootstrap adds the place to a request, which is a JSON object. Both servers get the same request.
func AppendBootstrap(body []byte, b *Bootstrap) []byte {
	body = append(rawjson.AppendString(append(body[:len(body)-1], `,"rid":`...), b.ID), `,"bootstrap_host":`...)
	body = rawjson.AppendInt(append(rawjson.AppendString(body, b.Host), `,"bootstrap_port":`...), int64(b.Port))
	body = rawjson.AppendInt(append(body, `,"bootstrap_room":`...), int64(b.Room))
	return append(body, '}')
}

// AbortPath is where SGLang takes the id of a request to abort.
const AbortPath = "/abort_request"

// AppendAbort appends the request to abort another one.
func AppendAbort(dst []byte, id string) []byte {
	return append(rawjson.AppendString(append(dst, `{"rid":`...), id), '}')
}

// PrefillError returns the error in the answer of a server that was asked to read a prompt, or nil. The answer may be a
// stream. A 5xx that is not JSON, and a status of 0, are the proxy's own.
func PrefillError(kind Kind, status int, body []byte) *Error {
	switch {
	case status == 0 || status >= 500 && rawjson.Validate(body, rawjson.MaxDepth) != nil:
		return unanswered(status)
	case status < 200 || status > 299:
		return ReadError(status, body)
	}
	if e := BodyError(body); e != nil {
		return e
	}
	reader, event := kind.NewReader(), &Event{}
	reader.Write(body)
	for reader.Next(event) == Read {
		if event.Error != nil {
			return event.Error
		}
		if event.Finish == Aborted {
			return &Error{Status: 502, Message: "the server that was asked to read it has aborted it"}
		}
	}
	return nil
}

// RenderError returns the error in the answer to a call that renders a conversation, or nil if the status is that of a
// success.
func RenderError(status int, body []byte) *Error {
	switch {
	case status >= 200 && status <= 299:
		return nil
	case status == 0 || status >= 500 && rawjson.Validate(body, rawjson.MaxDepth) != nil:
		e := unanswered(status)
		switch status {
		case 503:
			e.Message = "no server that renders could be reached"
		case 504:
			e.Message = "the server that was asked to render it has not answered in time"
		default:
			e.Message = "the server that was asked to render it has not answered"
		}
		return e
	}
	return ReadError(status, body)
}

// unanswered returns the error for a call that no server has answered.
func unanswered(status int) *Error {
	switch status {
	case 503:
		return &Error{Status: 503, Code: contract.CodeServerUnavailable,
			Message: "no server that reads prompts could be reached"}
	case 504:
		return &Error{Status: 504, Message: "the server that was asked to read it has not answered in time"}
	default:
		return &Error{Status: 502, Message: "the server that was asked to read it has not answered"}
	}
}

package backend

import (
	"strconv"

	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// ReadError reads the body of a failed request. Servers nest the error in a member "error" or write it flat. A proxy in
// front of the server may answer with a body that is not JSON: then the message has the status alone, and the client
// sees nothing of that body.
func ReadError(status int, body []byte) *Error {
	e := &Error{}
	if rawjson.Validate(body, rawjson.MaxDepth) == nil {
		if value, kind, _, err := jsonparser.Get(body, "error"); err == nil && kind != jsonparser.Null {
			e = readErrorValue(value, kind)
		} else {
			e = readErrorValue(body, jsonparser.Object)
		}
	}
	if e.Message == "" {
		e.Message = "the inference server answered with status " + strconv.Itoa(status)
	}
	e.Status = status
	return e
}

// BodyError returns the error in the body of a response with status 200, or nil if there is none. Some servers answer
// 200 and put the error into the JSON (tenstorrent/vllm#386): in a member "error", or flat as an object of type "error".
func BodyError(body []byte) *Error {
	if rawjson.Validate(body, rawjson.MaxDepth) != nil {
		return nil
	}
	if value, kind, _, err := jsonparser.Get(body, "error"); err == nil && kind != jsonparser.Null {
		return readErrorValue(value, kind)
	}
	if value, kind, _, err := jsonparser.Get(body, "object"); err == nil && scalar(value, kind) == "error" {
		return readErrorValue(body, jsonparser.Object)
	}
	return nil
}

// readErrorValue reads validated JSON: an object with message, type, param and code, or a bare string.
func readErrorValue(value []byte, kind jsonparser.ValueType) *Error {
	e := &Error{}
	if kind == jsonparser.String {
		e.Message = rawjson.Unescape(value)
		return e
	}
	if kind != jsonparser.Object {
		return e
	}
	_ = jsonparser.ObjectEach(value, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		switch rawjson.View(key) {
		case "message":
			e.Message = scalar(value, kind)
		case "detail": // FastAPI's own errors
			if e.Message == "" {
				e.Message = scalar(value, kind)
			}
		case "type":
			e.Type = scalar(value, kind)
		case "param":
			e.Param = scalar(value, kind)
		case "code":
			e.Code = scalar(value, kind)
			// A numeric code is an HTTP status. As a code it is of no use to a client.
			if n, err := strconv.Atoi(e.Code); err == nil {
				e.Code = ""
				if n >= 400 && n <= 599 {
					e.Status = n
				}
			}
		}
		return nil
	})
	return e
}

func scalar(value []byte, kind jsonparser.ValueType) string {
	switch kind {
	case jsonparser.String:
		return rawjson.Unescape(value)
	case jsonparser.Number:
		return string(value)
	default:
		return ""
	}
}

package backend

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// ReadError reads the body of a failed request. Servers nest the error in a member "error" or write it flat. A proxy in
// front of the server may answer with a body that is not JSON: then the message has the status alone, and the client
// sees nothing of that body.
func ReadError(status int, body []byte) *Error {
	e := &Error{}
	if rawjson.Validate(body, rawjson.MaxDepth) == nil {
		if value, kind := rawjson.Find(body, "error"); kind != 0 && kind != rawjson.Null {
			e = readErrorValue(value, kind)
		} else {
			e = readErrorValue(body, rawjson.Object)
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
	if value, kind := rawjson.Find(body, "error"); kind != 0 && kind != rawjson.Null {
		return readErrorValue(value, kind)
	}
	if value, kind := rawjson.Find(body, "object"); scalar(value, kind) == "error" {
		return readErrorValue(body, rawjson.Object)
	}
	return nil
}

// readErrorValue reads validated JSON: an object with message, type, param and code, or a bare string.
func readErrorValue(value []byte, kind rawjson.Kind) *Error {
	e := &Error{}
	if kind == rawjson.String {
		e.Message = rawjson.Unescape(value)
		return e
	}
	if kind != rawjson.Object {
		return e
	}
	it := rawjson.Members(value)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "message":
			e.Message = scalar(it.Value, it.Kind)
		case "detail": // FastAPI's own errors
			if e.Message == "" {
				e.Message = scalar(it.Value, it.Kind)
			}
		case "type":
			e.Type = scalar(it.Value, it.Kind)
		case "param":
			e.Param = scalar(it.Value, it.Kind)
		case "code":
			e.Code = scalar(it.Value, it.Kind)
			// A numeric code is an HTTP status. As a code it is of no use to a client.
			if n, err := strconv.Atoi(e.Code); err == nil {
				e.Code = ""
				if n >= 400 && n <= 599 {
					e.Status = n
				}
			}
		}
	}
	return e
}

func scalar(value []byte, kind rawjson.Kind) string {
	switch kind {
	case rawjson.String:
		return rawjson.Unescape(value)
	case rawjson.Number:
		return string(value)
	default:
		return ""
	}
}

package backend

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// ReadError reads the body of a failed request. Servers nest the error in a member "error" or write it flat. A proxy in
// front of the server may answer with a body that is not JSON: then the message has the status alone, and the client
// sees nothing of that body.
func ReadError(status int, body []byte) *Error {
	e := &Error{}
	if rawjson.Validate(body, rawjson.MaxDepth) == nil {
		if list := rawjson.Elements(body); list.Next() { // Gemini's
			body = list.Value
		}
		if value, kind := rawjson.Find(body, "error"); kind != 0 && kind != rawjson.Null {
			e = readErrorValue(value, kind)
		} else {
			e = readErrorValue(body, rawjson.Object)
		}
	}
	if e.Message == "" {
		e.Message = noMessage + strconv.Itoa(status)
	}
	e.Status = status
	return e
}

// noMessage begins the message of an error for which the server gave none.
const noMessage = "the inference server answered with status "

// NamesPath reports whether the error of a 404 or 405 says nothing, or says that the server does not serve the path, and
// not that it lacks something that the request names.
func (e *Error) NamesPath(path string) bool {
	switch strings.ToLower(strings.Trim(e.Message, " .")) {
	case "not found", "file not found", "page not found", "404 page not found", "404 not found", "method not allowed":
		return true
	}
	return strings.HasPrefix(e.Message, noMessage) || e.Code == contract.CodeUnknownURL ||
		strings.Contains(e.Message, path)
}

// BodyError returns the error in the body of a response with status 200, or nil if there is none. Some servers answer
// 200 and put the error into the JSON (tenstorrent/vllm#386): in a member "error", or flat as an object of type
// "error".
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
	var origin []byte
	it := rawjson.Members(value)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "message":
			e.Message = errorText(it.Value, it.Kind)
		case "detail": // FastAPI's own errors
			if e.Message == "" {
				e.Message = errorText(it.Value, it.Kind)
			}
		case "metadata": // OpenRouter's
			origin = it.Value
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
	if text := originText(origin); text != "" && text != e.Message {
		e.Message += ": " + text
	}
	return e
}

// errorText returns a message: a text, or the first of FastAPI's list of what is wrong in a request, with its place.
// Mistral nests such a list in an object.
func errorText(value []byte, kind rawjson.Kind) string {
	for kind == rawjson.Array || kind == rawjson.Object {
		if kind == rawjson.Array {
			it := rawjson.Elements(value)
			it.Next()
			value, kind = it.Value, it.Kind
			continue
		}
		detail, detailKind := rawjson.Find(value, "detail")
		if detailKind == 0 {
			return placedText(value)
		}
		value, kind = detail, detailKind
	}
	return scalar(value, kind)
}

// placedText returns what an element of FastAPI's list says, as in "stream_options.include_usage: not permitted".
func placedText(element []byte) string {
	message, kind := rawjson.Find(element, "msg")
	text := scalar(message, kind)
	place := ""
	loc, _ := rawjson.Find(element, "loc")
	it := rawjson.Elements(loc)
	for it.Next() {
		name := scalar(it.Value, it.Kind)
		switch {
		case place == "" && name == "body":
		case place == "":
			place = name
		default:
			place += "." + name
		}
	}
	if place == "" || text == "" {
		return text
	}
	return place + ": " + text
}

// maxOrigin is how much is read of the error of a server behind a server, in bytes.
const maxOrigin = 4 << 10

// originText returns the message of the error that OpenRouter's metadata repeats from the server behind it.
func originText(metadata []byte) string {
	raw, kind := rawjson.Find(metadata, "raw")
	if kind != rawjson.String || len(raw) > maxOrigin {
		return ""
	}
	text := rawjson.AppendUnescaped(nil, raw)
	if rawjson.Validate(text, rawjson.MaxDepth) != nil {
		return string(text)
	}
	if inner, kind := rawjson.Find(text, "error"); kind == rawjson.Object {
		text = inner
	}
	message, kind := rawjson.Find(text, "message")
	return scalar(message, kind)
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

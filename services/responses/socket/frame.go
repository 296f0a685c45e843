package socket

import (
	"encoding/json"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// The types of clients' frames. All others are ignored: clients send hints that ask for nothing.
const (
	typeCreate = "response.create"
	typeSteer  = "response.steer"
)

// frame is a client's frame.
type frame struct {
	kind string
	// lane is the value of stream_id, or empty.
	lane string
	// previous is the response that a frame of [typeSteer] names.
	previous string
}

// parseFrame reads what a frame is for. The error is the client's; it belongs to the lane of the frame if that could be
// read.
func parseFrame(data []byte) (f frame, failure *openai.Error) {
	if err := rawjson.Validate(data, rawjson.MaxDepth); err != nil {
		return f, badRequest(contract.CodeInvalidJSON, "", "The frame is not a JSON object: "+err.Error()+".")
	}
	at := rawjson.Space(data, 0)
	if data[at] != '{' {
		return f, badRequest(contract.CodeInvalidJSON, "", "The frame is not a JSON object.")
	}
	data = data[at:]
	lane, given, ok := member(data, "stream_id")
	if given && (!ok || !validLane(lane)) {
		return f, badRequest(codeInvalidStream, "stream_id", "The 'stream_id' field must be a non-empty string with at most "+
			"256 characters and may only contain letters, numbers, underscores, hyphens, and periods.")
	}
	f.lane = lane
	if f.kind, given, ok = member(data, "type"); !given || !ok {
		return f, badRequest(contract.CodeInvalidType, "type", "The frame has no 'type' that is a string. Write "+
			"\"type\": \""+typeCreate+"\".")
	}
	f.previous, _, _ = member(data, "previous_response_id")
	return f, nil
}

// member returns the text of an object's member. given reports whether the object has it and it is not null, and ok
// whether it is a string.
func member(object []byte, name string) (text string, given, ok bool) {
	raw, kind := rawjson.Find(object, name)
	if kind == 0 || kind == rawjson.Null {
		return "", false, false
	}
	if kind != rawjson.String || len(raw) > maxMember {
		return "", true, false
	}
	// The value is the text between the quotes.
	quoted := append(append([]byte{'"'}, raw...), '"')
	return text, true, json.Unmarshal(quoted, &text) == nil
}

// maxMember is the size of the longest string that is read of a frame, in bytes of JSON.
const maxMember = 2048

const maxLaneName = 256

func validLane(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	return s != "" && len(s) <= maxLaneName
}

// onLane returns an event as a frame of a lane.
func onLane(event []byte, lane string) []byte {
	if lane == "" {
		return event
	}
	b := make([]byte, 0, len(event)+len(lane)+len(`"stream_id":"",`))
	b = append(append(append(b, `{"stream_id":"`...), lane...), `",`...)
	return append(b, event[1:]...)
}

// errorFrame returns the frame of an error. What the response over HTTP would have as header retry-after is in the
// member headers, where Codex looks for it: it gives up at a 429 without.
func errorFrame(e *openai.Error, lane string) []byte {
	b := strconv.AppendInt([]byte(`{"type":"error","status":`), int64(e.Status), 10)
	if e.RetryAfter != "" {
		b = append(rawjson.AppendString(append(b, `,"headers":{"retry-after":`...), e.RetryAfter), '}')
	}
	if lane != "" {
		b = append(append(append(b, `,"stream_id":"`...), lane...), '"')
	}
	return append(append(b, ','), e.AppendJSON(nil)[1:]...)
}

// steerRefused returns the answer to a frame of [typeSteer].
func steerRefused(f *frame) []byte {
	b := []byte(`{"type":"response.steer.failed","steer":{"id":null,"previous_response_id":`)
	b = rawjson.AppendString(b, f.previous)
	e := badRequest(codeNoSteering, "", "Responses cannot be steered here. Send a new response.create.")
	return onLane(append(append(b, `},`...), e.AppendJSON(nil)[1:]...), f.lane)
}

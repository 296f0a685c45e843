package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/sse"
)

// idsMember is the member in which an answer of the API has the sampled ids, if the model's operator wants that.
var idsMember = []byte(`"generation_token_ids":`)

// readAnswer reads an answer of the API: one for clients, as the gateway sends it. known reports whether data is one.
// The error says what to do about an answer without ids.
func readAnswer(data []byte) (ids []uint32, known bool, err error) {
	what := answerName(data)
	if what == "" {
		return nil, false, nil
	}
	// The member's quotes cannot stand in a string of JSON. In a stream of Responses events the last one counts.
	if i := bytes.LastIndex(data, idsMember); i >= 0 {
		from := i + len(idsMember)
		if to := rawjson.SkipValid(data, from, rawjson.MaxDepth); to > from &&
			json.Unmarshal(data[from:to], &ids) == nil && len(ids) > 0 {
			return ids, true, nil
		}
	}
	return nil, true, fmt.Errorf("this is %s: it has the texts that a client gets, and no token ids. Record the request "+
		"with harmony up --record FOLDER and explain its file, ask the model's server itself, or set answers.token_ids "+
		"for the model", what)
}

// answerName says what answer of the API begins with data, or returns an empty text for anything else.
func answerName(data []byte) string {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '{' {
		return objectName(data)
	}
	event, _, _ := bytes.Cut(data, []byte("\n"))
	if name, ok := bytes.CutPrefix(event, []byte("event:")); ok {
		switch string(bytes.TrimSpace(name)) {
		case "analysis", "commentary", "token", "tool_call", "done":
			return "a stream of channel events"
		}
	}
	var d sse.Decoder
	d.Write(append(bytes.Clone(data[:min(len(data), sse.MaxEvent)]), "\n\n"...))
	first, ok := d.Next()
	if !ok {
		return ""
	}
	return objectName(first)
}

// objectName says what a JSON object is that the API has, by its members "object" and "type".
func objectName(data []byte) string {
	it := rawjson.Members(data)
	for it.Next() {
		if it.Kind != rawjson.String {
			continue
		}
		switch key, value := string(it.Key), string(it.Value); {
		case key == "object" && value == "chat.completion.chunk":
			return "a stream of Chat Completions"
		case key == "object" && value == "chat.completion":
			return "an answer of Chat Completions"
		case key == "object" && value == "response":
			return "an answer of Responses"
		case key == "type" && strings.HasPrefix(value, "response."):
			return "a stream of Responses events"
		}
	}
	return ""
}

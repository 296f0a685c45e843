package record

import (
	"bytes"
	"encoding/json"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/wholerunes"
)

// maxTextBody is how much of a body that is no JSON is shown, in bytes. As text it may take six times as much.
const maxTextBody = 1 << 20

// bodyJSON returns a body as JSON: itself, or a string if it is no JSON. It returns nil for no body.
func bodyJSON(body []byte) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	if rawjson.Validate(body, rawjson.MaxDepth) == nil {
		return bytes.Clone(body)
	}
	text, _ := wholerunes.AppendRepaired(nil, body[:min(len(body), maxTextBody)], true)
	return rawjson.AppendString(nil, string(text))
}

// prompt is what is asked of a server: a prompt in token ids or as text, and the rest of the request.
type prompt struct {
	ids  []uint32
	text string
	rest json.RawMessage
}

// readPrompt takes the prompt out of a request. All kinds of servers name it by one of four words.
func readPrompt(body []byte) prompt {
	var p prompt
	if rawjson.Validate(body, rawjson.MaxDepth) != nil || body[rawjson.Space(body, 0)] != '{' {
		p.rest = bodyJSON(body)
		return p
	}
	rest := []byte{'{'}
	it := rawjson.Members(body)
	for it.Next() {
		switch string(it.Key) {
		case "prompt", "input_ids", "token_ids", "prompt_token_ids":
			var ids []uint32
			if it.Kind == rawjson.Array && p.ids == nil && json.Unmarshal(it.Value, &ids) == nil {
				p.ids = ids
				continue
			}
			if it.Kind == rawjson.String && p.text == "" && string(it.Key) == "prompt" {
				p.text = rawjson.Unescape(it.Value)
				continue
			}
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(rawjson.AppendString(rest, string(it.Key)), ':')
		if it.Kind == rawjson.String {
			rest = append(append(append(rest, '"'), it.Value...), '"')
		} else {
			rest = append(rest, it.Value...)
		}
	}
	p.rest = append(rest, '}')
	return p
}

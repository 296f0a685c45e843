package inspect

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/completion"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// The names of the APIs in lines.
const (
	chatAPI      = "chat"
	responsesAPI = "responses"
	messagesAPI  = "messages"
)

// bodyOf returns the body of a request to the API that the line is, or that a field of it is.
func bodyOf(q *request) (api string, body []byte) {
	for _, api := range []string{chatAPI, responsesAPI} {
		if q.has(api) {
			return api, q.fields[api]
		}
	}
	switch {
	case q.hasMessages():
		return messagesAPI, q.fields[messagesAPI]
	case q.has("conversation") || q.has("conversation_json"):
	case q.present("messages"):
		return chatAPI, q.line
	case q.present("input"):
		return responsesAPI, q.line
	}
	return "", nil
}

// extras are the servers' parameters that clients may use by default.
var extras = []string{"top_k", "min_p", "repetition_penalty", "min_tokens"}

// renderBody appends the prompt of a request, or the error that its client gets.
func (a *answerer) renderBody(dst []byte, q *request, api string, body []byte) []byte {
	wantsTurns := false
	model := completion.GPTOSS(modelOf(body))
	model.Extras, model.StructuralTags = extras, true
	if q.has(chatAPI) || q.has(responsesAPI) || q.hasMessages() { // a line that is a body has no field of ours
		model.Date = q.text("date")
		wantsTurns = q.flag("turns", false)
	}
	if _, err := time.Parse(time.DateOnly, model.Date); model.Date != "" && err != nil {
		q.fail("%q must be a day, such as 2026-01-31", "date")
	}
	if q.err != nil {
		return dst
	}
	ids, err := a.prompt(model, api, body)
	if err == nil {
		dst = appendIDs(append(dst, `"completion":`...), ids)
		if wantsTurns {
			model.TemplateCalls = true
			template, _ := a.prompt(model, api, body) // which no form of calls makes wrong
			dst = appendTurns(append(dst, `,"turns":`...), ids, template)
		}
		return dst
	}
	var refused *completion.Error
	if !errors.As(err, &refused) {
		q.fail("%v", err)
		return dst
	}
	dst = rawjson.AppendInt(append(dst, `"status":`...), int64(refused.Status))
	members := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(refused.Body)), "{"), "}")
	return append(append(dst, ','), members...)
}

// prompt returns the prompt of a request.
func (a *answerer) prompt(model completion.Model, api string, body []byte) ([]uint32, error) {
	t := completion.New(completion.Options{Tokenizer: a.t, Model: model})
	switch api {
	case responsesAPI:
		return t.ResponsesPrompt(body)
	case messagesAPI:
		return t.MessagesPrompt(body)
	}
	return t.ChatPrompt(body)
}

// hasMessages reports whether a field is the body of a request to Anthropic's Messages. The messages of a body are a
// list.
func (q *request) hasMessages() bool {
	return q.has(messagesAPI) && bytes.HasPrefix(q.fields[messagesAPI], []byte("{"))
}

// modelOf returns the model that a body names. Without one, the API's own error says so.
func modelOf(body []byte) string {
	if rawjson.Validate(body, rawjson.MaxDepth) == nil {
		it := rawjson.Members(body)
		for it.Next() {
			if string(it.Key) == "model" && it.Kind == rawjson.String && len(it.Value) > 0 {
				return rawjson.Unescape(it.Value)
			}
		}
	}
	return "gpt-oss-120b"
}

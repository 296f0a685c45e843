package sim

import (
	"encoding/json"
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// render returns a conversation as a Harmony prompt. It is a template of this package's own: tools are lines of JSON,
// and all reasoning of the past is kept unless
// [Options.ForgetReasoning] is set. Text of the conversation is ordinary text, whatever it spells.
func render(s *Server, messages []chatMessage, q *chatRequest) ([]uint32, *refusal) {
	w := &writer{t: s.tok}
	effort := "medium"
	if q.ReasoningEffort != nil {
		effort = *q.ReasoningEffort
	}
	w.message("system", "You are a large language model.\n\nReasoning: "+effort+
		"\n\n# Valid channels: analysis, commentary, final. Channel must be included for every message.")
	instructions := ""
	if role := *messages[0].Role; role == "system" || role == "developer" {
		instructions, messages = messages[0].text, messages[1:]
	}
	if text := developerText(instructions, q); text != "" {
		w.message("developer", text)
	}
	names := map[string]string{}
	asked := 0 // where the last turn begins
	for i := range messages {
		if *messages[i].Role == "user" {
			asked = i
		}
	}
	for i := range messages {
		m := &messages[i]
		if s.opt.ForgetReasoning && i < asked {
			m.Reasoning, m.ReasoningContent = nil, nil
		}
		switch role := *m.Role; role {
		case "user":
			w.message(role, m.text)
		case "tool":
			w.message("functions."+names[*m.ToolCallID]+" to=assistant", m.text, "commentary")
		case "assistant":
			if q.ContinueFinal && i == len(messages)-1 && len(m.ToolCalls) == 0 {
				w.open("assistant", m.text, "final")
				return w.ids, nil
			}
			writeAssistant(w, m, names)
		default:
			w.message("developer", "# Instructions\n\n"+m.text)
		}
	}
	if q.ContinueFinal {
		return nil, badRequest("", "Cannot use `continue_final_message` without a last message of the assistant.")
	}
	w.special(tokenizer.Start)
	w.text("assistant")
	return w.ids, nil
}

// developerText returns the developer message, or an empty text if there is none.
func developerText(instructions string, q *chatRequest) string {
	text := ""
	if instructions != "" {
		text = "# Instructions\n\n" + instructions
	}
	if len(q.Tools) == 0 {
		return text
	}
	if text != "" {
		text += "\n\n"
	}
	text += "# Tools\n"
	for _, t := range q.Tools {
		text += "\n" + string(mustJSON(t.Function))
	}
	return text
}

// writeAssistant writes an assistant's turn. names gets the names of the functions that are called, by the ids of the calls.
func writeAssistant(a *writer, m *chatMessage, names map[string]string) {
	reasoning := m.Reasoning
	if reasoning == nil {
		reasoning = m.ReasoningContent
	}
	if reasoning != nil && *reasoning != "" {
		a.message("assistant", *reasoning, "analysis")
	}
	switch {
	case m.text != "" && len(m.ToolCalls) > 0:
		a.message("assistant", m.text, "commentary")
	case m.text != "":
		a.message("assistant", m.text, "final")
	}
	for _, c := range m.ToolCalls {
		names[*c.ID] = *c.Function.Name
		a.open("assistant to=functions."+*c.Function.Name, *c.Function.Arguments, "commentary json")
		a.special(tokenizer.Call)
	}
}

// tokenizePage returns /tokenize of vLLM, for a text and for a conversation.
func tokenizePage(s *Server) *page {
	return &page{methods: []string{http.MethodPost}, serve: func(w http.ResponseWriter, rec *Request) {
		ids, refused := tokenizeChat(s, rec.Body)
		if refused != nil {
			s.refuse(w, rec, refused)
			return
		}
		s.respond(w, rec, http.StatusOK, mustJSON(struct {
			Count       int      `json:"count"`
			MaxModelLen int      `json:"max_model_len"`
			Tokens      []uint32 `json:"tokens"`
			TokenStrs   any      `json:"token_strs"`
		}{len(ids), s.opt.MaxModelLen, list(ids), nil}))
	}}
}

func tokenizeChat(s *Server, body []byte) ([]uint32, *refusal) {
	var q struct {
		chatRequest
		Prompt *string `json:"prompt"`
	}
	if _, r := decodeObject(body, &q); r != nil {
		return nil, r
	}
	if q.Model != nil && *q.Model != "" && !s.serves(*q.Model) {
		return nil, notFound("model", "The model `"+*q.Model+"` does not exist.")
	}
	if q.Prompt != nil {
		return s.tokenize(*q.Prompt), nil
	}
	if len(q.Messages) == 0 {
		return nil, invalid("body.messages", pydantic("missing", "body.messages", "Field required"))
	}
	messages, r := readMessages(s, q.Messages)
	if r != nil {
		return nil, r
	}
	if r := q.readTools(s); r != nil {
		return nil, r
	}
	return render(s, messages, &q.chatRequest)
}

// detokenizePage returns /detokenize of vLLM.
func detokenizePage(s *Server) *page {
	return &page{methods: []string{http.MethodPost}, serve: func(w http.ResponseWriter, rec *Request) {
		var q struct {
			Model  string   `json:"model"`
			Tokens []uint32 `json:"tokens"`
		}
		switch err := json.Unmarshal(rec.Body, &q); {
		case err != nil || q.Tokens == nil:
			s.refuse(w, rec, invalid("body.tokens", pydantic("list_type", "body.tokens", "Input should be a valid list")))
		case q.Model != "" && !s.serves(q.Model):
			s.refuse(w, rec, notFound("model", "The model `"+q.Model+"` does not exist."))
		default:
			if r := checkVocabulary(q.Tokens); r != nil {
				s.refuse(w, rec, r)
				return
			}
			text, _ := s.tok.AppendDecode(nil, q.Tokens)
			s.respond(w, rec, http.StatusOK, mustJSON(map[string]string{"prompt": lossy(text)}))
		}
	}}
}

package openai

import (
	"encoding/json"
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim/gptoss"
	"github.com/harmonyedge/harmonyedge/sim/server"
)

// render returns a conversation as a Harmony prompt. It is a template of this package's own: tools are lines of JSON,
// and all reasoning of the past is kept unless
// [server.Options.ForgetReasoning] is set. Text of the conversation is ordinary text, whatever it spells.
func render(s *server.Server, messages []chatMessage, q *chatRequest) ([]uint32, *server.Refusal) {
	w := &gptoss.Writer{Tokenizer: s.Tokenizer}
	effort := "medium"
	if q.ReasoningEffort != nil {
		effort = *q.ReasoningEffort
	}
	w.Message("system", "You are a large language model.\n\nReasoning: "+effort+
		"\n\n# Valid channels: analysis, commentary, final. Channel must be included for every message.")
	instructions := ""
	if role := *messages[0].Role; role == "system" || role == "developer" {
		instructions, messages = messages[0].text, messages[1:]
	}
	if text := developerText(instructions, q); text != "" {
		w.Message("developer", text)
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
		if s.Options.ForgetReasoning && i < asked {
			m.Reasoning, m.ReasoningContent = nil, nil
		}
		switch role := *m.Role; role {
		case "user":
			w.Message(role, m.text)
		case "tool":
			w.Message("functions."+names[*m.ToolCallID]+" to=assistant", m.text, "commentary")
		case "assistant":
			if q.ContinueFinal && i == len(messages)-1 && len(m.ToolCalls) == 0 {
				w.Open("assistant", m.text, "final")
				return w.IDs, nil
			}
			writeAssistant(w, m, names)
		default:
			w.Message("developer", "# Instructions\n\n"+m.text)
		}
	}
	if q.ContinueFinal {
		return nil, server.BadRequest("", "Cannot use `continue_final_message` without a last message of the assistant.")
	}
	w.Special(tokenizer.Start)
	w.Text("assistant")
	return w.IDs, nil
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
		text += "\n" + string(server.MustJSON(t.Function))
	}
	return text
}

// writeAssistant writes an assistant's turn. names gets the names of the functions that are called, by the ids of the
// calls.
func writeAssistant(a *gptoss.Writer, m *chatMessage, names map[string]string) {
	reasoning := m.Reasoning
	if reasoning == nil {
		reasoning = m.ReasoningContent
	}
	if reasoning != nil && *reasoning != "" {
		a.Message("assistant", *reasoning, "analysis")
	}
	switch {
	case m.text != "" && len(m.ToolCalls) > 0:
		a.Message("assistant", m.text, "commentary")
	case m.text != "":
		a.Message("assistant", m.text, "final")
	}
	for _, c := range m.ToolCalls {
		names[*c.ID] = *c.Function.Name
		a.Open("assistant to=functions."+*c.Function.Name, *c.Function.Arguments, "commentary json")
		a.Special(tokenizer.Call)
	}
}

// tokenizePage returns /tokenize of vLLM, for a text and for a conversation.
func tokenizePage(s *server.Server) *server.Page {
	return &server.Page{Methods: []string{http.MethodPost}, Serve: func(w http.ResponseWriter, rec *server.Request) {
		ids, refused := tokenizeChat(s, rec.Body)
		if refused != nil {
			s.Refuse(w, rec, refused)
			return
		}
		s.Respond(w, rec, http.StatusOK, server.MustJSON(struct {
			Count       int      `json:"count"`
			MaxModelLen int      `json:"max_model_len"`
			Tokens      []uint32 `json:"tokens"`
			TokenStrs   any      `json:"token_strs"`
		}{len(ids), s.Options.MaxModelLen, server.List(ids), nil}))
	}}
}

func tokenizeChat(s *server.Server, body []byte) ([]uint32, *server.Refusal) {
	var q struct {
		chatRequest
		Prompt *string `json:"prompt"`
	}
	if _, r := server.DecodeObject(body, &q); r != nil {
		return nil, r
	}
	if q.Model != nil && *q.Model != "" && !s.Serves(*q.Model) {
		return nil, server.NotFound("model", "The model `"+*q.Model+"` does not exist.")
	}
	if q.Prompt != nil {
		return s.Tokenize(*q.Prompt), nil
	}
	if len(q.Messages) == 0 {
		return nil, server.Invalid("body.messages", server.Pydantic("missing", "body.messages", "Field required"))
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
func detokenizePage(s *server.Server) *server.Page {
	return &server.Page{Methods: []string{http.MethodPost}, Serve: func(w http.ResponseWriter, rec *server.Request) {
		var q struct {
			Model  string   `json:"model"`
			Tokens []uint32 `json:"tokens"`
		}
		switch err := json.Unmarshal(rec.Body, &q); {
		case err != nil || q.Tokens == nil:
			s.Refuse(w, rec, server.Invalid("body.tokens", server.Pydantic("list_type", "body.tokens",
				"Input should be a valid list")))
		case q.Model != "" && !s.Serves(q.Model):
			s.Refuse(w, rec, server.NotFound("model", "The model `"+q.Model+"` does not exist."))
		default:
			if r := server.CheckVocabulary(q.Tokens); r != nil {
				s.Refuse(w, rec, r)
				return
			}
			text, _ := s.Tokenizer.AppendDecode(nil, q.Tokens)
			s.Respond(w, rec, http.StatusOK, server.MustJSON(map[string]string{"prompt": gptoss.Lossy(text)}))
		}
	}}
}

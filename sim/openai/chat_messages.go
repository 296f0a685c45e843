package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/sim/server"
)

// chatMessage is a message of a request.
type chatMessage struct {
	Role             *string         `json:"role"`
	Content          json.RawMessage `json:"content"`
	Name             *string         `json:"name"`
	ToolCallID       *string         `json:"tool_call_id"`
	ToolCalls        []chatCall      `json:"tool_calls"`
	Refusal          *string         `json:"refusal"`
	Reasoning        *string         `json:"reasoning"`
	ReasoningContent *string         `json:"reasoning_content"`

	text string // the text of content
}

// chatCall is a call in a message. Its arguments are a text.
type chatCall struct {
	ID       *string `json:"id"`
	Type     *string `json:"type"`
	Function *struct {
		Name      *string `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

// chatPart is a part of a message's content.
type chatPart struct {
	Type     string  `json:"type"`
	Text     *string `json:"text"`
	Refusal  *string `json:"refusal"`
	Thinking *string `json:"thinking"`
	ImageURL *struct {
		URL    *string `json:"url"`
		Detail *string `json:"detail"`
	} `json:"image_url"`
	InputAudio *struct {
		Data   *string `json:"data"`
		Format *string `json:"format"`
	} `json:"input_audio"`
	File *struct {
		Data *string `json:"file_data"`
		ID   *string `json:"file_id"`
		Name *string `json:"filename"`
	} `json:"file"`
}

// readMessages checks the messages as vLLM's request model and a strict chat template do.
func readMessages(s *server.Server, all []json.RawMessage) ([]chatMessage, *server.Refusal) {
	messages := make([]chatMessage, 0, len(all))
	for i, raw := range all {
		at := "body.messages." + strconv.Itoa(i)
		var m chatMessage
		fields, r := server.DecodeObject(raw, &m)
		if r != nil {
			return nil, server.Invalid(at, strings.ReplaceAll(r.Message, "'loc': 'body", "'loc': '"+at))
		}
		if r := checkMessage(s, at, &m, fields); r != nil {
			return nil, r
		}
		messages = append(messages, m)
	}
	if s.Options.OpenAIOnly {
		return messages, checkResults(messages)
	}
	return messages, nil
}

func checkMessage(s *server.Server, at string, m *chatMessage, fields map[string]json.RawMessage) *server.Refusal {
	missing := func(name string) *server.Refusal {
		return server.Invalid(at+"."+name, server.Pydantic("missing", at+"."+name, "Field required"))
	}
	if m.Role == nil {
		return missing("role")
	}
	role := *m.Role
	known, ok := messageMembers[role]
	switch {
	case !ok, role == "developer" && s.Options.NoDeveloper:
		return server.BadRequest("", "Unexpected message role.") // by a template's raise_exception
	case s.Options.OpenAIOnly:
		if r := checkMembers(strings.TrimPrefix(at, "body.")+".", fields, known); r != nil {
			return r
		}
	}
	hasContent := len(m.Content) > 0 && string(m.Content) != "null"
	switch {
	case !hasContent && role != "assistant":
		return missing("content")
	case !hasContent && len(m.ToolCalls) == 0 && m.Refusal == nil && s.Options.OpenAIOnly:
		return missing("content")
	case role == "tool" && m.ToolCallID == nil:
		return missing("tool_call_id")
	case fields["tool_calls"] != nil && role != "assistant":
		return server.Invalid(at+".tool_calls", server.Pydantic("extra_forbidden", at+".tool_calls",
			"Extra inputs are not permitted"))
	case m.ToolCalls != nil && len(m.ToolCalls) == 0 && s.Options.OpenAIOnly:
		return server.Invalid(at+".tool_calls", server.Pydantic("too_short", at+".tool_calls", "[] is too short"))
	}
	for i := range m.ToolCalls {
		if r := checkCall(at+".tool_calls."+strconv.Itoa(i), &m.ToolCalls[i]); r != nil {
			return r
		}
	}
	if !hasContent {
		return nil
	}
	var r *server.Refusal
	m.text, r = readContent(s, at+".content", role, m.Content)
	return r
}

// checkCall checks a call of the past. vLLM gives the template its arguments as an object.
func checkCall(at string, c *chatCall) *server.Refusal {
	missing := func(name string) *server.Refusal {
		return server.Invalid(at+name, server.Pydantic("missing", at+name, "Field required"))
	}
	var object map[string]json.RawMessage
	switch {
	case c.ID == nil:
		return missing(".id")
	case c.Type == nil:
		return missing(".type")
	case *c.Type != "function":
		return server.Invalid(at+".type", server.Pydantic("literal_error", at+".type", "Input should be 'function'"))
	case c.Function == nil || c.Function.Name == nil:
		return missing(".function.name")
	case c.Function.Arguments == nil:
		return missing(".function.arguments")
	case *c.Function.Arguments != "" && json.Unmarshal([]byte(*c.Function.Arguments), &object) != nil:
		return server.BadRequest("", "Expecting value: the arguments of "+at+" are not a JSON object")
	}
	return nil
}

// readContent returns the text of a content, with a word in place of each image, sound and file.
func readContent(s *server.Server, at, role string, raw json.RawMessage) (string, *server.Refusal) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return "", server.Invalid(at, server.Pydantic("string_type", at, "Input should be a valid string"))
	}
	var texts []string
	for i, raw := range parts {
		at := at + "." + strconv.Itoa(i)
		var p chatPart
		if _, r := server.DecodeObject(raw, &p); r != nil {
			return "", server.Invalid(at, strings.ReplaceAll(r.Message, "'loc': 'body", "'loc': '"+at))
		}
		text, r := readPart(s, at, role, &p)
		if r != nil {
			return "", r
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n"), nil
}

func readPart(s *server.Server, at, role string, p *chatPart) (string, *server.Refusal) {
	missing := func(name string) (string, *server.Refusal) {
		return "", server.Invalid(at+name, server.Pydantic("missing", at+name, "Field required"))
	}
	media := slices.Contains([]string{"image_url", "input_audio", "file"}, p.Type)
	switch {
	case media && (role != "user" && s.Options.OpenAIOnly):
		return "", server.Invalid(at+".type", server.Pydantic("literal_error", at+".type", "Input should be 'text'"))
	case media && s.Options.TextOnly && p.Type == "file":
		return "", server.BadRequest("", "Unknown part type: file")
	case media && s.Options.TextOnly:
		return "", server.BadRequest("", "At most 0 "+strings.TrimPrefix(strings.TrimSuffix(p.Type, "_url"), "input_")+
			"(s) may be provided in one prompt.")
	}
	switch p.Type {
	case "text":
		if p.Text == nil {
			return missing(".text")
		}
		return *p.Text, nil
	case "refusal":
		if p.Refusal == nil {
			return missing(".refusal")
		}
		return *p.Refusal, nil
	case "image_url":
		if p.ImageURL == nil || p.ImageURL.URL == nil {
			return missing(".image_url.url")
		}
		if url := *p.ImageURL.URL; !strings.HasPrefix(url, "data:image/") && !strings.HasPrefix(url, "http") {
			return "", server.BadRequest("", "The URL must be either a HTTP, data or file URL.")
		}
		return "[image]", nil
	case "input_audio":
		if p.InputAudio == nil || p.InputAudio.Data == nil || p.InputAudio.Format == nil {
			return missing(".input_audio.data")
		}
		return "[sound]", nil
	case "file":
		if p.File == nil || p.File.Data == nil && p.File.ID == nil {
			return missing(".file.file_data")
		}
		return "[file]", nil
	}
	return "", server.BadRequest("", "Unknown part type: "+p.Type)
}

// checkResults refuses what OpenAI's API refuses: a result of no call right before it, and a call without a result.
func checkResults(messages []chatMessage) *server.Refusal {
	refuseAt := func(i int, message string) *server.Refusal {
		return server.Refuse(400, "invalid_request_error", "messages.["+strconv.Itoa(i)+"].role", message)
	}
	open := map[string]bool{}
	for i := range messages {
		m := &messages[i]
		if *m.Role == "tool" {
			if !open[*m.ToolCallID] {
				return refuseAt(i, "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "+
					"with 'tool_calls'.")
			}
			delete(open, *m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return refuseAt(i, "An assistant message with 'tool_calls' must be followed by tool messages responding to each "+
				"'tool_call_id'.")
		}
		for _, c := range m.ToolCalls {
			open[*c.ID] = true
		}
	}
	if len(open) > 0 {
		return refuseAt(len(messages), "An assistant message with 'tool_calls' must be followed by tool messages responding "+
			"to each 'tool_call_id'.")
	}
	return nil
}

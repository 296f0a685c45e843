package toolserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Result is what a tool has returned.
type Result struct {
	// Text is for the model: the texts of the contents, in lines; other contents as JSON without their data.
	Text string
	// IsError reports whether the tool says that it has failed.
	IsError bool
	// Truncated reports whether Text was longer than [Limits.Result].
	Truncated bool
	// Content is a JSON array of the contents. If they are larger than [Limits.Result], it is one text, which is Text.
	Content json.RawMessage
}

// content is one of a result's contents, of any type.
type content struct {
	Type        string   `json:"type"`
	Text        string   `json:"text,omitempty"`
	URI         string   `json:"uri,omitempty"`
	Name        string   `json:"name,omitempty"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	MIMEType    string   `json:"mimeType,omitempty"`
	Data        string   `json:"data,omitempty"`
	Blob        string   `json:"blob,omitempty"`
	Resource    *content `json:"resource,omitempty"`
	Bytes       *int     `json:"bytes,omitempty"`
}

// readResult reads a result as the server wrote it.
func readResult(answer []byte, limit int64) (*Result, error) {
	var wire struct {
		Content           json.RawMessage `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		IsError           bool            `json:"isError"`
		ResultType        string          `json:"resultType"`
	}
	unreadable := &ProtocolError{Message: "the tool's result cannot be read"}
	if json.Unmarshal(answer, &wire) != nil {
		return nil, unreadable
	}
	if wire.ResultType == "input_required" {
		return nil, &ProtocolError{Message: "the tool asks for input of a user, which cannot be given here"}
	}
	contents, more, err := elements(wire.Content, maxContents)
	if err != nil {
		return nil, unreadable
	}
	r := &Result{IsError: wire.IsError}
	var parts []string
	hasText := false
	for _, raw := range contents {
		text, isText := describe(raw)
		parts = append(parts, text)
		hasText = hasText || isText
	}
	if more {
		parts = append(parts, fmt.Sprintf("[more than %d contents; the others are left out]", maxContents))
	}
	if !hasText && len(wire.StructuredContent) > 0 && string(wire.StructuredContent) != "null" {
		var b bytes.Buffer
		if json.Compact(&b, wire.StructuredContent) == nil {
			parts = append(parts, b.String())
		}
	}
	r.Text, r.Truncated = cut(strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD"), limit)
	if r.Content = wire.Content; len(r.Content) == 0 || string(r.Content) == "null" {
		r.Content = json.RawMessage("[]")
	}
	if int64(len(r.Content)) > limit {
		r.Content, err = json.Marshal([]map[string]string{{"type": "text", "text": r.Text}})
	}
	return r, err
}

// describe returns a content as text, and whether it is one.
func describe(raw json.RawMessage) (text string, isText bool) {
	var c content
	if json.Unmarshal(raw, &c) != nil || c.Type == "" {
		return `{"type":"unknown"}`, false
	}
	if c.Type == "text" {
		return c.Text, true
	}
	if c.Type == "resource" && c.Resource != nil {
		if c.Resource.Text != "" {
			return c.Resource.Text, true
		}
		c = content{Type: c.Type, URI: c.Resource.URI, MIMEType: c.Resource.MIMEType, Data: c.Resource.Blob}
	}
	out := content{Type: c.Type, URI: c.URI, Name: c.Name, Title: c.Title, Description: c.Description,
		MIMEType: c.MIMEType}
	if c.Data != "" {
		n := len(strings.TrimRight(c.Data, "=")) * 3 / 4 // it is base64
		out.Bytes = &n
	}
	b, err := json.Marshal(out)
	if err != nil {
		return `{"type":"unknown"}`, false
	}
	return string(b), false
}

// cut cuts a text that is longer than the limit, and says so at its end.
func cut(text string, limit int64) (string, bool) {
	if int64(len(text)) <= limit {
		return text, false
	}
	note := fmt.Sprintf("\n[The result has %d bytes. The rest is left out.]", len(text))
	n := max(0, int(limit)-len(note))
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + note, true
}

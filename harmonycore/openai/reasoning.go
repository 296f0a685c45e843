package openai

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// reasoning returns the text of a member in which clients keep an assistant's reasoning: a string, or an array of
// details as some gateways write them. Any other value comes from an unknown server, and its text is empty.
func (v value) reasoning() string {
	switch v.kind {
	case rawjson.String:
		if len(v.raw) == 0 {
			return ""
		}
		return rawjson.Borrow(v.raw)
	case rawjson.Array:
		return v.reasoningDetails()
	default:
		return ""
	}
}

// reasoningDetails joins the texts, which streams cut into many details. If there are none, it joins the summaries.
// Encrypted details are ignored: only the gateway that made them can open them.
func (v value) reasoningDetails() string {
	var texts, summaries []string
	_ = v.elements("", func(_ int, _ string, v value) *Error {
		if v.kind != rawjson.Object {
			return nil
		}
		kind := ""
		var text, summary value
		_ = v.members("", func(key []byte, v value) *Error {
			switch rawjson.View(key) {
			case "type":
				if v.kind == rawjson.String {
					kind = rawjson.Unescape(v.raw)
				}
			case "text":
				text = v
			case "summary":
				summary = v
			}
			return nil
		})
		switch {
		case kind == "reasoning.text" && text.kind == rawjson.String && len(text.raw) > 0:
			texts = append(texts, rawjson.Borrow(text.raw))
		case kind == "reasoning.summary" && summary.kind == rawjson.String:
			summaries = append(summaries, rawjson.Borrow(summary.raw))
		}
		return nil
	})
	if len(texts) > 0 {
		return strings.Join(texts, "")
	}
	return strings.Join(summaries, "\n\n")
}

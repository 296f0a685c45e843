package openai

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/jsontext"
)

// reasoning is the text of one of the members that clients keep an assistant's reasoning in: a string, or an array of
// details as some gateways write them. Anything else has come from a server that we do not know, and is empty.
func (v value) reasoning() string {
	switch v.kind {
	case jsontext.String:
		if len(v.raw) == 0 {
			return ""
		}
		return jsontext.Borrow(v.raw)
	case jsontext.Array:
		return v.reasoningDetails()
	default:
		return ""
	}
}

// reasoningDetails joins the texts, which streams cut into many details, or the summaries where there is no text.
// Encrypted details are none of ours.
func (v value) reasoningDetails() string {
	var texts, summaries []string
	_ = v.elements("", func(_ int, _ string, v value) *Error {
		if v.kind != jsontext.Object {
			return nil
		}
		kind := ""
		var text, summary value
		_ = v.members("", func(key []byte, v value) *Error {
			switch string(key) {
			case "type":
				if v.kind == jsontext.String {
					kind = jsontext.Unescape(v.raw)
				}
			case "text":
				text = v
			case "summary":
				summary = v
			}
			return nil
		})
		switch {
		case kind == "reasoning.text" && text.kind == jsontext.String && len(text.raw) > 0:
			texts = append(texts, jsontext.Borrow(text.raw))
		case kind == "reasoning.summary" && summary.kind == jsontext.String:
			summaries = append(summaries, jsontext.Borrow(summary.raw))
		}
		return nil
	})
	if len(texts) > 0 {
		return strings.Join(texts, "")
	}
	return strings.Join(summaries, "\n\n")
}

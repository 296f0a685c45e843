package harmony

import (
	"strings"
)

// strictHeader is a header as the reference reads it. In the reference's non-strict mode, unassigned holds the parts
// that no rule took.
type strictHeader struct {
	role                                      Role
	name, recipient, channel, typ, unassigned Optional
}

// readHeader reads a header's text by the rules 1 to 6 of docs/harmony-format.md#headers. pending is the role given in
// advance. With salvage set (the non-strict recovery) it skips rule 5, and all parts after the role are unassigned.
func readHeader(text string, pending Role, salvage bool) (strictHeader, ParseErrorKind, string) {
	h := strictHeader{role: pending}
	text, h.channel = cutChannel(text)
	if h.channel.Set && h.channel.Value == "" {
		return h, EmptyChannelName, "channel marker present but no channel value found in header"
	}
	text = strings.TrimFunc(text, isSpace)
	text = strings.TrimFunc(strings.ReplaceAll(text, constrainSpelling, " "+constrainSpelling), isSpace)
	parts := appendWords(nil, text)
	if pending == 0 {
		if len(parts) == 0 {
			return h, NoRole, "message header did not contain a role"
		}
		first := parts[0]
		h.role = RoleOf(first)
		if h.role == 0 {
			if len(parts) == 1 && !strings.HasPrefix(first, recipientMark) {
				return h, BadRole, "Unknown role: " + first
			}
			h.role = Tool
			parts = parts[1:]
		}
		if h.role == Tool {
			h.name = Some(first)
		}
	}
	if len(parts) > 0 && parts[0] == h.role.String() {
		parts = parts[1:]
	}
	if salvage {
		h.unassigned = Some(strings.Join(parts, " "))
		return h, 0, ""
	}
	if n := len(parts); n > 0 {
		last := parts[n-1]
		parts = parts[:n-1]
		recipient, marked := strings.CutPrefix(last, recipientMark)
		switch {
		case marked || n == 1:
			h.recipient = Some(recipient)
		default:
			h.typ = Some(last)
			h.recipient = Some(strings.TrimPrefix(parts[n-2], recipientMark))
			parts = parts[:n-2]
		}
	}
	if len(parts) > 0 {
		left := strings.Join(parts, " ")
		return h, Leftover, "unexpected tokens remaining in message header: Some(" + string(appendRustDebug(nil, left)) + ")"
	}
	return h, 0, ""
}

// cutChannel takes the first channel marker and its value out of a header, and joins the text before and after them.
func cutChannel(text string) (string, Optional) {
	before, after, found := strings.Cut(text, channelSpelling)
	if !found {
		return text, Optional{}
	}
	value, rest := cutChannelName(after)
	return before + rest, Some(value)
}

// cutChannelName splits the text after a channel marker into the channel's name and the rest.
func cutChannelName(s string) (name, rest string) {
	at := strings.IndexFunc(s, func(r rune) bool { return r == '<' || isSpace(r) })
	if at < 0 {
		return s, ""
	}
	return s[:at], s[at:]
}

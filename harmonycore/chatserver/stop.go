package chatserver

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// The bounds of the stop sequences whose text the gateway looks for in an answer that passes.
const (
	maxStops      = 64
	maxStopsBytes = 4 << 10
)

// StopsOf returns the stop sequences of a request before which its answer's text ends. There are none if the client
// wants to see them, if the server ignores them for a while, and if there are too many of them.
func StopsOf(request []byte) []string {
	var stops []string
	members := rawjson.Members(request)
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "stop":
			stops = stopsIn(&members)
		case "include_stop_str_in_output", "no_stop_trim": // vLLM, SGLang
			if string(members.Value) == "true" {
				return nil
			}
		case "min_tokens":
			if members.Kind == rawjson.Number && string(members.Value) != "0" {
				return nil
			}
		}
	}
	return stops
}

// stopsIn reads one stop sequence, or a list of them.
func stopsIn(m *rawjson.Items) []string {
	if m.Kind == rawjson.String && len(m.Value) <= maxStopsBytes {
		return appendStop(nil, m.Value)
	}
	if m.Kind != rawjson.Array {
		return nil
	}
	var stops []string
	size := 0
	list := rawjson.Elements(m.Value)
	for list.Next() {
		size += len(list.Value)
		if list.Kind != rawjson.String || size > maxStopsBytes || len(stops) == maxStops {
			return nil
		}
		stops = appendStop(stops, list.Value)
	}
	return stops
}

// appendStop appends a copy of a sequence, because the request's memory is used again.
func appendStop(stops []string, raw []byte) []string {
	if len(raw) == 0 {
		return stops
	}
	return append(stops, string(rawjson.AppendUnescaped(nil, raw)))
}

// ChoiceEnd is what an event, or a whole answer, says about the text and the end of a choice.
type ChoiceEnd struct {
	// From and To are where the text lies in the object, as it is spelled and without quotes. Both are 0 if there is none.
	From, To int
	// Stop is the stop sequence that the server names as the end of the choice. It is empty if it names none.
	Stop string
}

// Text returns the choice's text, which lies in object.
func (c ChoiceEnd) Text(object []byte) []byte {
	return rawjson.AppendUnescaped(nil, object[c.From:c.To])
}

// FindChoice looks for the choice with an index in the first JSON object of text. ok reports whether it is there.
func FindChoice(text []byte, index int) (c ChoiceEnd, ok bool) {
	begin := bytes.IndexByte(text, '{')
	if begin < 0 {
		return c, false
	}
	object := text[begin:]
	members := rawjson.Members(object)
	for members.Next() {
		if rawjson.View(members.Key) != "choices" || members.Kind != rawjson.Array {
			continue
		}
		choices := rawjson.Elements(members.Value)
		for n := 0; choices.Next(); n++ {
			c, own := readChoiceEnd(choices.Value, n)
			if own != index {
				continue
			}
			if c.To > 0 {
				at := begin + members.End - len(members.Value) + choices.End - len(choices.Value)
				c.From, c.To = c.From+at, c.To+at
			}
			return c, true
		}
	}
	return c, false
}

// readChoiceEnd reads the choice in this place of the list, and returns its index.
func readChoiceEnd(choice []byte, place int) (c ChoiceEnd, index int) {
	index = place
	stopped := false
	var stop []byte
	members := rawjson.Members(choice)
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "index":
			index = smallNumber(members.Value)
		case "finish_reason":
			stopped = string(members.Value) == "stop"
		case "stop_reason", "matched_stop": // vLLM, SGLang: also the id of a token
			if members.Kind == rawjson.String {
				stop = members.Value
			}
		case "delta", "message":
			if from, to := contentIn(members.Value); to > 0 {
				at := members.End - len(members.Value)
				c.From, c.To = at+from, at+to
			}
		}
	}
	if stopped {
		c.Stop = string(rawjson.AppendUnescaped(nil, stop))
	}
	return c, index
}

// contentIn returns where the text of a message lies in it.
func contentIn(message []byte) (from, to int) {
	members := rawjson.Members(message)
	for members.Next() {
		if rawjson.View(members.Key) == "content" && members.Kind == rawjson.String {
			return members.End - 1 - len(members.Value), members.End - 1
		}
	}
	return 0, 0
}

// smallNumber reads a number of at most three digits. Anything else is -1.
func smallNumber(digits []byte) int {
	if len(digits) == 0 || len(digits) > 3 {
		return -1
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// PrefixEnd returns where the first bytes of a text end in raw, which spells the text as the inside of a JSON string. It
// returns -1 if the text has fewer, or if that is within a character.
func PrefixEnd(raw []byte, bytes int) int {
	var decoded [8]byte
	at := 0
	for at < len(raw) && bytes > 0 {
		size := 1
		if raw[at] == '\\' {
			size = escapeSize(raw[at:])
			bytes -= len(rawjson.AppendUnescaped(decoded[:0], raw[at:at+size]))
		} else {
			bytes--
		}
		at += size
	}
	if bytes != 0 {
		return -1
	}
	return at
}

// escapeSize returns the size of the escape at the beginning of raw: two of them for a character beyond U+FFFF.
func escapeSize(raw []byte) int {
	const unit = len(`\u0000`)
	switch {
	case len(raw) < 2 || raw[1] != 'u':
		return min(2, len(raw))
	case len(raw) >= 2*unit && raw[unit] == '\\' && raw[unit+1] == 'u' &&
		len(rawjson.AppendUnescaped(nil, raw[:2*unit])) == 4:
		return 2 * unit
	}
	return min(unit, len(raw))
}

package openai

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// The limits of stop: OpenAI's maximum number of sequences, and our maximum length of one, in bytes.
const (
	maxStops      = 4
	maxStopLength = 1024
)

// readStop reads one stop sequence, or several.
func (v value) readStop(param string, dst *[]string) *Error {
	*dst = nil
	switch v.kind {
	case rawjson.String:
		return v.stopSequence(param, dst)
	case rawjson.Array:
		n := 0
		if err := v.elements(param, func(int, string, value) *Error { n++; return nil }); err != nil {
			return err
		}
		if n > maxStops {
			return Invalid(param, "Invalid '"+param+"': array too long. Expected at most "+strconv.Itoa(maxStops)+
				" strings, but got "+strconv.Itoa(n)+" instead.")
		}
		return v.elements(param, func(_ int, at string, v value) *Error {
			if v.kind != rawjson.String {
				return wrongType(at, "a string", v)
			}
			return v.stopSequence(at, dst)
		})
	default:
		if !v.given() {
			return nil
		}
		return wrongType(param, "one of a string or an array of strings", v)
	}
}

func (v value) stopSequence(param string, dst *[]string) *Error {
	if len(v.raw) > maxStopLength*maxEscape {
		return tooLong(param, maxStopLength)
	}
	text := rawjson.Unescape(v.raw)
	switch {
	case text == "":
		return Invalid(param, "Invalid '"+param+"': empty string. Expected a string of 1 to "+strconv.Itoa(maxStopLength)+
			" bytes.")
	case len(text) > maxStopLength:
		return tooLong(param, maxStopLength)
	}
	*dst = append(*dst, text)
	return nil
}

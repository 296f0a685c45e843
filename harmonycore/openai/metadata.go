package openai

import (
	"strconv"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// The limits of OpenAI's API for metadata: the number of pairs, and the characters of a key and of a value.
const (
	maxMetadataPairs = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
)

func (v value) checkMetadata(param string) *Error {
	if !v.given() {
		return nil
	}
	pairs := 0
	return v.members(param, func(key []byte, v value) *Error {
		at := join(param, clip(string(key)))
		if pairs++; pairs > maxMetadataPairs {
			return Invalid(param, "Invalid '"+param+"': too many properties. Expected at most "+strconv.Itoa(maxMetadataPairs)+
				".")
		}
		if utf8.RuneCount(key) > maxMetadataKey {
			return Invalid(at, "Invalid key in '"+param+"': longer than "+strconv.Itoa(maxMetadataKey)+" characters.")
		}
		if v.kind != rawjson.String {
			return wrongType(at, "a string", v)
		}
		// An escape is never shorter than the character it stands for. A raw text within the limit needs no unescaping.
		if len(v.raw) > maxMetadataValue && utf8.RuneCountInString(rawjson.Unescape(v.raw)) > maxMetadataValue {
			return Invalid(at, "Invalid '"+at+"': longer than "+strconv.Itoa(maxMetadataValue)+" characters.")
		}
		return nil
	})
}

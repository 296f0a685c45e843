package items

import (
	"bytes"
	"encoding/json"
)

// JSON returns the JSON of a value that always has one.
func JSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("responses: " + err.Error())
	}
	return b
}

// OrNull returns a member, or null for one that is not there.
func OrNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// IsNull reports whether a member is null.
func IsNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// Given reports whether a member is there, and is not null.
func Given(raw json.RawMessage) bool { return raw != nil && !IsNull(raw) }

// Missing reports whether a member is not there, or null.
func Missing(fields map[string]json.RawMessage, name string) bool {
	return !Given(fields[name])
}

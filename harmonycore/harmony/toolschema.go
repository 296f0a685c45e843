package harmony

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// Schema is the JSON schema of a function's arguments. The renderer prints it as a TypeScript type, with the members in
// their order and the numbers as they were spelled. A Schema does not change after [ParseSchema] has returned it.
type Schema struct{ value rawjson.Value }

// ParseSchema reads a JSON schema. It accepts any JSON value nested at most 128 levels deep. The [Renderer] refuses
// what the model cannot be shown. The [Schema] keeps no reference to data. The error is an [*InputError].
func ParseSchema(data []byte) (*Schema, error) {
	value, err := rawjson.Parse(data, rawjson.MaxDepth)
	if err != nil {
		return nil, &InputError{Message: err.Error()}
	}
	return &Schema{value: *value}, nil
}

// AppendJSON appends the schema as JSON without white space.
func (s *Schema) AppendJSON(dst []byte) []byte { return rawjson.AppendValue(dst, &s.value) }

package backend

import (
	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Rename returns a client's request body with model as its "model", the name by which the server knows the model. The
// body must be validated JSON: an object with exactly one member "model".
func Rename(body []byte, model string) []byte {
	renamed, err := jsonparser.Set(body, rawjson.AppendString(nil, model), "model")
	if err != nil {
		return body
	}
	return renamed
}

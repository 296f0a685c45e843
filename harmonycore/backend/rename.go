package backend

import (
	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Rename is a client's own request to a server under the server's name for the model. The body is a validated object
// with one member "model".
func Rename(body []byte, model string) []byte {
	renamed, err := jsonparser.Set(body, rawjson.AppendString(nil, model), "model")
	if err != nil {
		return body
	}
	return renamed
}

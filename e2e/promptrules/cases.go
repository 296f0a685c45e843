package promptrules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"
)

// The APIs, by the folders of the cases.
const (
	chat      = "chat"
	responses = "responses"
)

// A testCase is a conversation in the form of an API.
type testCase struct {
	api, name string
	// body is the request, with the model.
	body []byte
}

// readCases reads a file of cases.
func readCases(file []byte) ([]testCase, error) {
	var out []testCase
	for _, f := range txtar.Parse(file).Files {
		api, name, ok := strings.Cut(f.Name, "/")
		body, found := bytes.CutPrefix(bytes.TrimSpace(f.Data), []byte("{"))
		c := testCase{api: api, name: name, body: append(fmt.Appendf(nil, `{"model":%q,`, model), body...)}
		if !ok || !found || api != chat && api != responses || !json.Valid(c.body) {
			return nil, fmt.Errorf("case %s is not API/NAME with a JSON object", f.Name)
		}
		out = append(out, c)
	}
	return out, nil
}

package anthropic

import (
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// ListedModel is a model in the answers of GET /v1/models.
type ListedModel struct {
	Name string
	// ContextLength is in tokens. 0 is not written.
	ContextLength int
}

// released is when all models were made: the day on which gpt-oss was released.
const released = "2025-08-05T00:00:00Z"

// AppendJSON appends the model object.
func (m ListedModel) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":"model","id":`...)
	dst = rawjson.AppendString(dst, m.Name)
	dst = append(dst, `,"display_name":`...)
	dst = rawjson.AppendString(dst, m.Name)
	dst = append(dst, `,"created_at":"`+released+`","lifecycle":"active"`...)
	if m.ContextLength > 0 {
		dst = append(dst, `,"max_input_tokens":`...)
		dst = rawjson.AppendInt(dst, int64(m.ContextLength))
	}
	return append(dst, '}')
}

// AppendModels appends the list of models, which is always whole.
func AppendModels(dst []byte, models []ListedModel) []byte {
	dst = append(dst, `{"data":[`...)
	for i := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = models[i].AppendJSON(dst)
	}
	dst = append(dst, `],"has_more":false,"first_id":`...)
	if len(models) == 0 {
		return append(dst, `null,"last_id":null}`...)
	}
	dst = rawjson.AppendString(dst, models[0].Name)
	dst = append(dst, `,"last_id":`...)
	return append(rawjson.AppendString(dst, models[len(models)-1].Name), '}')
}

// AppendInputTokens appends the answer to a request for the number of its tokens.
func AppendInputTokens(dst []byte, n int) []byte {
	return append(rawjson.AppendInt(append(dst, `{"input_tokens":`...), int64(n)), '}')
}

// maxOthers is how many models of another server's list are read.
const maxOthers = 10_000

// AppendOthers appends the models of another server's list, in OpenAI's form or in Anthropic's. Parts of the list that
// cannot be read are left out, and so are names of which own reports that they are ours.
func AppendOthers(models []ListedModel, list []byte, own func(name string) bool) []ListedModel {
	if rawjson.Validate(list, rawjson.MaxDepth) != nil {
		return models
	}
	data, kind := rawjson.Find(list, "data")
	if kind != rawjson.Array {
		return models
	}
	items := rawjson.Elements(data)
	for n := 0; n < maxOthers && items.Next(); n++ {
		id, kind := rawjson.Find(items.Value, "id")
		if items.Kind != rawjson.Object || kind != rawjson.String {
			continue
		}
		if name := rawjson.Unescape(id); !own(name) {
			models = append(models, ListedModel{Name: name})
		}
	}
	return models
}

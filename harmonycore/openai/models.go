package openai

import (
	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// ListedModel is a model in the answer of GET /v1/models.
type ListedModel struct {
	Name string
	// ContextLength is in tokens. It is written as max_model_len, as vLLM does.
	ContextLength int
}

// released is the "created" of all models: the day on which gpt-oss was released, 2025-08-05, in Unix seconds.
const released = 1754352000

// AppendJSON appends the model object.
func (m ListedModel) AppendJSON(dst []byte) []byte {
	dst = appendMember(dst, `{"id":`, m.Name)
	dst = append(dst, `,"object":"model","created":`...)
	dst = rawjson.AppendInt(dst, released)
	dst = append(dst, `,"owned_by":"harmony-edge","max_model_len":`...)
	return append(rawjson.AppendInt(dst, int64(m.ContextLength)), '}')
}

// AppendModels appends the list of models: ours, then the models of another server's list. others is the body of that
// list, or empty. Parts of it that cannot be read are left out, and so are names of which own reports that they are
// ours.
func AppendModels(dst []byte, models []ListedModel, others []byte, own func(name string) bool) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for i := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = models[i].AppendJSON(dst)
	}
	if rawjson.Validate(others, rawjson.MaxDepth) == nil {
		first := len(models) == 0
		_, _ = jsonparser.ArrayEach(others, func(item []byte, kind jsonparser.ValueType, _ int, err error) {
			if err != nil || kind != jsonparser.Object {
				return
			}
			// Not GetString, for which the filter would contain the package fmt.
			id, kind, _, err := jsonparser.Get(item, "id")
			if err == nil && kind == jsonparser.String && own(rawjson.Unescape(id)) {
				return
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(dst, item...)
		}, "data")
	}
	return append(dst, "]}"...)
}

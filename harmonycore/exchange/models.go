package exchange

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// othersLimit is the longest list of another server that is read, in bytes.
const othersLimit = 4 << 20

// beginModels starts the exchange of a question for models, or returns nil for one about a model of another server.
func (g *Gateway) beginModels(path string) *Exchange {
	if path == contract.ModelsPath {
		return &Exchange{gateway: g, path: contract.ModelsPath, kind: modelList, state: reading}
	}
	escaped, ok := strings.CutPrefix(path, contract.ModelsPath+"/")
	if !ok || escaped == "" {
		return nil
	}
	name := unescaped(escaped)
	if g.model(name) == nil && g.options.Passthrough {
		return nil
	}
	return &Exchange{gateway: g, path: name, kind: oneModel, state: reading}
}

// unescaped is a copy of a path with its %XX spelled out; clients escape the slash in a model's name. net/url would do the
// same, with reflection, which is left out of the filter.
func unescaped(path string) string {
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			if c, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(c))
				i += 2
				continue
			}
		}
		out = append(out, path[i])
	}
	return string(out)
}

// models answers a question for models. The list of a server for all other models is waited for, and ours put in front.
func (e *Exchange) models() RequestAction {
	if e.kind == oneModel {
		model := e.gateway.model(e.path)
		if model == nil {
			return e.refuse(errModelNotFound(e.path))
		}
		return e.tell(listed(model).AppendJSON(nil))
	}
	if e.gateway.leavesOthers() {
		e.state = awaiting
		return RequestAction{Forward: &Forward{Readable: true}}
	}
	return e.tell(e.modelList())
}

func listed(m *Model) openai.ListedModel {
	return openai.ListedModel{Name: m.Name, ContextLength: m.ContextLength}
}

// modelList is the answer to a question for all models, with what was collected of another server's.
func (e *Exchange) modelList() []byte {
	models := e.gateway.options.Models
	ours := make([]openai.ListedModel, 0, len(models))
	for i := range models {
		ours = append(ours, listed(&models[i]))
	}
	return openai.AppendModels(nil, ours, e.collected)
}

// tell answers the request from here.
func (e *Exchange) tell(body []byte) RequestAction {
	e.state = alone
	return RequestAction{Reply: &Reply{Status: 200, Body: body}}
}

// othersHead takes the headers of another server's list of models. A list that cannot be had is an empty one: what is not
// served by it now is not there, and ours are.
func (e *Exchange) othersHead(h ResponseHead) ResponseAction {
	if h.Local || h.Status != 200 || h.End || !isJSON(h.ContentType) {
		return e.replyModels()
	}
	e.state = merging
	return ResponseAction{Hold: true}
}

// replyModels answers with the list in place of the other server's response.
func (e *Exchange) replyModels() ResponseAction {
	return e.reply(&Reply{Status: 200, Body: e.modelList()})
}

// others takes a piece of another server's list of models.
func (e *Exchange) others(chunk []byte, end bool) ResponseAction {
	if len(e.collected)+len(chunk) > othersLimit {
		e.collected = nil
		return e.replyModels()
	}
	e.collected = append(e.collected, chunk...)
	if !end {
		return ResponseAction{Hold: true}
	}
	e.state = over
	return ResponseAction{Head: &Head{Status: 200, ContentType: contentTypeJSON}, Body: e.modelList()}
}

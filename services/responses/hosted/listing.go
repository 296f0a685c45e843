package hosted

import (
	"encoding/json"

	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// Listed returns the tools of the newest list of a label in a conversation. The lists are parts
// of it, the newest first.
func Listed(label string, lists ...[]store.Item) ([]toolserver.Tool, bool) {
	for _, list := range lists {
		for i := len(list) - 1; i >= 0; i-- {
			var item struct {
				Label string       `json:"server_label"`
				Tools []listedTool `json:"tools"`
			}
			if list[i].Type != items.TypeListTools || json.Unmarshal(list[i].Body, &item) != nil || item.Label != label {
				continue
			}
			tools := make([]toolserver.Tool, len(item.Tools))
			for j, l := range item.Tools {
				tools[j] = toolserver.Tool{Name: l.Name, InputSchema: l.Schema,
					ReadOnly: l.Annotations != nil && l.Annotations.ReadOnly}
				if l.Description != nil {
					tools[j].Description = *l.Description
				}
			}
			return tools, true
		}
	}
	return nil, false
}

// listedTool is a tool of an item with a list.
type listedTool struct {
	Name        string             `json:"name"`
	Description *string            `json:"description"`
	Schema      json.RawMessage    `json:"input_schema"`
	Annotations *listedAnnotations `json:"annotations"`
}

type listedAnnotations struct {
	ReadOnly bool `json:"read_only"`
}

// ListItem returns the item that shows the client the tools.
func (m *Server) ListItem() json.RawMessage {
	tools := []listedTool{}
	for i := range m.Tools {
		tool := &m.Tools[i]
		schema := tool.InputSchema
		if len(schema) == 0 {
			schema = json.RawMessage("{}")
		}
		tools = append(tools, listedTool{Name: tool.Name, Description: &tool.Description, Schema: schema,
			Annotations: &listedAnnotations{tool.ReadOnly}})
	}
	return items.JSON(struct {
		ID    string       `json:"id"`
		Type  string       `json:"type"`
		Label string       `json:"server_label"`
		Tools []listedTool `json:"tools"`
	}{items.NewID(items.Prefixes[items.TypeListTools]), items.TypeListTools, m.Label, tools})
}

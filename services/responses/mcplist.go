package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// list asks the servers for their tools, as far as the conversation does not have them already.
func (t *turn) list(ctx context.Context) *openai.Error {
	if t.hosted == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.settings.Tools.Time) // a request can name many servers
	defer cancel()
	count, size := 0, 0
	for _, m := range t.hosted.servers {
		if m.tools != nil {
			continue
		}
		tools, known := t.listed(m.label)
		if !known {
			var failure *openai.Error
			if tools, failure = t.listFrom(ctx, m); failure != nil {
				return failure
			}
		}
		before := size
		for i := range tools {
			size += len(tools[i].Name) + len(tools[i].Description) + len(tools[i].InputSchema)
		}
		if count += len(tools); count > maxTools || size > openai.MaxTools {
			return refusal.Bad(contract.CodeInvalidValue, m.at,
				fmt.Sprintf("Invalid '%s': with the tools of %s the request has "+
					"more than %d tools, or more than %d bytes of them.", m.at, refusal.Quote(m.label), maxTools,
					openai.MaxTools))
		}
		if t.share.Take(int64(size-before)) != nil {
			return refusal.Overloaded("no memory for the tools of the request now")
		}
		m.offer(t.service.log, tools)
		if !known {
			m.item = m.listItem()
		}
	}
	_, failure := t.hosted.forGateway(0, false)
	return failure
}

// maxTools is how many tools the servers of a request may have together. Each is checked by itself.
const maxTools = 2048

// listFrom asks a server for its tools. As with OpenAI's API, a server that cannot be asked is a 424.
func (t *turn) listFrom(ctx context.Context, m *mcpTools) ([]toolserver.Tool, *openai.Error) {
	s := t.service
	ctx, span := t.listSpan(ctx, m)
	tools, err := s.toolServers.Tools(ctx, m.to, t.tenant())
	endTool(span, s.metrics.listedTools(m.metricLabel(), err))
	if err == nil {
		return tools, nil
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		s.log.Warn("the tools of an MCP server cannot be listed", "response", t.id, "server", m.metricLabel(), "error", err)
	}
	var wrong *toolserver.ServerError
	if errors.As(err, &wrong) {
		return nil, refusal.Bad(contract.CodeInvalidValue, m.at, "Invalid '"+m.at+"': "+err.Error()+".")
	}
	code := "server_error"
	var answered *toolserver.HTTPError
	if errors.As(err, &answered) {
		code = "http_error"
	}
	return nil, &openai.Error{Status: http.StatusFailedDependency, Type: "external_connector_error", Code: code,
		Param: "tools", Message: "Error retrieving tool list from MCP server: " + refusal.Quote(m.label) + ". " + err.Error()}
}

// listed returns the tools of the newest list of a label in the conversation.
func (t *turn) listed(label string) ([]toolserver.Tool, bool) {
	for _, list := range [][]store.Item{t.input, t.past} {
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

// listItem returns the item that shows the client the tools.
func (m *mcpTools) listItem() json.RawMessage {
	tools := []listedTool{}
	for i := range m.tools {
		tool := &m.tools[i]
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
	}{items.NewID(items.Prefixes[items.TypeListTools]), items.TypeListTools, m.label, tools})
}

// tenant returns what keeps the sessions of tenants apart. Where there is one, it may have all of them.
func (t *turn) tenant() string {
	if !t.settings.apart() {
		return ""
	}
	return fmt.Sprintf("%x", t.owner[:])
}

package turn

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// list asks the servers for their tools, unless the conversation has them already.
func (t *Turn) list(ctx context.Context) *openai.Error {
	if t.hosted == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.settings.Tools.Time) // a request can name many servers
	defer cancel()
	count, size := 0, 0
	for _, m := range t.hosted.Servers {
		if m.Tools != nil {
			continue
		}
		tools, known := hosted.Listed(m.Label, t.input, t.past)
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
			return refusal.Bad(contract.CodeInvalidValue, m.At,
				fmt.Sprintf("Invalid '%s': with the tools of %s the request has "+
					"more than %d tools, or more than %d bytes of them.", m.At, refusal.Quote(m.Label), maxTools,
					openai.MaxTools))
		}
		if t.share.Take(int64(size-before)) != nil {
			return refusal.Overloaded("no memory for the tools of the request now")
		}
		m.Offer(t.env.Log, tools)
		if !known {
			m.Item = m.ListItem()
		}
	}
	if failure := t.gather(); failure != nil {
		return failure
	}
	_, failure := t.hosted.ForGateway(0, false)
	return failure
}

// maxTools is how many tools the servers of a request may have together. Each is checked by itself.
const maxTools = 2048

// listFrom asks a server for its tools. As with OpenAI's API, a server that cannot be asked is a 424.
func (t *Turn) listFrom(ctx context.Context, m *hosted.Server) ([]toolserver.Tool, *openai.Error) {
	s := t.env
	ctx, span := t.listSpan(ctx, m)
	tools, err := s.Tools.Tools(ctx, m.To, t.tenant())
	outcome := outcomeCompleted
	if err != nil {
		outcome = outcomeFailed
	}
	s.Metrics.ListedTools(m.MetricLabel(), outcome)
	endTool(span, outcome)
	if err == nil {
		return tools, nil
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		s.Log.Warn("the tools of an MCP server cannot be listed", "response", t.ID, "server", m.MetricLabel(), "error", err)
	}
	var wrong *toolserver.ServerError
	if errors.As(err, &wrong) {
		return nil, refusal.Bad(contract.CodeInvalidValue, m.At, "Invalid '"+m.At+"': "+err.Error()+".")
	}
	code := "server_error"
	var answered *toolserver.HTTPError
	if errors.As(err, &answered) {
		code = "http_error"
	}
	return nil, &openai.Error{Status: http.StatusFailedDependency, Type: "external_connector_error", Code: code,
		Param: "tools", Message: "Error retrieving tool list from MCP server: " + refusal.Quote(m.Label) + ". " + err.Error()}
}

// tenant returns what keeps the sessions of tenants apart. Where there is one, it may have all of them.
func (t *Turn) tenant() string {
	if !t.settings.Apart() {
		return ""
	}
	return fmt.Sprintf("%x", t.owner[:])
}

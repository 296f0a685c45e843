package responses

import (
	"encoding/json"

	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

func (c *toolCall) itemType() string {
	if c.namespace == "" {
		return items.TypeMCPCall
	}
	return items.BuiltinItem(c.namespace)
}

// item returns the item of a call. It has a result unless it is in progress.
func (t *turn) item(c *toolCall, status string) json.RawMessage {
	item := map[string]any{"id": c.id, "type": c.itemType(), "status": status}
	begins := status == store.InProgress
	switch c.itemType() {
	case items.TypeSearchCall:
		item["action"] = t.browserAction(c, !begins)
	case items.TypeCodeCall:
		item["code"], item["outputs"], item["container_id"] = c.written, nil, "auto"
		if begins {
			item["code"] = ""
		} else if !c.result.cut {
			item["outputs"] = []any{map[string]string{"type": "logs", "logs": c.result.text}}
		}
	default:
		label := c.namespace
		if c.server != nil {
			label = c.server.label
		}
		item["server_label"], item["name"], item["arguments"] = label, c.name, c.written
		item["output"], item["error"], item["approval_request_id"] = nil, nil, nil
		if c.approved != "" {
			item["approval_request_id"] = c.approved
		}
		if begins {
			item["arguments"] = ""
		} else if c.result.failure != nil {
			item["error"] = c.result.failure
		} else if !c.result.cut {
			item["output"] = c.result.text
		}
	}
	if c.namespace != "" && !begins {
		item[items.HiddenItems] = []any{c.plain, map[string]any{"type": c.plain["type"].(string) + "_output",
			"call_id": c.plain["call_id"], "output": c.result.text}}
		item[items.HiddenClient] = t.browserClient()
	}
	return items.JSON(item)
}

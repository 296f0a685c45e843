package turn

import (
	"encoding/json"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// item returns the item of a call. It has a result unless it is in progress.
func (t *Turn) item(c *hosted.Call, status string) json.RawMessage {
	item := map[string]any{"id": c.ID, "type": c.ItemType(), "status": status}
	begins := status == store.InProgress
	switch c.ItemType() {
	case items.TypeSearchCall:
		item["action"] = t.browser().action(c, !begins)
	case items.TypeCodeCall:
		item["code"], item["outputs"], item["container_id"] = c.Written, nil, "auto"
		if begins {
			item["code"] = ""
		} else if !c.Result.Cut {
			item["outputs"] = []any{map[string]string{"type": "logs", "logs": c.Result.Text}}
		}
	case items.TypeToolSearch:
		item["execution"], item["call_id"], item["arguments"] = "server", nil, json.RawMessage("{}")
		if !begins {
			item["arguments"] = json.RawMessage(openai.SearchArguments(nil, []byte(c.Written)))
		}
	default:
		label := c.Namespace
		if c.Server != nil {
			label = c.Server.Label
		}
		item["server_label"], item["name"], item["arguments"] = label, c.Name, c.Written
		item["output"], item["error"], item["approval_request_id"] = nil, nil, nil
		if c.Approved != "" {
			item["approval_request_id"] = c.Approved
		}
		if begins {
			item["arguments"] = ""
		} else if c.Result.Failure != nil {
			item["error"] = c.Result.Failure
		} else if !c.Result.Cut {
			item["output"] = c.Result.Text
		}
	}
	if c.Namespace != "" && begins && t.unveiled {
		item[items.HiddenItems] = []any{c.Plain}
	}
	if c.Namespace != "" && !begins {
		item[items.HiddenItems] = []any{c.Plain, map[string]any{"type": c.Plain["type"].(string) + "_output",
			"call_id": c.Plain["call_id"], "output": c.Result.Text}}
		item[items.HiddenClient] = t.browser().chain
	}
	if !begins && c.Shown != "" {
		item[items.MemberSampled] = c.Shown
	}
	if !begins && c.Sampled != "" {
		item[items.HiddenSampled] = c.Sampled
	}
	return items.JSON(item)
}

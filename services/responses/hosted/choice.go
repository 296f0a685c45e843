package hosted

import (
	"encoding/json"
	"fmt"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
)

// toolChoice is a request's tool choice. The gateway knows functions only, so what names a server stands for its
// tools.
type toolChoice struct {
	// Raw is the choice as the client gets it back, or nil if the request has none.
	Raw json.RawMessage
	// forced reports whether the first answer must be a call. The later ones need not be, or the loop would not end.
	forced bool
	// only are the tools that may be called, or nil for any.
	only []chosenTool
}

// chosenTool is what a choice names: one of the client's tools, or all tools of a server.
type chosenTool struct {
	at  string
	raw json.RawMessage
	// label and name are a server's, and its tool's or empty for all.
	label, name string
	builtin     string
}

// readChoice reads the tool choice of a request with tools that the service runs.
func (h *Tools) readChoice(fields map[string]json.RawMessage) *openai.Error {
	raw := fields["tool_choice"]
	if !items.Given(raw) {
		return nil
	}
	c := &h.Choice
	c.Raw = raw
	word := ""
	if json.Unmarshal(raw, &word) == nil {
		c.forced = word == "required"
		return nil
	}
	var object struct {
		Type, Mode string
		Tools      []json.RawMessage
	}
	if json.Unmarshal(raw, &object) != nil {
		return nil // the gateway reports what is wrong
	}
	list, at := []json.RawMessage{raw}, "tool_choice"
	if object.Type == "allowed_tools" {
		c.forced, list = object.Mode == "required", object.Tools
	} else {
		c.forced = true
	}
	c.only = []chosenTool{}
	for i, raw := range list {
		if object.Type == "allowed_tools" {
			at = fmt.Sprintf("tool_choice.tools[%d]", i)
		}
		chosen, failure := h.readChosen(at, raw)
		if failure != nil {
			return failure
		}
		c.only = append(c.only, chosen)
	}
	h.showChosen()
	return nil
}

// showChosen leaves the model the tools of servers that the choice names. To the gateway, tools of different servers
// can have one name.
func (h *Tools) showChosen() {
	for _, m := range h.Servers {
		m.chosen = map[string]bool{}
	}
	for i := range h.Choice.only {
		if m := h.Server(h.Choice.only[i].label); m != nil {
			m.chosen[h.Choice.only[i].name] = true
		}
	}
}

func (h *Tools) readChosen(at string, raw json.RawMessage) (chosenTool, *openai.Error) {
	var f members
	if json.Unmarshal(raw, &f) != nil {
		return chosenTool{at: at, raw: raw}, nil
	}
	c := chosenTool{at: at, raw: raw, label: f.Label, name: f.Name}
	if f.Type == "mcp" {
		if f.Authorization != "" || f.Headers != nil { // a choice is repeated and stored
			return c, refusal.Bad(contract.CodeUnsupportedParameter, at,
				"Unsupported parameter: 'authorization' and 'headers' are "+
					"for 'tools', and not for '"+at+"'.")
		}
		for namespace, to := range h.Builtins {
			if to.Label == f.Label && h.Server(f.Label) == nil {
				return chosenTool{at: at, raw: raw, builtin: namespace}, nil
			}
		}
		if h.Server(f.Label) == nil {
			return c, refusal.Bad(contract.CodeInvalidValue, at, "Invalid value for '"+at+"': no tool has the label "+
				refusal.Quote(f.Label)+".")
		}
		return c, nil
	}
	c.label, c.name = "", ""
	if c.builtin = builtinOf(f.Type); c.builtin != "" && h.Builtins[c.builtin] == nil {
		return c, refusal.Bad(contract.CodeInvalidValue, at,
			"Invalid value for '"+at+"': 'tools' has no "+refusal.Quote(f.Type)+".")
	}
	return c, nil
}

// ForGateway returns the choice for a round, or nil for none. last reports whether the answer must not be a call.
func (h *Tools) ForGateway(round int, last bool) (json.RawMessage, *openai.Error) {
	c := &h.Choice
	forced := c.forced && round == 0
	switch {
	case last:
		return items.JSON("none"), nil
	case c.Raw == nil:
		return nil, nil
	case c.only == nil && !c.forced:
		return c.Raw, nil
	case c.only == nil:
		return items.JSON(mode(forced)), nil
	case forced && c.ofClient():
		return c.Raw, nil
	}
	tools := []json.RawMessage{}
	for i := range c.only {
		chosen, failure := h.functions(&c.only[i])
		if failure != nil {
			return nil, failure
		}
		tools = append(tools, chosen...)
	}
	return items.JSON(map[string]any{"type": "allowed_tools", "mode": mode(forced), "tools": tools}), nil
}

// ofClient reports whether the choice is one tool of the client's, and not a list.
func (c *toolChoice) ofClient() bool {
	return len(c.only) == 1 && c.only[0].label == "" && c.only[0].builtin == "" && c.only[0].at == "tool_choice"
}

func mode(forced bool) string {
	if forced {
		return "required"
	}
	return "auto"
}

// functions returns the functions that a chosen tool stands for.
func (h *Tools) functions(c *chosenTool) ([]json.RawMessage, *openai.Error) {
	named := func(kind, name string) json.RawMessage {
		return items.JSON(map[string]string{"type": kind, "name": name})
	}
	switch {
	case c.builtin != "":
		return []json.RawMessage{named("builtin", c.builtin)}, nil
	case c.label == "":
		return []json.RawMessage{c.raw}, nil
	}
	m := h.Server(c.label)
	tools := []json.RawMessage{}
	for i := range m.Tools {
		if t := &m.Tools[i]; t.shown != "" && (c.name == "" || c.name == t.Name) {
			tools = append(tools, named("function", t.shown))
		}
	}
	if len(tools) == 0 {
		return nil, refusal.Bad(contract.CodeInvalidValue, c.at, "Invalid value for '"+c.at+"': the MCP server "+
			refusal.Quote(c.label)+" offers no such tool.")
	}
	return tools, nil
}

package agents

import (
	"bytes"
	"encoding/json"
	"strings"
)

// tool is a function that the model may call.
type tool struct {
	name, description string
	// parameters is a schema in JSON.
	parameters string
}

// toolNames are Codex's, and of a server of tools.
var toolNames = []string{"exec_command", "apply_patch", "write_stdin", "update_plan", "view_image",
	"request_user_input", "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource", "get_goal",
	"create_goal", "update_goal", "spawn_agent", "send_input", "wait_agent"}

// newTools returns an agent's tools.
func newTools(w *writer) []tool {
	var all []tool
	for i, name := range toolNames {
		t := tool{name: name, description: w.prose(w.between(80, 300))}
		switch i {
		case 0:
			t.parameters = schema(w, 1, "cmd", "workdir", "justification")
		case 1:
			t.parameters = schema(w, 1, "input")
		default:
			var names []string
			for range w.between(1, 4) {
				names = append(names, w.noun()+"_"+w.noun())
			}
			t.parameters = schema(w, 2, names...)
		}
		all = append(all, t)
	}
	return all
}

// schema returns the schema of an object whose first members are texts.
func schema(w *writer, texts int, names ...string) string {
	var members, required []string
	for i, name := range names {
		about := `,"description":` + quote(w.sentence(7))
		schema := `{"type":"string"` + about + "}"
		if i >= texts {
			switch w.IntN(5) {
			case 0:
				schema = `{"type":"integer"` + about + "}"
			case 1:
				schema = `{"type":"string","enum":[` + quote(w.noun()) + "," + quote(w.noun()) + "," + quote(w.noun()) + "]" +
					about + "}"
			case 2:
				schema = `{"type":"array","items":{"type":"object","properties":{"` + w.noun() + `":{"type":"string"},"` +
					w.noun() + `":{"type":"boolean"}},"additionalProperties":false}` + about + "}"
			}
		}
		members = append(members, quote(name)+":"+schema)
		if i < texts {
			required = append(required, quote(name))
		}
	}
	return `{"type":"object","properties":{` + strings.Join(members, ",") + `},"required":[` +
		strings.Join(required, ",") + `],"additionalProperties":false}`
}

// quote returns a text in JSON. As in a client's JSON, < and & stay as they are.
func quote(text string) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // it is a text
	}
	return strings.TrimSuffix(out.String(), "\n")
}

//go:build e2e

package clients

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// codexName is a column of the table of docs/codex.md: a name of the model and a provider. Both decide what Codex
// sends.
type codexName struct {
	title, model string
	// catalog reports whether Codex knows the model from clients/codex/models.json. Names of OpenAI's models are in
	// Codex's own catalog.
	catalog bool
	// builtIn reports whether the provider is Codex's own for OpenAI, which dials a WebSocket.
	builtIn bool
	hands   codexHands
}

var codexNames = []*codexName{
	{title: "gpt-oss-120b, no catalog", model: lab.Model, hands: functionHands{}},
	{title: "gpt-oss-120b", model: lab.Model, catalog: true,
		hands: functionHands{patches: true, searches: true}},
	{title: "gpt-5.5", model: "gpt-5.5", hands: functionHands{patches: true, searches: true}},
	{title: "gpt-6.2-sol", model: "gpt-6.2-sol", hands: codeHands{collaborates: true}},
	{title: "codex-auto-review", model: "codex-auto-review", hands: codeHands{}},
	{title: "built-in provider", model: lab.Model, catalog: true, builtIn: true,
		hands: functionHands{patches: true, searches: true}},
}

// act is an answer of the model: what it says when the last message of its prompt contains a text. TAG in the texts is
// the tag of the cell.
type act struct {
	after, says string
	// seen stands somewhere in the prompt. Empty is the tag.
	seen string
}

// after is an act.
func after(text, says string) act { return act{after: text, says: says} }

// first is the first act.
func first(says string) act { return after("Please do the task.", says) }

// codexHands are the ways in which a model can act under a name.
type codexHands interface {
	// command runs a command of the shell.
	command(command string) string
	// patch applies a patch. It is empty where the name has no tool for it.
	patch(patch string) string
	// clock starts the MCP server of times, and asks it when the prompt has its tool.
	clock() []act
	// spawn starts a sub-agent and waits for its answer. It is empty where the name has no sub-agents.
	spawn() []act
	// picture looks at a file.
	picture(file string) string
}

// What a model writes.
const thought = "<|channel|>analysis<|message|>One step.<|end|><|start|>assistant"

// saying is a last message.
func saying(text string) string {
	return thought + "<|channel|>final<|message|>" + text + "<|return|>"
}

// calling is a call of a function.
func calling(name string, arguments any) string {
	text, _ := json.Marshal(arguments) // texts in maps
	return thought + "<|channel|>commentary to=functions." + name + " <|constrain|>json<|message|>" + string(text) +
		"<|call|>"
}

// writing is a call of a custom tool.
func writing(name, input string) string {
	return thought + "<|channel|>commentary to=functions." + name + "<|message|>" + input + "<|call|>"
}

type arguments = map[string]any

// functionHands are tools that are functions.
type functionHands struct {
	patches  bool // there is a custom tool apply_patch
	searches bool // the tools of MCP servers and for sub-agents must be searched for
}

func (functionHands) command(command string) string {
	return calling("exec_command", arguments{"cmd": command})
}

func (h functionHands) patch(patch string) string {
	if h.patches {
		return writing("apply_patch", patch)
	}
	return h.command("apply_patch <<'EOF'\n" + patch + "EOF\n")
}

// waiting passes some time.
func (h functionHands) waiting() string { return h.command("sleep 0.2; echo waited TAG") }

func (h functionHands) clock() []act {
	acts := []act{first(h.command("touch go; echo waited TAG")), after("waited TAG", h.waiting())}
	call := calling("get_current_time", arguments{"timezone": "Asia/Tokyo"})
	if h.searches {
		return append(acts, after("mcp__time\n</tools>", calling("tool_search", arguments{"query": "current time"})),
			after("get_current_time", call))
	}
	return append(acts, act{seen: "type get_current_time = (", after: "waited TAG", says: call})
}

func (h functionHands) spawn() []act {
	acts := []act{first(calling("spawn_agent", arguments{"message": childTask})), after("agent_id", h.waiting()),
		after("waited TAG", h.waiting())}
	if h.searches {
		acts = append(acts, after("spawn_agent", acts[0].says))
		acts[0] = first(calling("tool_search", arguments{"query": "spawn agent"}))
	}
	return acts
}

// childTask is what a sub-agent is asked, and childAnswer what it says.
const (
	childTask   = "TAG Say pear."
	childAnswer = "The pear is said."
)

func (functionHands) picture(file string) string {
	return calling("view_image", arguments{"path": file})
}

// codeHands are one tool, exec, that runs JavaScript with the other tools as functions.
type codeHands struct {
	collaborates bool // sub-agents have a namespace of their own
}

func code(text string) string { return writing("exec", text) }

func (codeHands) command(command string) string {
	text, _ := json.Marshal(arguments{"cmd": command})
	return code("const r = await tools.exec_command(" + string(text) + ");\ntext(r);\n")
}

func (codeHands) patch(patch string) string {
	text, _ := json.Marshal(patch)
	return code("await tools.apply_patch(" + string(text) + ");\ntext(\"Success\");\n")
}

func (h codeHands) clock() []act {
	ask := code(`await new Promise(r => setTimeout(r, 200));
try { text(await tools.mcp__time__get_current_time({timezone: "Asia/Tokyo"})); } catch { text("waited TAG"); }
`)
	return []act{first(h.command("touch go; echo waited TAG")), after("waited TAG", ask),
		after("mcp__time\n</tools>", ask)}
}

func (h codeHands) spawn() []act {
	if !h.collaborates {
		return nil
	}
	return []act{first(calling("spawn_agent", arguments{"task_name": "pear", "message": childTask})),
		after("task_name", calling("wait_agent", arguments{"timeout_ms": 60000}))}
}

func (codeHands) picture(file string) string {
	text, _ := json.Marshal(arguments{"path": file})
	return code("image(await tools.view_image(" + string(text) + "));\n")
}

// other is the name under which a session of this one goes on.
func (n *codexName) other() *codexName {
	to := map[string]string{"gpt-oss-120b": "gpt-6.2-sol", "built-in provider": "gpt-oss-120b"}[n.title]
	if to == "" && n.model == lab.Model {
		to = "gpt-5.5"
	}
	other := *nameTitled(cmp.Or(to, "gpt-oss-120b"))
	other.builtIn = n.builtIn
	return &other
}

// nameTitled is the column with a title.
func nameTitled(title string) *codexName {
	return codexNames[slices.IndexFunc(codexNames, func(n *codexName) bool { return n.title == title })]
}

// configure makes the name and its provider the configuration of a Codex.
func (n *codexName) configure(t *testing.T, c *codex, url string) {
	t.Helper()
	changes := []string{"http://127.0.0.1:8080", url, `model = "` + lab.Model, `model = "` + n.model}
	if !n.catalog {
		changes = append(changes, "model_catalog_json = \"models.json\"\n", "")
	}
	from := "config.toml"
	if n.builtIn {
		from = "websocket.toml"
	}
	c.configure(t, from, changes...)
}

// tables adds tables to the configuration.
func (c *codex) tables(t *testing.T, text string) {
	t.Helper()
	name := filepath.Join(c.home, "config.toml")
	file, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, append(file, "\n"+text...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

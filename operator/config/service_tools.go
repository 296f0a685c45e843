package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Tools say which tools the product's own service runs, and within which limits: docs/tools.md. The zero value: none.
type Tools struct {
	// Servers are MCP servers. A request names one by its label.
	Servers []ToolServer `yaml:"servers"`
	// Allow are the places that server_url of a request may be at: a host, *.host, scheme://host:port, an address, a range
	// of addresses, or * for every public host. Empty: none.
	Allow []string `yaml:"allow"`
	// Browser is the label of the server behind web_search. Empty: none is.
	Browser string `yaml:"browser"`
	// Python is the label of the server behind code_interpreter. Empty: none is.
	Python string `yaml:"python"`
	// Container is the label of the server that runs gpt-oss's container tool. Empty: none does.
	Container string `yaml:"container"`
	// Others is "ignore" or "refuse": what happens to tools that no server runs. Empty: what hosted_tools of the file says.
	Others string `yaml:"others"`
	// ToolSearch is "show_all" or "bm25": how deferred tools are found without a search of the client's. Empty: show_all.
	ToolSearch string `yaml:"tool_search"`
	// BrowserCursors reports whether a page that is not known is shown as cursor:3, as vLLM does.
	BrowserCursors bool `yaml:"browser_cursors"`
	// Rounds is how often the model is asked for one response. 0 is the default.
	Rounds int `yaml:"rounds"`
	// Time is how long one response may take with its tools. 0 is the default.
	Time Duration `yaml:"time"`
	// CallTime is how long one call of a tool may take. 0 is the default.
	CallTime Duration `yaml:"call_time"`
	// ResultLimit is how much of a call's result the model is shown. 0 is the default.
	ResultLimit Size `yaml:"result_limit"`
	// Parallel is how many calls of one response run at once. 0 is the default.
	Parallel int `yaml:"parallel"`
}

const maxToolServers = 1000

// Served reports whether the service runs any tool.
func (t *Tools) Served() bool { return len(t.Servers) > 0 || len(t.Allow) > 0 || t.Searches() }

// The values of [Tools.ToolSearch].
const (
	ToolSearchShowAll = "show_all"
	ToolSearchBM25    = "bm25"
)

// Searches reports whether the service searches for deferred tools.
func (t *Tools) Searches() bool { return t.ToolSearch == ToolSearchBM25 }

// DefaultToolTime is the default of [Tools.Time].
const DefaultToolTime = 10 * time.Minute

// TimeLimit returns how long one response may take with its tools.
func (t *Tools) TimeLimit() time.Duration { return cmp.Or(time.Duration(t.Time), DefaultToolTime) }

// RefusesOtherTools reports whether the service refuses tools that no server runs.
func (c *Config) RefusesOtherTools() bool {
	if others := c.ResponsesService.Tools.Others; others != "" {
		return others == contract.HostedToolsRefuse
	}
	return c.HostedTools == contract.HostedToolsRefuse
}

// resolvePaths makes the paths of programs absolute by resolve. A command without a slash is looked for in PATH.
func (t *Tools) resolvePaths(resolve func(*string)) {
	for i := range t.Servers {
		s := &t.Servers[i]
		if len(s.Command) > 0 && strings.ContainsRune(s.Command[0], filepath.Separator) {
			resolve(&s.Command[0])
		}
	}
}

// check checks how the settings fit together.
func (t *Tools) check(fail failure) {
	if len(t.Servers) > maxToolServers {
		fail("servers", "%d are too many; list at most %d", len(t.Servers), maxToolServers)
		return
	}
	labels, asks := map[string]bool{}, map[string]bool{}
	for i := range t.Servers {
		s, at := &t.Servers[i], fmt.Sprintf("servers[%d].", i)
		s.check(func(field, format string, args ...any) { fail(at+field, format, args...) })
		if labels[s.Label] {
			fail(at+"label", "%s is listed twice; give each server a label of its own", s.Label)
		}
		labels[s.Label], asks[s.Label] = true, s.RequireApproval == ApprovalAlways
	}
	for _, tool := range []struct{ field, label string }{
		{"browser", t.Browser}, {"python", t.Python}, {"container", t.Container}} {
		if tool.label != "" && !labels[tool.label] {
			fail(tool.field, "there is no server with the label %q; add it to servers", tool.label)
		}
		if asks[tool.label] {
			fail(tool.field, "calls of gpt-oss's own tools cannot wait for an approval; remove require_approval from %s",
				tool.label)
		}
	}
}

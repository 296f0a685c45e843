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
	Others string `yaml:"others" jsonschema:"enum=ignore,enum=refuse"`
	// BrowserCursors reports whether a page that is not known is shown as cursor:3, as vLLM does.
	BrowserCursors bool `yaml:"browser_cursors"`
	// Rounds is how often the model is asked for one response. 0 is the default.
	Rounds int `yaml:"rounds" jsonschema:"minimum=0,maximum=1000"`
	// Time is how long one response may take with its tools. 0 is the default.
	Time Duration `yaml:"time"`
	// CallTime is how long one call of a tool may take. 0 is the default.
	CallTime Duration `yaml:"call_time"`
	// ResultLimit is how much of a call's result the model is shown. 0 is the default.
	ResultLimit Size `yaml:"result_limit"`
	// Parallel is how many calls of one response run at once. 0 is the default.
	Parallel int `yaml:"parallel" jsonschema:"minimum=0,maximum=64"`
}

// The largest values of [Tools].
const (
	maxToolServers  = 1000
	maxToolRounds   = 1000
	maxToolTime     = 24 * time.Hour
	maxToolCallTime = time.Hour
	minToolResult   = 1 << 10
	maxToolResult   = 16 << 20
	maxToolParallel = 64
)

// Served reports whether the service runs any tool.
func (t *Tools) Served() bool { return len(t.Servers) > 0 || len(t.Allow) > 0 }

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

// resolvePaths makes the names of files absolute by resolve. A command without a slash is looked for in PATH.
func (t *Tools) resolvePaths(resolve func(*string)) {
	for i := range t.Servers {
		s := &t.Servers[i]
		resolve(&s.HeadersFile)
		if len(s.Command) > 0 && strings.ContainsRune(s.Command[0], filepath.Separator) {
			resolve(&s.Command[0])
		}
	}
}

// failure returns an error in a setting.
type failure func(field, format string, args ...any) *Error

// check returns the first error in t.
func (t *Tools) check() *Error {
	fail := func(field, format string, args ...any) *Error {
		return &Error{Field: "responses_service.tools." + field, Reason: fmt.Sprintf(format, args...)}
	}
	if len(t.Servers) > maxToolServers {
		return fail("servers", "%d are too many; list at most %d", len(t.Servers), maxToolServers)
	}
	labels, asks := map[string]bool{}, map[string]bool{}
	for i := range t.Servers {
		s := &t.Servers[i]
		at := fmt.Sprintf("servers[%d].", i)
		if e := s.check(func(field, format string, args ...any) *Error { return fail(at+field, format, args...) }); e != nil {
			return e
		}
		if labels[s.Label] {
			return fail(at+"label", "%s is listed twice; give each server a label of its own", s.Label)
		}
		labels[s.Label], asks[s.Label] = true, s.RequireApproval == ApprovalAlways
	}
	for i, place := range t.Allow {
		if reason := checkPlace(place); reason != "" {
			return fail(fmt.Sprintf("allow[%d]", i), "%s", reason)
		}
	}
	for _, tool := range []struct{ field, label string }{
		{"browser", t.Browser}, {"python", t.Python}, {"container", t.Container}} {
		if tool.label != "" && !labels[tool.label] {
			return fail(tool.field, "there is no server with the label %q; add it to servers", tool.label)
		}
		if asks[tool.label] {
			return fail(tool.field, "calls of gpt-oss's own tools cannot wait for an approval; remove require_approval from %s",
				tool.label)
		}
	}
	switch t.Others {
	case "", contract.HostedToolsIgnore, contract.HostedToolsRefuse:
	default:
		return fail("others", "%q is not known; write ignore or refuse", t.Others)
	}
	return t.checkLimits(fail)
}

func (t *Tools) checkLimits(fail failure) *Error {
	for _, n := range []struct {
		field      string
		value, max int
	}{{"rounds", t.Rounds, maxToolRounds}, {"parallel", t.Parallel, maxToolParallel}} {
		if n.value < 0 || n.value > n.max {
			return fail(n.field, "%d is out of range; use 1 to %d, or 0 for the default", n.value, n.max)
		}
	}
	for _, d := range []struct {
		field string
		value Duration
		max   time.Duration
	}{{"time", t.Time, maxToolTime}, {"call_time", t.CallTime, maxToolCallTime}} {
		if v := time.Duration(d.value); v != 0 && (v < time.Second || v > d.max) {
			return fail(d.field, "%s is out of range; use 1s to %gh, or 0s for the default", v, d.max.Hours())
		}
	}
	if t.ResultLimit != 0 && (t.ResultLimit < minToolResult || t.ResultLimit > maxToolResult) {
		return fail("result_limit", "%s is out of range; use 1KiB to 16MiB, or 0 for the default", &t.ResultLimit)
	}
	return nil
}

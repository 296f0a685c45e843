package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// withTools returns a file whose second line is the tools of the responses service. more follows at the top of the file.
func withTools(tools, more string) []byte {
	return []byte("responses_service: {store: r.db, tools: {\n" + tools + "}}\n" + more +
		"\nmodels: [{name: m, servers: ['vllm=http://10.0.0.7:8000']}]\n")
}

// TestTools has settings that are right, with what the filter and the service make of them: whether requests with tools
// reach the service, and whether it refuses those that nothing runs.
func TestTools(t *testing.T) {
	const server = "servers: [{label: a, url: 'http://h:1/mcp'}]"
	for _, tt := range []struct {
		tools, more   string
		runs, refuses bool
	}{
		{"", "", false, false},
		{"rounds: 1, time: 1s, call_time: 1h, result_limit: 1KiB, parallel: 64, browser_cursors: true", "", false, false},
		{"others: ignore", "", false, false},
		{"tool_search: show_all", "", false, false},
		{"tool_search: bm25", "", true, false},
		{"tool_search: bm25", "hosted_tools: refuse", true, true},
		{"others: refuse", "", true, true},
		{"", "hosted_tools: refuse", false, true},
		{server, "", true, false},
		{server, "hosted_tools: refuse", true, true},
		{server + ", others: ignore", "hosted_tools: refuse", true, false},
		{server + ", others: refuse", "hosted_tools: ignore", true, true},
		{server + ", browser: a, python: a, container: a", "", true, false},
		{"allow: [mcp.example.com, '*.example.org', 'http://10.0.0.5:8001', https://h, '*', 'http://[::1]:1', 10.0.0.5, " +
			"'::1', 10.0.0.0/8, 'fd00::/8', localhost, a_b.local]", "", true, false},
		{"servers: [{label: a-B_9, url: 'https://h/mcp?key=1', transport: sse, headers_file: h, allowed_tools: [x, y/z], " +
			"require_approval: always}, {label: b, url: 'http://127.0.0.1:8001', transport: streamable_http, " +
			"require_approval: never}, {label: c, command: [uvx, mcp-server-time, ''], environment: {A: '', B: 'x=y'}}]", "",
			true, false},
	} {
		c, err := Parse("h.yaml", withTools(tt.tools, tt.more))
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			t.Errorf("%s: %v", tt.tools, err)
			continue
		}
		want := contract.ResponsesService{Pool: ResponsesPool, Stores: true, HostedTools: tt.runs, WebSocket: true,
			Messages: tt.runs}
		if got := c.Filter().ResponsesService; got != want || c.RefusesOtherTools() != tt.refuses {
			t.Errorf("%s, %s: the filter has %+v, others are refused: %t", tt.tools, tt.more, got, c.RefusesOtherTools())
		}
	}
}

// TestToolsWithoutStored lets the service run tools and store nothing.
func TestToolsWithoutStored(t *testing.T) {
	const file = "responses_service: {store: r.db, stores: false, tools: {allow: [h]}}\n"
	c, err := Parse("h.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Filter().ResponsesService; s.Stores || !s.HostedTools {
		t.Errorf("the filter has %+v", s)
	}
}

// TestToolsRefused has settings that are wrong, with the beginning of what is said of each.
func TestToolsRefused(t *testing.T) {
	const url = "url: 'http://h:1'"
	for _, tt := range []struct{ tools, want string }{
		{"servers: [{" + url + "}]", `servers[0].label: "" is not a label; use a letter`},
		{"servers: [{label: 1a, " + url + "}]", `servers[0].label: "1a" is not a label`},
		{"servers: [{label: _a, " + url + "}]", `servers[0].label: "_a" is not a label`},
		{"servers: [{label: a.b, " + url + "}]", `servers[0].label: "a.b" is not a label`},
		{"servers: [{label: 'a b', " + url + "}]", `servers[0].label: "a b" is not a label`},
		{"servers: [{label: é, " + url + "}]", `servers[0].label: "é" is not a label`},
		{"servers: [{label: " + strings.Repeat("a", 65) + ", " + url + "}]", `servers[0].label: "aaa`},
		{"servers: [{label: a, " + url + "}, {label: a, " + url + "}]", "servers[1].label: a is listed twice"},
		{"servers: [{label: a}]", "servers[0].url: a needs either a url or a command"},
		{"servers: [{label: a, command: []}]", "servers[0].url: a needs either a url or a command"},
		{"servers: [{label: a, " + url + ", command: [x]}]", "servers[0].url: a needs either a url or a command"},
		{"servers: [{label: a, url: h}]", `servers[0].url: "h" is not a URL`},
		{"servers: [{label: a, url: 'h:1'}]", `servers[0].url: "h:1" is not a URL`},
		{"servers: [{label: a, url: 'http://:1'}]", `servers[0].url: "http://:1" is not a URL`},
		{"servers: [{label: a, url: 'ftp://h'}]", `servers[0].url: "ftp://h" is not a URL`},
		{"servers: [{label: a, url: 'http://h:0'}]", `servers[0].url: "http://h:0" has the port 0`},
		{"servers: [{label: a, url: 'http://h:65536/?s3cret'}]", `servers[0].url: "http://h:65536/" has the port 65536`},
		{"servers: [{label: a, url: 'http://u:s3cret@h/'}]", `servers[0].url: "http://…@h/" has a user name or a password`},
		{"servers: [{label: a, url: 'ftp://u:s3cret@h/?s3cret'}]", `servers[0].url: "ftp://…@h/" is not a URL`},
		{"servers: [{label: a, url: 'http://h/ö'}]", `servers[0].url: "http://h/ö" is not a URL`},
		{"servers: [{label: a, url: 'http://h/\\'}]", `servers[0].url: "http://h/\\" is not a URL`},
		{"servers: [{label: a, url: 'http://10.0.0.256/'}]", `servers[0].url: "http://10.0.0.256/" is not a URL`},
		{"servers: [{label: a, url: 'http://h/" + strings.Repeat("a", 4096) + "'}]", `servers[0].url: "http://h/aaa`},
		{"servers: [{label: a, url: 'http://h/#a'}]", `servers[0].url: "http://h/#a" has a fragment`},
		{"servers: [{label: a, " + url + ", transport: stdio}]", `servers[0].transport: "stdio" is not known`},
		{"servers: [{label: a, " + url + ", environment: {A: b}}]", "servers[0].environment: is for a command"},
		{"servers: [{label: a, command: [x], transport: sse}]", "servers[0].transport: is for a url"},
		{"servers: [{label: a, command: [x], headers_file: h}]", "servers[0].headers_file: is for a url"},
		{"servers: [{label: a, command: ['', x]}]", "servers[0].command[0]: names no program"},
		{`servers: [{label: a, command: [x, "a\0b"]}]`, "servers[0].command[1]: has a zero byte"},
		{"servers: [{label: a, command: [x], environment: {'A=': s3cret}}]", `servers[0].environment: "A=" is not the name`},
		{`servers: [{label: a, command: [x], environment: {A: "s3cret\0"}}]`, "servers[0].environment: A has a zero byte"},
		{"servers: [{label: a, " + url + ", allowed_tools: []}]", "servers[0].allowed_tools: allows no tool"},
		{"servers: [{label: a, " + url + ", allowed_tools: [x, '']}]", "servers[0].allowed_tools[1]: has no name"},
		{"servers: [{label: a, " + url + ", require_approval: once}]", `servers[0].require_approval: "once" is not known`},
		{"servers: [{label: a, " + url + ", headers: {A: b}}]", "servers[0].headers: headers is not a setting"},
		{"browser: a", `browser: there is no server with the label "a"; add it to servers`},
		{"servers: [{label: a, " + url + ", require_approval: always}], python: a", "python: calls of gpt-oss's own tools"},
		{"python: a", `python: there is no server with the label "a"`},
		{"container: a", `container: there is no server with the label "a"`},
		{"allow: ['']", `allow[0]: "" is not a place`},
		{"allow: ['*.']", `allow[0]: "*." is not a place`},
		{"allow: ['*:1']", `allow[0]: "*:1" is not a place`},
		{"allow: [h.0x7f]", `allow[0]: "h.0x7f" is not a place`},
		{"allow: ['::ffff:10.0.0.1']", `allow[0]: "::ffff:10.0.0.1" is not a place`},
		{"allow: ['::ffff:10.0.0.0/104']", `allow[0]: "::ffff:10.0.0.0/104" is not a range`},
		{"allow: ['http://h/']", `allow[0]: "http://h/" has more than a host and a port`},
		{"allow: [h, 'h:1']", `allow[1]: "h:1" is not a place`},
		{"allow: ['a.*.b']", `allow[0]: "a.*.b" is not a place`},
		{"allow: ['-a']", `allow[0]: "-a" is not a place`},
		{"allow: [a..b]", `allow[0]: "a..b" is not a place`},
		{"allow: ['10.0.0']", `allow[0]: "10.0.0" is not a place`},
		{"allow: ['10.0.0.256']", `allow[0]: "10.0.0.256" is not a place`},
		{"allow: ['fe80::1%eth0']", `allow[0]: "fe80::1%eth0" is not a place`},
		{"allow: [h/mcp]", `allow[0]: "h/mcp" is not a range of addresses`},
		{"allow: [10.0.0.5/8]", "allow[0]: 10.0.0.5/8 is an address within a range; write 10.0.0.0/8"},
		{"allow: ['ftp://h']", `allow[0]: "ftp://h" is not a server`},
		{"allow: ['http://*.h']", `allow[0]: "http://*.h" is not a server`},
		{"allow: ['http://h:0']", `allow[0]: "http://h:0" has the port 0`},
		{"allow: ['http://h/mcp']", `allow[0]: "http://h/mcp" has more than a host and a port`},
		{"allow: ['http://h?s3cret']", `allow[0]: "http://h" has more than a host and a port`},
		{"allow: ['http://u:s3cret@h']", `allow[0]: "http://…@h" has more than a host and a port`},
		{"tool_search: all", `tool_search: "all" is not known; write show_all or bm25`},
		{"others: drop", `others: "drop" is not known; write ignore or refuse`},
		{"rounds: -1", "rounds: -1 is out of range"},
		{"rounds: 1001", "rounds: 1001 is out of range; use 1 to 1000"},
		{"parallel: 65", "parallel: 65 is out of range"},
		{"time: 25h", "time: 25h0m0s is out of range; use 1s to 24h"},
		{"time: 1ms", "time: 1ms is out of range"},
		{"call_time: 2h", "call_time: 2h0m0s is out of range; use 1s to 1h"},
		{"result_limit: 1000", "result_limit: 1KB is out of range"},
		{"result_limit: 17MiB", "result_limit: 17MiB is out of range"},
		{"servers: [" + strings.Repeat("{label: a, "+url+"}, ", 1001) + "]", "servers: 1001 are too many"},
	} {
		_, err := Parse("h.yaml", withTools(tt.tools, ""))
		want := "h.yaml:2: responses_service.tools." + tt.want
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.tools, err, want)
		}
	}
}

// TestToolPaths finds files from the folder of the configuration, and programs without a slash in PATH.
func TestToolPaths(t *testing.T) {
	c, err := Parse("h.yaml", withTools("servers: [{label: a, url: 'http://h', headers_file: headers}, "+
		"{label: b, command: [./server, ./x]}, {label: c, command: [uvx]}, {label: d, command: [/bin/x]}]", ""))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	c.resolvePaths(folder)
	s := c.ResponsesService.Tools.Servers
	if s[0].HeadersFile != filepath.Join(folder, "headers") || s[1].Command[0] != filepath.Join(folder, "server") ||
		s[1].Command[1] != "./x" || s[2].Command[0] != "uvx" || s[3].Command[0] != "/bin/x" {
		t.Errorf("%+v", s)
	}
}

// FuzzTools checks that no text of the settings of tools makes the checks fail in another way than by an error, that no
// error shows a password or a query, and that what is accepted has neither a user nor what two parsers may read in two
// ways.
func FuzzTools(f *testing.F) {
	for _, seed := range []struct{ label, url, place string }{
		{"time", "http://127.0.0.1:8001/mcp", "mcp.example.com"},
		{"a", "https://h/mcp?key=hunter2", "*.example.org"},
		{"a", "http://u:hunter2@h:1", "http://u:hunter2@10.0.0.5:8001"},
		{"a", "http://h\\@evil", "http://h\\@evil"},
		{"a", "https://h/@scope/mcp", "u:hunter2@h/8"},
		{"a.b", "http://[::1%25eth0]/", "10.0.0.0/8"},
		{"é", "h:1", "::ffff:10.0.0.1"},
		{strings.Repeat("a", 65), "http://h:65536", "http://[fd00::1]:80/"},
	} {
		f.Add(seed.label, seed.url, seed.place)
	}
	f.Fuzz(func(t *testing.T, label, url, place string) {
		c := Default()
		c.ResponsesService.Tools = Tools{Servers: []ToolServer{{Label: label, URL: url}}, Browser: label,
			Allow: []string{place}}
		_, p := c.check()
		if len(p.all) == 0 {
			if !isLabel(label) || strings.ContainsAny(url, "#\\") || strings.ContainsAny(place, " \\@?#") {
				t.Fatalf("accepted: %q, %q, %q", label, url, place)
			}
			return
		}
		for _, e := range p.all {
			if e.Field == "" || e.Reason == "" || strings.Contains(e.Reason, ":hunter2@") ||
				strings.Contains(e.Reason, "?key") {
				t.Fatalf("%+v", e)
			}
		}
	})
}

package store

import (
	"bytes"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/services/responses"
)

// TestToolOptions compares what the service is given with the file.
func TestToolOptions(t *testing.T) {
	headers := clitest.WriteFile(t, "headers",
		"# the server's key\n\nAuthorization: Bearer s3cret\r\nx-team:  a \nX-Team: b\n")
	file := clitest.WriteFile(t, "c.yaml", oneModel+`hosted_tools: refuse
responses_service:
  store: r.db
  tools:
    servers:
      - {label: time, url: 'http://127.0.0.1:8001/mcp', transport: sse, headers_file: `+headers+`, allowed_tools: [now],
         require_approval: never}
      - {label: files, command: [server, --root, /srv], environment: {B: '2', A: x}}
    allow: [MCP.example.com, 'HTTPS://h:1']
    browser: time
    python: files
    container: files
    tool_search: bm25
    browser_cursors: true
    rounds: 3
    time: 2m
    call_time: 5s
    result_limit: 2KiB
    parallel: 4
`)
	c, err := loadService(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := toolOptions(c)
	if err != nil {
		t.Fatal(err)
	}
	want := responses.ToolOptions{
		Servers: []responses.ToolServer{
			{Label: "time", URL: "http://127.0.0.1:8001/mcp", Transport: "sse", AllowedTools: []string{"now"},
				RequireApproval: "never",
				Headers:         http.Header{"Authorization": {"Bearer s3cret"}, "X-Team": {"a", "b"}}},
			{Label: "files", Command: []string{"server", "--root", "/srv"}, Environment: []string{"A=x", "B=2"}},
		},
		Allow: []string{"mcp.example.com", "https://h:1"}, Browser: "time", Python: "files", Container: "files",
		RefuseOthers: true, Searches: true, BrowserCursors: true, Rounds: 3, Time: 2 * time.Minute, CallTime: 5 * time.Second,
		ResultLimit: 2048, Parallel: 4,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if s, err := serviceSettings(c, ""); err != nil || s.Tools.Rounds != 3 || len(s.Tools.Servers) != 2 {
		t.Errorf("the service has %+v, %v", s, err)
	}
	none, err := toolOptions(config.Default())
	if err != nil || !reflect.DeepEqual(none, responses.ToolOptions{}) {
		t.Errorf("without tools: %+v, %v", none, err)
	}
}

// TestHeadersFiles has files that are wrong. No error shows what is in a file.
func TestHeadersFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    " has no header; write Name: value",
		"# s3cret\n":                          " has no header; write Name: value",
		"\ns3cret\n":                          ":2: is not a header; write Name: value",
		"X y: s3cret\n":                       ":1: is not a header",
		": s3cret\n":                          ":1: is not a header",
		"A: b\nX-Key:\n":                      ":2: has no value",
		"X-Key: s3cret\x01\n":                 ":1: has no value, or one with characters",
		"host: s3cret\n":                      ":1: is a header that the service sets itself",
		"A: b\n\n# c\nmcp-session-id: s3cret": ":4: is a header that the service sets itself",
		strings.Repeat("a: s3cret\n", 10000):  " is larger than 64 KiB",
	} {
		file := clitest.WriteFile(t, "headers", text)
		_, err := readHeaders(file)
		if err == nil || !strings.HasPrefix(err.Error(), file+want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%.40q: got %v, want %s%s", text, err, file, want)
		}
	}
}

// TestMissingHeadersFile checks that the service does not start without its headers.
func TestMissingHeadersFile(t *testing.T) {
	folder := t.TempDir()
	file := clitest.WriteFile(t, "c.yaml", oneModel+"responses_service: {store: "+filepath.Join(folder, "r.db")+
		", tools: {servers: [{label: a, url: 'http://h/', headers_file: "+filepath.Join(folder, "absent")+"}]}}\n")
	var out, failed bytes.Buffer
	code := run(t.Context(), []string{"responses", "--config", file}, &out, &failed)
	want := "responses_service.tools.servers[0].headers_file: open " + filepath.Join(folder, "absent")
	if code != cli.ExitUsage || !strings.Contains(failed.String(), want) {
		t.Errorf("status %d, %s, want %s", code, &failed, want)
	}
}

// TestToolTimeDefault: the route to the service waits for as long as its tools may take.
func TestToolTimeDefault(t *testing.T) {
	if config.DefaultToolTime != responses.DefaultToolTime {
		t.Errorf("%v in the configuration, %v in the service", config.DefaultToolTime, responses.DefaultToolTime)
	}
}

package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// ToolServer is an MCP server, at a URL or as a program that the service starts.
type ToolServer struct {
	// Label is what requests call it.
	Label string `yaml:"label" jsonschema:"pattern=^[A-Za-z][A-Za-z0-9_-]{0\\,63}$"`
	// URL is where it is. It may be at a private address.
	URL string `yaml:"url"`
	// Transport is "streamable_http" or "sse". Empty: the first, then the second.
	Transport string `yaml:"transport"`
	// Command is the program to start in place of a URL, with its arguments. It speaks MCP on its standard input and
	// output.
	Command []string `yaml:"command"`
	// Environment are variables of that program.
	Environment map[string]string `yaml:"environment"`
	// HeadersFile holds headers for each request to URL, each on a line as Name: value. It may hold secrets.
	HeadersFile string `yaml:"headers_file"`
	// AllowedTools are the tools that may be called. Empty: all.
	AllowedTools []string `yaml:"allowed_tools"`
	// RequireApproval is "always" or "never": whether a client must approve of each call. Empty: as the request says.
	RequireApproval string `yaml:"require_approval"`
}

// The values of [ToolServer.Transport].
const (
	TransportStreamableHTTP = "streamable_http"
	TransportSSE            = "sse"
)

// The values of [ToolServer.RequireApproval].
const (
	ApprovalAlways = "always"
	ApprovalNever  = "never"
)

// maxToolURL is the length of the longest URL.
const maxToolURL = 4096

// check checks one server.
func (s *ToolServer) check(fail failure) {
	if (s.URL == "") == (len(s.Command) == 0) {
		fail("url", "%s needs either a url or a command; write url: http://host:port/mcp, or command: [PROGRAM]", s.Label)
		return
	}
	if s.URL != "" && len(s.Environment) > 0 {
		fail("environment", "is for a command, and %s has a url; leave it out", s.Label)
	}
	if s.URL == "" {
		s.checkCommand(fail)
	}
	if s.AllowedTools != nil && len(s.AllowedTools) == 0 {
		fail("allowed_tools", "allows no tool; leave it out to allow all, or remove the server")
	}
	if i := slices.Index(s.AllowedTools, ""); i >= 0 {
		fail(fmt.Sprintf("allowed_tools[%d]", i), "has no name; write the name of a tool of %s", s.Label)
	}
}

// checkCommand checks the settings of a server that the service starts.
func (s *ToolServer) checkCommand(fail failure) {
	if s.Transport != "" {
		fail("transport", "is for a url, and %s has a command; leave it out", s.Label)
	}
	if s.HeadersFile != "" {
		fail("headers_file", "is for a url, and %s has a command; leave it out", s.Label)
	}
	if s.Command[0] == "" {
		fail("command[0]", "names no program; write one, such as uvx")
	}
	for i, word := range s.Command {
		if strings.ContainsRune(word, 0) {
			fail(fmt.Sprintf("command[%d]", i), "has a zero byte, which no program can be given; remove it")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			fail("environment", "%q is not the name of a variable; write NAME: value", name)
		}
		if strings.ContainsRune(s.Environment[name], 0) {
			fail("environment", "%s has a zero byte, which no program can be given; remove it", name)
		}
	}
}

// isLabel reports whether a text has the form of OpenAI's server_label.
func isLabel(text string) bool {
	return validName(text) && len(text) <= 64 && !strings.ContainsRune("0123456789-_", rune(text[0]))
}

// checkToolURL returns what is wrong with the URL of an MCP server, or nothing. It shows no user, password or query,
// since many people see errors.
func checkToolURL(text string) string {
	shown, _, _ := strings.Cut(redactUser(text), "?")
	u, err := url.Parse(text)
	switch {
	case err != nil || !isServerURL(u) || !printable(text) || strings.Contains(text, "\\") || len(text) > maxToolURL:
		return fmt.Sprintf("%q is not a URL; write http://host:port/mcp or https://host/mcp", shown)
	case u.User != nil:
		return fmt.Sprintf("%q has a user name or a password, and this file is no place for secrets; write a header such as "+
			"Authorization: Bearer … in a file, and its path as headers_file", shown)
	case strings.Contains(text, "#"):
		return fmt.Sprintf("%q has a fragment, which no server is sent; remove what begins with #", shown)
	}
	return checkPort(shown, u.Port())
}

// Package toolservers has MCP servers for tests: gpt-oss's browser, python and container, plain tools, and servers that
// behave badly. Each is on a free loopback port, speaks streamable HTTP and SSE, and ends with its test.
//
// It knows MCP and what the reference servers answer. It does not know who calls them, the responses service or
// Harmony.
package toolservers

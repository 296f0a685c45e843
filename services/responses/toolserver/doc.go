// Package toolserver lists and calls the tools of MCP servers, within limits of time, memory and connections.
//
// It knows MCP, by the official Go SDK, of which it is the only importer. It does not know responses, models,
// approvals, or which tenant may use which server.
package toolserver

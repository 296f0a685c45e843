// Package tools has the tests of hosted tools: MCP servers, the browser and the interpreter that the responses service
// calls for the model.
//
// It knows what clients, the model and the servers of tools see of each other. It does not know how the service calls.
package tools

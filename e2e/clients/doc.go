// Package clients runs real clients, whose programs are in this folder, against the gateway, and compares what their
// users see.
//
// It knows the clients' packages and tools, not the filter.
package clients

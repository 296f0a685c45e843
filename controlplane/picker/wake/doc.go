// Package wake asks a URL to start a server for a pool that has none.
//
// It knows URLs and HTTP. It does not know when a server is needed, and whether one has come.
package wake

// Package routing tests where each request goes: to a pool's server, to another server unchanged, or nowhere.
//
// It knows paths, headers, models and pools, not what the answers say.
package routing

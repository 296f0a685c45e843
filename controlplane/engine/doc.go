// Package engine knows the programs that serve models: how each is recognised, which of its paths tell its version, how
// it is asked for the ids of a text, and what its load gauges are called. A new program is a row of the table in
// engine.go.
//
// It knows paths and JSON. It does not know how a server is reached, pools, configurations, or the requests of the
// filter.
package engine

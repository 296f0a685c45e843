// Package contract holds what the operator's file, the control plane, the filter and the core must spell alike:
// headers, paths, kinds of servers, settings and metrics.
//
// It knows names, kinds and ranges. It does not know what a setting does, nor which package reads it.
package contract

// Package server is the control plane as a whole. It takes versions of the operator's configuration as a part of a
// program (package follow). It follows the pools' servers, sends Envoys the resources that result from both, and serves
// status and metrics over HTTP.
//
// It knows in which order things happen, and what stays in force when a step fails. It does not know what Envoy's
// resources look like, how servers are found, or how resources reach Envoys.
package server

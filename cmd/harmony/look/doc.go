// Package look has the commands that show Harmony and what a gateway does with it: inspect and record, and sim, which
// stands in for an inference server.
//
// It must not know a control plane.
package look

// Package rollout gives a new filter to some Envoys of a fleet, compares them with the others, and decides whether more
// of them get it or all go back.
//
// It knows Envoys by name and by what they count. It does not know how a filter reaches an Envoy, or who asks for a
// rollout.
package rollout

// Package fleet has the commands for operators of a fleet of Envoys: the control plane, the rate limit service, the
// picker, keys, rollouts, probes, drains and the status.
//
// It must not know harmony up, nor the store of responses: the responses service beside a control plane comes from
// package store.
package fleet

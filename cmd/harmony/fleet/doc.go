// Package fleet has the commands of whoever runs a fleet of Envoys: its control plane, rate limit service and picker,
// its keys and rollouts, and what asks how they are.
//
// It must not know harmony up, nor the store of responses: the responses service beside a control plane comes from
// package store.
package fleet

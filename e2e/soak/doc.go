// Package soak runs the filter for long: many requests, large ones, hostile ones, bodies that never end, answers of many
// messages. Memory must not grow, no VM and no other client's stream may be lost, and a worker must stay ready.
//
// It knows requests, memory and VMs, and of answers only whether they are whole.
//
// Its tests want the tag e2e and what `make soak` installs.
package soak

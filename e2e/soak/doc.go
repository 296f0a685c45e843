// Package soak runs the filter for a long time with many requests: large ones, hostile ones, bodies that never end, and
// answers of many messages. Memory must not grow, no VM and no other client's stream may be lost, and a worker must
// stay ready.
//
// It also attacks the responses service.
//
// It knows requests, memory and VMs. Of answers it knows only whether they are complete.
//
// Its tests need the build tag e2e and what `make soak` installs.
package soak

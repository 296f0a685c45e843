// Package up has the command harmony up: one gateway in one program, with an Envoy or without one.
//
// It must not know the commands for a fleet.
package up

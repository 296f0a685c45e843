// Package store has the command harmony responses, with its commands for what is stored, and runs the responses service
// inside another program.
//
// It must not know which program that is: a control plane and harmony up run it alike.
package store

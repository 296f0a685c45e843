// Package agents makes the sessions of coding agents: what an agent sends turn by turn, in each form of the API. The
// same seed always makes the same session.
//
// It knows requests, and writes texts like those of a project in Go. It does not know what a gateway makes of them.
package agents

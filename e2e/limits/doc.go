// Package limits tests what the gateway withstands: full memory, held bodies, slow clients, hostile requests, and
// servers that break every rule.
//
// It knows bounds on memory, size and time, not what a good answer says.
package limits

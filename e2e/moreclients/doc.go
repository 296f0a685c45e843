// Package moreclients runs clients that fewer people use than those of e2e/clients: each answers in text, in a stream
// and with tools.
//
// It knows the clients' packages, not the filter.
package moreclients

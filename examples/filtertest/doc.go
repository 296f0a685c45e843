// Package filtertest shows tests of two filters: one of somebody else (redact, in Go's own compiler and another SDK), and
// the filter of this repository.
//
// It knows what a client and a server would see, not how a filter is hosted.
package filtertest

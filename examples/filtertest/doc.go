// Package filtertest shows tests of two filters: redact, an independent filter built by Go's own compiler with another
// SDK, and the filter of this repository.
//
// It knows what a client and a server would see. It does not know how a filter is hosted.
package filtertest

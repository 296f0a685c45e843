// Package release makes a release out of a commit, the same bytes every time, and pushes its images to a registry
// (RATIONALE.md#113).
//
// It knows the formats of what people install: archives, wheels, Go modules and OCI images. It does not know what the
// program and the filter do.
package release

// Package tap tests what the filter shows a recorder of tapped requests, in Envoy and in the wazero host, and that no
// recorder can harm a request.
//
// It knows the frames of internal/tap. It does not know what a recorder makes of them.
package tap

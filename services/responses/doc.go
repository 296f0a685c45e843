// Package responses is the responses service: it keeps responses and conversations, and serves the Responses API of what is
// stored, over HTTP and WebSocket, at once and in the background. A response is made in the package turn.
//
// It knows the API's paths, the store and leases. It does not know Harmony, tokens, inference servers or Envoy.
package responses

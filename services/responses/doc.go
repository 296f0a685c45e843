// Package responses is the responses service: it keeps responses and conversations, and turns a request that needs them
// into a plain one, which it sends to the model through the gateway.
//
// It knows the Responses API and the store. It does not know Harmony, tokens, inference servers or Envoy.
package responses

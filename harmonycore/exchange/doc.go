// Package exchange handles one request and its response. It takes the client's bytes and the server's bytes, and
// returns actions for the proxy.
//
// A [Gateway] finds the endpoint of a request in its table of routes, by method and path. An [Exchange] passes on to
// the endpoint what the proxy hands over, in whatever order. There is one type per endpoint: generation, tokenCount,
// modelList, oneModel, rawPrompt, stored, and refusal for requests that are refused for their path. A generation becomes
// a conversation, and a tokenCount a servedCount, if the model's servers take conversations: the type in servers.go
// decides, which each model has. The outlet turns an endpoint's decisions into actions on the response's headers,
// whether they are still held or have been sent.
//
// The package knows the order in which a proxy hands over headers and bodies. It does not know which proxy that is.
// Time is an argument.
package exchange

// Package exchange is one request and its response: the client's bytes and the server's bytes go in, what to do with
// them comes out.
//
// A [Gateway] finds the endpoint of a request in its table of routes, by method and path. An [Exchange] hands the
// endpoint what the proxy hands over, in whatever order. There is one type per endpoint: generation, tokenCount,
// modelList and oneModel, rawPrompt, stored, and refusal for requests that are refused for their path. The outlet turns
// what an endpoint decides into what the proxy does with the response's headers, whether they are still held or have
// been sent.
//
// It knows the order in which a proxy hands it headers and bodies, not which proxy that is; time is an argument.
package exchange

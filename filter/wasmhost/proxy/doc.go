// Package proxy is an HTTP proxy around [wasmhost]: a net/http server in front, a net/http client at the back, and
// between them a filter that runs on several workers.
//
// It knows HTTP and clusters. It knows no particular filter, and it does not know where its routes come from.
package proxy

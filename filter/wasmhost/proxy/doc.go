// Package proxy is an HTTP proxy around a wasmhost: net/http in front, net/http behind, and a filter that runs on
// several workers in between.
//
// It knows HTTP and clusters, not any filter, nor where its routes come from.
package proxy

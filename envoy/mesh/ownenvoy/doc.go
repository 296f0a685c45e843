// Package ownenvoy puts the filter into an envoy.yaml that an operator has written: it says which pieces go where in
// the file, and merges them.
//
// It knows Envoy's static configuration as a tree of YAML, because an operator's file has extensions that this program
// does not know. It does not build resources: package xds does.
package ownenvoy

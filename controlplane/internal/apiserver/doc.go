// Package apiserver follows objects of Kubernetes: it lists and watches them at the API server.
//
// It knows the API server. It does not know what the objects mean, pools, or the operator's YAML.
package apiserver

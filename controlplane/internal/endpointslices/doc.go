// Package endpointslices reports which endpoints of a Service of Kubernetes are ready, as the API server's
// EndpointSlices have them.
//
// It knows EndpointSlices. It does not know pools, what the endpoints serve, or the operator's YAML.
package endpointslices

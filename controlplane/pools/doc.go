// Package pools reports which servers each pool has now, by address, by name, by file and by Service of Kubernetes,
// whether each of them serves the pool's models, and how much it has to do.
//
// It knows names, files, Services, /v1/models and pages of metrics. It does not know what servers are used for, or
// Envoy, xDS and the operator's YAML.
package pools

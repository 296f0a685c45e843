// Package pools reports which servers each pool has now, by address, by name, by file and by Service of Kubernetes, and
// whether each of them serves the pool's models.
//
// It knows names, files, Services and /v1/models. It does not know what servers are used for, or Envoy, xDS and the
// operator's YAML.
package pools

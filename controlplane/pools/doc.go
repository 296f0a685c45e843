// Package pools says which servers each pool has at this moment, by address, by name and by file, and whether each of them
// serves the pool's models.
//
// It knows names, files and /v1/models, not what anybody does with a server, nor Envoy, xDS or the operator's YAML.
package pools

// Package config holds the operator's configuration: what a person writes, in YAML or as flags, checked and with all
// defaults.
//
// It knows models, servers and addresses. It does not know xDS, Envoy's resources or what the filter does with its
// settings.
package config

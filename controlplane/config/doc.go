// Package config is the operator's configuration: what a person writes, in YAML or as flags, checked and with every
// default in place.
//
// It knows models, servers and addresses, not xDS, Envoy's resources or what the filter does with its settings.
package config

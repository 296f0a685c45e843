// Package inprocess serves Envoy's resources without an Envoy: in this process, with the wazero host.
//
// It knows the part of Envoy's API that controlplane/xds uses, and refuses everything else. It does not know models, or
// what the filter does.
package inprocess

// Package inprocess serves Envoy's resources without an Envoy: in this process, by the wazero host.
//
// It knows of Envoy's API what controlplane/xds writes, and refuses what it does not know; it does not know models, nor
// what the filter does.
package inprocess

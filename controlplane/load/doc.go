// Package load turns samples of servers' loads into smoothed numbers, and a pool's numbers into weights in coarse
// steps.
//
// It knows numbers and times. It does not know how a server is asked, how Envoy uses a weight, or the operator's YAML.
package load

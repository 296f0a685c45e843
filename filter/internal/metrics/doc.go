// Package metrics counts what exchanges report, in metrics of a proxy whose names carry the labels.
//
// It knows the contract's metrics, not what proxy keeps them nor how: that is [Host]'s.
package metrics

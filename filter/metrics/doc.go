// Package metrics turns what exchanges report into metrics of a proxy, under names that carry the labels.
//
// It knows the names, not what proxy keeps them nor how: that is Host's. What they mean stands in docs/metrics.md.
package metrics

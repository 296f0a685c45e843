// Package metrics counts the reports of exchanges. Its metrics' names carry their labels.
//
// It knows the contract's metrics. It does not know which proxy keeps them, nor how: that is the task of a [Host].
package metrics

// Package history keeps what a fleet of Envoys did in the last hour, as series for plots.
//
// It does not know how metrics reach it, or who looks at the series.
package history

package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// estimate is the median of the rounds' figures, with the interval that has it with a probability of 90 %.
type estimate struct {
	median, low, high float64
	// rounds is how many figures there were.
	rounds int
}

// The bootstrap draws so many samples, and its interval leaves out this share of them at each end.
const (
	resamples = 2000
	tail      = 0.05
)

// estimateOf estimates the median by the percentile bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap,
// 1993, chapter 13). The same figures always have the same estimate. Without figures it is not a number.
func estimateOf(figures []float64) estimate {
	if len(figures) == 0 {
		return estimate{math.NaN(), math.NaN(), math.NaN(), 0}
	}
	random := rand.New(rand.NewPCG(1, 2))
	medians, sample := make([]float64, resamples), make([]float64, len(figures))
	for i := range medians {
		for j := range sample {
			sample[j] = figures[random.IntN(len(figures))]
		}
		medians[i] = median(sample)
	}
	return estimate{median(figures), quantile(medians, tail), quantile(medians, 1-tail), len(figures)}
}

// verdict is what an interval says about a target.
type verdict string

const (
	met    verdict = "met"
	notMet verdict = "not met"
	open   verdict = "open"
)

// fewestRounds is how many figures an interval needs before it decides: the interval of fewer is too narrow.
const fewestRounds = 5

// judge compares an interval with the largest value that meets a target.
func (e estimate) judge(limit float64) verdict {
	switch {
	case e.rounds < fewestRounds:
		return open
	case e.high <= limit:
		return met
	case e.low > limit:
		return notMet
	}
	return open
}

// median returns the middle figure, or the mean of the two in the middle.
func median(figures []float64) float64 {
	if len(figures) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(figures))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// quantile returns the smallest figure that is not below a share of all figures.
func quantile(figures []float64, share float64) float64 {
	if len(figures) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(figures))
	rank := int(math.Ceil(share * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

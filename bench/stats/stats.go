// Package stats estimates what the rounds of a benchmark have measured.
//
// It knows figures. It does not know what they are of.
package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Estimate is the median of the rounds' figures, with the interval that has it with a probability of 90 %.
type Estimate struct {
	Median, Low, High float64
	// Rounds is how many figures there were.
	Rounds int
}

// The bootstrap draws so many samples, and its interval leaves out this share of them at each end.
const (
	resamples = 2000
	tail      = 0.05
)

// Of estimates the median by the percentile bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
// chapter 13). The same figures always have the same estimate. Without figures it is not a number.
func Of(figures []float64) Estimate {
	if len(figures) == 0 {
		return Estimate{math.NaN(), math.NaN(), math.NaN(), 0}
	}
	random := rand.New(rand.NewPCG(1, 2))
	medians, sample := make([]float64, resamples), make([]float64, len(figures))
	for i := range medians {
		for j := range sample {
			sample[j] = figures[random.IntN(len(figures))]
		}
		medians[i] = Median(sample)
	}
	return Estimate{Median(figures), Quantile(medians, tail), Quantile(medians, 1-tail), len(figures)}
}

// Verdict is what an interval says about a target.
type Verdict string

// The verdicts. An open target needs more rounds.
const (
	Met    Verdict = "met"
	NotMet Verdict = "not met"
	Open   Verdict = "open"
)

// fewestRounds is how many figures an interval needs before it decides: the interval of fewer is too narrow.
const fewestRounds = 5

// Judge compares an interval with the largest value that meets a target.
func (e Estimate) Judge(limit float64) Verdict {
	switch {
	case e.Rounds < fewestRounds:
		return Open
	case e.High <= limit:
		return Met
	case e.Low > limit:
		return NotMet
	}
	return Open
}

// Median returns the middle figure, or the mean of the two in the middle.
func Median(figures []float64) float64 {
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

// Quantile returns the smallest figure that is not below a share of all figures.
func Quantile(figures []float64, share float64) float64 {
	if len(figures) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(figures))
	rank := int(math.Ceil(share * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Show writes an estimate with its interval. A figure that is added to another has a sign.
func (e Estimate) Show(added bool) string {
	if math.IsNaN(e.Median) {
		return "–"
	}
	sign := ""
	if added && e.Median >= 0 {
		sign = "+"
	}
	return fmt.Sprintf("%s%s [%s … %s]", sign, Number(e.Median), Number(e.Low), Number(e.High))
}

// Number writes a figure with about three digits.
func Number(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case size >= 100:
		return fmt.Sprintf("%.0f", v)
	case size >= 10:
		return fmt.Sprintf("%.1f", v)
	case size >= 0.1 || size == 0:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

package rollout

import "math"

// tail returns the probability that k or more of n events fall to one side, if each does so with probability p.
func tail(k, n, p float64) float64 {
	k, n = math.Floor(k), math.Ceil(n)
	switch {
	case k <= 0 || k <= n*p:
		return 1 // no sign of anything, and not needed more exactly
	case p <= 0 || k > n:
		return 0
	case p >= 1:
		return 1
	}
	lgamma := func(x float64) float64 { l, _ := math.Lgamma(x); return l }
	term := math.Exp(lgamma(n+1) - lgamma(k+1) - lgamma(n-k+1) + k*math.Log(p) + (n-k)*math.Log1p(-p))
	sum := 0.0
	for ; term > sum*1e-12; k++ { // beyond the mean the terms fall
		sum += term
		term *= (n - k) / (k + 1) * p / (1 - p)
	}
	return min(sum, 1)
}

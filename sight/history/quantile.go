package history

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// quantile is one of the quantiles of the time to the first token.
type quantile float64

var quantiles = []quantile{0.5, 0.95}

func (q quantile) labels() map[string]string {
	return map[string]string{"quantile": strconv.FormatFloat(float64(q), 'g', -1, 64)}
}

// bound is a bucket of the histogram: the series of its increases.
type bound struct {
	upTo   float64
	series *series
}

// bounds returns the buckets, with rising bounds.
func (h *History) bounds() []bound {
	var all []bound
	for _, s := range h.series {
		if s.name == buckets {
			if upTo, err := strconv.ParseFloat(s.labels["le"], 64); err == nil {
				all = append(all, bound{upTo, s})
			}
		}
	}
	slices.SortFunc(all, func(a, b bound) int { return cmp.Compare(a.upTo, b.upTo) })
	return all
}

// quantile returns a quantile over the intervals up to one, as Prometheus' histogram_quantile estimates it: values are
// spread evenly in their bucket, and those above the last finite bound count as that bound.
func (h *History) quantile(bounds []bound, q quantile, last int64) Value {
	counts := make([]float64, len(bounds))
	most := 0.0
	for i := range bounds {
		for at := max(last-quantileOver+1, h.first); at <= last; at++ {
			if v := *bounds[i].series.at(at); !math.IsNaN(v) {
				counts[i] += v
			}
		}
		most = max(most, counts[i]) // buckets of several Envoys may differ
		counts[i] = most
	}
	if most == 0 {
		return Value(math.NaN())
	}
	rank, from, below := float64(q)*most, 0.0, 0.0
	for i := range bounds {
		if counts[i] < rank {
			from, below = bounds[i].upTo, counts[i]
			continue
		}
		if math.IsInf(bounds[i].upTo, 0) {
			return Value(from)
		}
		return Value(from + (bounds[i].upTo-from)*(rank-below)/(counts[i]-below))
	}
	return Value(from)
}

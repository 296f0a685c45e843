//go:build e2e

package fake

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/history"
)

// Hour returns an hour of load that ends now. A server dies 41 s before its end.
func Hour(now time.Time) *history.History {
	h := history.New(history.Options{})
	random := rand.New(rand.NewPCG(1, 2))
	near := func(v, share float64) float64 { return math.Max(0, v*(1+share*random.NormFloat64())) }
	set := func(at time.Time, name, label, value string, v float64) {
		var labels map[string]string
		if label != "" {
			labels = map[string]string{label: value}
		}
		h.Set(at, name, labels, v)
	}
	for ago := time.Hour; ago >= 0; ago -= 5 * time.Second {
		at := now.Add(-ago)
		x := 1 - ago.Hours()
		load := 0.55 + 0.3*math.Sin(x*4.4-0.6) + 0.12*math.Sin(x*23)
		set(at, history.TokensPerSecond, "kind", "reasoning", near(2400*load, .05))
		set(at, history.TokensPerSecond, "kind", "preamble", near(120*load, .2))
		set(at, history.TokensPerSecond, "kind", "tool_call", near(380*load, .12))
		set(at, history.TokensPerSecond, "kind", "final", near(1500*load, .06))
		set(at, history.TokensPerSecond, "kind", "prompt", near(31000*load, .08))
		set(at, history.TokensPerSecond, "kind", "cached", near(22000*load, .08))
		set(at, history.TokensPerSecond, "kind", "tool_output", near(6100*load, .15))
		set(at, history.RequestsPerSecond, "status", "2xx", near(14*load, .08))
		set(at, history.RequestsPerSecond, "status", "4xx", near(.4, .5))
		first, failed, nacks := 240+420*load, 0.0, 0.0
		if ago < 45*time.Second {
			first, failed = first*1.9, 1.6
		}
		if ago < 18*time.Minute && ago > 17*time.Minute {
			nacks = 2
		}
		set(at, history.RequestsPerSecond, "status", "5xx", near(failed, .3))
		set(at, history.FirstToken, "quantile", "0.5", near(first, .04))
		set(at, history.FirstToken, "quantile", "0.95", near(first*2.7, .07))
		set(at, history.Streams, "", "", math.Round(near(182*load, .04)))
		set(at, history.NACKsPerMinute, "", "", nacks)
		for kind, rate := range map[string]float64{"missing_end": 1.1, "repaired_recipient": .7, "loose_words": .4} {
			set(at, history.RecoveriesPerMinute, "kind", kind, near(rate*load, .6))
		}
		ready, unreachable := 5.0, 0.0
		if ago < 41*time.Second {
			ready, unreachable = 4, 1
		}
		set(at, history.Servers, "state", "ready", ready)
		set(at, history.Servers, "state", "unreachable", unreachable)
	}
	return h
}

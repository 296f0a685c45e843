package fleet

import (
	"fmt"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// smallLimits returns a warning for each limit of tokens that is below what a request without max_tokens reserves for its
// answer. Such a request is always refused.
func smallLimits(f *clients.File, c *config.Config) []string {
	all := smallLimit("defaults", &f.Defaults, "", c)
	for i := range f.Clients {
		one, field := &f.Clients[i], fmt.Sprintf("clients[%d]", i)
		limits := &f.Defaults
		if one.Limits != nil {
			limits = one.Limits
			all = append(all, smallLimit(field+".limits", limits, "", c)...)
		}
		for j := range one.Models {
			m := one.Models[j].Limits
			if m.Context == 0 || limits.Context > 0 && limits.Context < m.Context {
				m.Context = limits.Context
			}
			all = append(all, smallLimit(fmt.Sprintf("%s.models[%d]", field, j), &m, one.Models[j].Name, c)...)
		}
	}
	return all
}

// smallLimit returns the warnings for a block of limits: for a model, or for all if it has no name.
func smallLimit(field string, l *clients.Limits, model string, c *config.Config) []string {
	reserved := min(c.Limits.Expected(), largestContext(c, model))
	if l.Context > 0 {
		reserved = min(reserved, l.Context)
	}
	var all []string
	for _, one := range []struct {
		name  string
		value int
	}{{"tokens_per_minute", l.TokensPerMinute}, {"tokens_per_day", l.TokensPerDay}} {
		if one.value > 0 && one.value < reserved {
			all = append(all, fmt.Sprintf("%s.%s is %d, and a request without max_tokens reserves up to %d tokens for its answer: "+
				"it is always refused; write a larger limit, a smaller context, or a smaller limits.expected_answer in the "+
				"configuration", field, one.name, one.value, reserved))
		}
	}
	return all
}

// largestContext returns the largest context of a model, or of all models if it has no name.
func largestContext(c *config.Config, model string) int {
	largest := 0
	for i := range c.Models {
		if m := &c.Models[i]; model == "" || m.Name == model {
			largest = max(largest, m.ContextLength)
		}
	}
	if largest == 0 {
		return contract.DefaultContextLength
	}
	return largest
}

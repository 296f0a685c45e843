//go:build e2e

package cases

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// setRoute gives the model further pools, all at the case's server, and the rules of its route. value is such as
// "near:max_prompt=70 middle:min_answer=10,context_length=90", the names of the pools with their rules. Servers that
// take conversations have no route.
func (c *Case) setRoute(out *config.Config, m *config.Model, server, value string) error {
	if c.ServerKind().Conversations {
		return nil
	}
	for text := range strings.FieldsSeq(value) {
		name, settings, _ := strings.Cut(text, ":")
		rule := config.Rule{Pool: name}
		for setting := range strings.SplitSeq(settings, ",") {
			key, number, _ := strings.Cut(setting, "=")
			n, err := strconv.Atoi(number)
			switch {
			case err != nil:
				return err
			case key == "max_prompt":
				rule.MaxPrompt = n
			case key == "min_answer":
				rule.MinAnswer = n
			case key == "context_length":
				rule.ContextLength = n
			default:
				return fmt.Errorf("unknown setting %q of a rule", key)
			}
		}
		m.Rules = append(m.Rules, rule)
		out.Pools = append(out.Pools, config.Pool{Name: name, Kind: c.kind, AcceptTextPrompts: true,
			Servers: []string{server + c.Settings["server_path"]}, Health: config.Health{Path: config.NoHealthChecks}})
	}
	return nil
}

// InMode puts a case's configuration into a mode. In reduced mode a model has one pool.
func InMode(c *config.Config, mode string) {
	c.Mode = mode
	if mode == contract.ModeReduced {
		c.Pools = nil
		for i := range c.Models {
			c.Models[i].Rules = nil
		}
	}
}

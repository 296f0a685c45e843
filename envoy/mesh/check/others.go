package check

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// otherPaths are paths of inference servers below /v1/ that the filter does not guard: another model behind the same
// listener may serve them.
var otherPaths = []string{"/v1/embeddings", "/v1/score", "/v1/rerank", "/v1/audio/transcriptions",
	"/v1/load_lora_adapter"}

// otherPaths checks that a route of the gateway's own does not lead other requests to a model's servers. The requests
// lack what a server needs to do anything.
func (c *checker) otherPaths(ctx context.Context) {
	const name = "a server's other paths are out of reach"
	model, _ := c.body()
	body, err := json.Marshal(map[string]string{"model": model})
	if err != nil || model == "" {
		c.add(Unknown, name, "no model is known; name one by --model")
		return
	}
	var reached []string
	for _, path := range otherPaths {
		a, err := c.ask(ctx, http.MethodPost, path, string(body), nil)
		if err != nil {
			c.add(Unknown, name, "no answer to POST %s: %v", path, err)
			return
		}
		switch a.status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		default:
			reached = append(reached, fmt.Sprintf("%s (%s)", path, a))
		}
	}
	if len(reached) == 0 {
		c.add(OK, name, "none of %d paths reaches one", len(otherPaths))
		return
	}
	c.add(Warn, name, "%s reach a server, past the translation if it serves %s: see "+
		"docs/envoy.md#several-hosts, and route only the paths of the API to its servers", strings.Join(reached, ", "), model)
}

// hosts checks whether the filter answers the API of several hosts on one listener.
func (c *checker) hosts(m map[string]any, routes []map[string]any) {
	const name = "the hosts that the filter answers"
	answered := answeredHosts(m, routes)
	switch {
	case len(answered) > 1:
		c.add(Warn, name, "%s: it answers /v1/… of them all. Where it should not, disable it by typed_per_filter_config: "+
			"docs/envoy.md#several-hosts", strings.Join(answered, ", "))
	case len(answered) == 1:
		c.add(OK, name, "%s", answered[0])
	}
}

// answeredHosts returns the virtual hosts of a connection manager in which the filter is not disabled.
func answeredHosts(m map[string]any, routes []map[string]any) []string {
	of := at(m, "route_config")
	if of == nil {
		wanted := text(at(m, "rds"), "route_config_name")
		for _, r := range routes {
			if text(r, "name") == wanted {
				of = r
			}
		}
	}
	var answered []string
	hosts, _ := of["virtual_hosts"].([]any)
	for _, each := range hosts {
		host, _ := each.(map[string]any)
		if !disables(host, filterNames(m)) {
			answered = append(answered, text(host, "name"))
		}
	}
	return answered
}

// disables reports whether a virtual host disables one of the filters.
func disables(host map[string]any, filters []string) bool {
	own, _ := host["typed_per_filter_config"].(map[string]any)
	return slices.ContainsFunc(filters, func(name string) bool {
		disabled, _ := at(own, name)["disabled"].(bool)
		return disabled
	})
}

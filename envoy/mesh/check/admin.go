package check

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// The ends of types in a config_dump.
const (
	wasmType    = "extensions.filters.http.wasm.v3.Wasm"
	managerType = "http_connection_manager.v3.HttpConnectionManager"
)

// found is what a config_dump has of the gateway.
type found struct {
	filters  []map[string]any
	managers []map[string]any
	routes   []map[string]any
	refused  []string
}

// admin checks the configuration that the gateway's Envoy really has. A field that the mesh's control plane has dropped
// is not there, and a resource that Envoy has refused is there with its error.
func (c *checker) admin(ctx context.Context) {
	const name = "Envoy's configuration"
	dump, err := c.dump(ctx)
	if err != nil {
		c.add(Fail, name, "%v; is --admin the address of Envoy's admin interface?", err)
		return
	}
	var all found
	all.walk(dump)
	for _, text := range all.refused {
		c.add(Fail, "Envoy takes what it is sent", "%s", text)
	}
	if len(all.refused) == 0 {
		c.add(OK, "Envoy takes what it is sent", "nothing is refused")
	}
	if len(all.filters) == 0 {
		c.add(Fail, "the filter is in Envoy", "no Wasm filter has a configuration of this project; was the module fetched?")
		return
	}
	for _, f := range all.filters {
		c.filterSettings(f)
	}
	for _, m := range all.managers {
		if usesFilter(m) {
			c.managerSettings(m)
			c.hosts(m, all.routes)
		}
	}
}

func (c *checker) dump(ctx context.Context) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	url := strings.TrimSuffix(c.options.Admin, "/") + "/config_dump"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s is %s", url, response.Status)
	}
	var dump any
	if err := json.NewDecoder(io.LimitReader(response.Body, maxDump)).Decode(&dump); err != nil {
		return nil, fmt.Errorf("%s is no config_dump: %w", url, err)
	}
	return dump, nil
}

// walk collects what is looked for from anywhere in a dump.
func (f *found) walk(value any) {
	switch v := value.(type) {
	case []any:
		for _, each := range v {
			f.walk(each)
		}
	case map[string]any:
		kind := text(v, "@type")
		if strings.HasSuffix(kind, wasmType) && strings.Contains(settings(v), `"schema"`) {
			f.filters = append(f.filters, v)
		}
		if strings.HasSuffix(kind, managerType) {
			f.managers = append(f.managers, v)
		}
		if _, ok := v["virtual_hosts"].([]any); ok {
			f.routes = append(f.routes, v)
		}
		if failure, ok := v["error_state"].(map[string]any); ok {
			f.refused = append(f.refused, fmt.Sprintf("%s: %s", text(v, "name"), text(failure, "details")))
		}
		for _, each := range v {
			f.walk(each)
		}
	}
}

// at returns the object at a path below v, or nil.
func at(v map[string]any, path ...string) map[string]any {
	for _, key := range path {
		v, _ = v[key].(map[string]any)
	}
	return v
}

func text(v map[string]any, key string) string {
	s, _ := v[key].(string)
	return s
}

// settings returns the filter's own configuration, whose text is in a StringValue.
func settings(filter map[string]any) string {
	return text(at(filter, "config", "configuration"), "value")
}

// filterSettings checks one filter's settings.
func (c *checker) filterSettings(f map[string]any) {
	config := at(f, "config")
	var own struct {
		Mode string `json:"mode"`
	}
	if err := json.Unmarshal([]byte(settings(f)), &own); err != nil {
		c.add(Fail, "the filter's configuration", "is no JSON: %v", err)
		return
	}
	const mode, held = "the mode", "headers are held"
	holds, _ := config["allow_on_headers_stop_iteration"].(bool)
	switch {
	case own.Mode == contract.ModeReduced:
		c.add(OK, mode, "reduced: docs/modes.md says what clients lose")
	case holds:
		c.add(OK, mode, "full")
		c.add(OK, held, "allow_on_headers_stop_iteration is in force")
	default:
		c.add(OK, mode, "full")
		c.add(Fail, held, "allow_on_headers_stop_iteration has been dropped on its way; use a newer mesh, or reduced mode")
	}
	if policy := text(config, "failure_policy"); policy == "FAIL_RELOAD" {
		c.add(OK, "a VM that dies is replaced", "%s", policy)
	} else {
		c.add(Warn, "a VM that dies is replaced", "failure_policy is %q: a worker whose VM dies refuses all until Envoy "+
			"is restarted", policy)
	}
	if open, _ := config["fail_open"].(bool); open || text(config, "failure_policy") == "FAIL_OPEN" {
		c.add(Fail, "no request passes a dead filter", "the filter fails open: Chat JSON would reach token endpoints")
	}
}

// usesFilter reports whether a connection manager has a Wasm filter.
func usesFilter(m map[string]any) bool { return len(filterNames(m)) > 0 }

// filterNames returns the names of the Wasm filters of a connection manager.
func filterNames(m map[string]any) (names []string) {
	filters, _ := m["http_filters"].([]any)
	for _, each := range filters {
		f, _ := each.(map[string]any)
		types, _ := at(f, "config_discovery")["type_urls"].([]any)
		types = append(types, at(f, "typed_config")["@type"])
		if slices.ContainsFunc(types, func(t any) bool {
			name, _ := t.(string)
			return strings.HasSuffix(name, wasmType)
		}) {
			names = append(names, text(f, "name"))
		}
	}
	return names
}

// managerSettings checks the settings of a connection manager on which the filter depends.
func (c *checker) managerSettings(m map[string]any) {
	const early = "internal headers are removed before routing"
	extensions, err := json.Marshal(m["early_header_mutation_extensions"])
	if err == nil && strings.Contains(string(extensions), contract.InternalHeaderPrefix) {
		c.add(OK, early, "by an early header mutation")
	} else {
		c.add(Warn, early, "no early header mutation removes %s: only the filter itself does", contract.InternalHeaderPrefix)
	}
	const ends = "requests end that nothing answers"
	if idle := text(m, "stream_idle_timeout"); idle == "0s" {
		c.add(Fail, ends, "stream_idle_timeout is 0s: a request that waits for a dead VM waits for ever")
	} else {
		c.add(OK, ends, "stream_idle_timeout is %s", orDefault(idle))
	}
	if merged, _ := m["merge_slashes"].(bool); !merged {
		c.add(Warn, "paths are read as servers read them", "merge_slashes is off")
	}
}

func orDefault(value string) string {
	if value == "" {
		return "Envoy's own, 300s"
	}
	return value
}

package envoygateway

import (
	"fmt"
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	"github.com/goccy/go-yaml"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy/mesh"
)

// match is what a rule matches.
type match struct {
	// path is a whole path, or a prefix of one.
	path   string
	prefix bool
	// headers are the wanted values, by name; an empty one is any. The method is the one called :method.
	headers map[string]string
}

// methodHeader is the method, as Envoy matches it.
const methodHeader = ":method"

func matchOf(m *routev3.RouteMatch) (match, error) {
	out := match{path: m.GetPath(), headers: map[string]string{}}
	if out.path == "" {
		out.path, out.prefix = m.GetPrefix(), true
	}
	if out.path == "" {
		return out, fmt.Errorf("has no path and no prefix: %v", m)
	}
	for _, h := range m.GetHeaders() {
		exact := h.GetStringMatch().GetExact()
		if h.GetInvertMatch() || exact == "" && !h.GetPresentMatch() {
			return out, fmt.Errorf("matches the header %s in a way that has no form here", h.GetName())
		}
		out.headers[strings.ToLower(h.GetName())] = exact
	}
	return out, nil
}

// and returns what both match, and whether there is anything.
func (m match) and(other match) (match, bool) {
	out := m
	switch {
	case m.prefix && strings.HasPrefix(other.path, m.path):
		out.path, out.prefix = other.path, other.prefix
	case m.path == other.path, other.prefix && strings.HasPrefix(m.path, other.path):
	default:
		return out, false
	}
	out.headers = map[string]string{}
	for name, value := range m.headers {
		out.headers[name] = value
	}
	for name, value := range other.headers {
		switch own, both := m.headers[name]; {
		case both && own != "" && value != "" && own != value:
			return out, false
		case !both || own == "":
			out.headers[name] = value
		}
	}
	return out, true
}

// same reports whether two matches match the same.
func (m match) same(other match) bool {
	if m.path != other.path || m.prefix != other.prefix || len(m.headers) != len(other.headers) {
		return false
	}
	for name, value := range m.headers {
		if own, ok := other.headers[name]; !ok || own != value {
			return false
		}
	}
	return true
}

// value returns the match in the Gateway API's form.
func (m match) value() object {
	kind := "Exact"
	if m.prefix {
		kind = "PathPrefix"
	}
	out := object{{Key: "path", Value: object{{Key: "type", Value: kind}, {Key: "value", Value: m.path}}}}
	var headers list
	for _, name := range sortedNames(m.headers) {
		h := object{{Key: "name", Value: name}, {Key: "value", Value: m.headers[name]}}
		if m.headers[name] == "" {
			h = object{{Key: "type", Value: "RegularExpression"}, {Key: "name", Value: name}, {Key: "value", Value: ".+"}}
		}
		headers = append(headers, h)
	}
	if headers != nil {
		out = append(out, yaml.MapItem{Key: "headers", Value: headers})
	}
	if method := m.headers[methodHeader]; method != "" {
		out = append(out, yaml.MapItem{Key: "method", Value: method})
	}
	return out
}

// sortedNames returns the names of headers but the method.
func sortedNames(headers map[string]string) []string {
	var names []string
	for name := range headers {
		if name != methodHeader {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// matches returns the matches of each route. In Envoy's table the first route wins, in the Gateway API the most
// specific one. So a route also has what it shares with each later one, which is at least as specific.
func (b *builder) matches() ([][]match, error) {
	var own []match
	for _, r := range b.parts.Host.GetRoutes() {
		m, err := matchOf(r.GetMatch())
		if err != nil {
			return nil, fmt.Errorf("route %q: %w", r.GetName(), err)
		}
		own = append(own, m)
	}
	all := make([][]match, len(own))
	for i, m := range own {
		all[i] = []match{m}
		for _, later := range own[i+1:] {
			both, any := m.and(later)
			if any && !slices.ContainsFunc(all[i], both.same) {
				all[i] = append(all[i], both)
			}
		}
	}
	return all, nil
}

// maxRules is how many rules an HTTPRoute may have.
const maxRules = 16

// routes adds an HTTPRoute for each pool, with its policy, and one for the rest.
func (b *builder) routes() {
	matches, err := b.matches()
	b.fail(err)
	if b.err != nil {
		return
	}
	var rest list
	for i, r := range b.parts.Host.GetRoutes() {
		if r.GetDirectResponse() == nil && b.isPool(r.GetRoute().GetCluster()) {
			name := mesh.Name(b.options.Name+"-model", strings.TrimPrefix(r.GetName(), "pool "))
			b.addRoute(name, list{b.rule(r, matches[i])})
			b.backendPolicy(name, r)
			continue
		}
		if isPreflight(r) {
			continue // the policy for CORS answers it
		}
		rest = append(rest, b.rule(r, matches[i]))
	}
	if len(rest) > maxRules {
		b.fail(fmt.Errorf("%d paths are too many for one HTTPRoute, which may have %d rules; name fewer passthrough_paths",
			len(rest), maxRules))
	}
	b.addRoute(b.options.Name, rest)
	for _, r := range b.parts.Host.GetRoutes() {
		if r.GetRoute().GetCluster() == xds.UnroutedCluster { // there is always one
			b.backendPolicy(b.options.Name, r)
			break
		}
	}
}

func isPreflight(r *routev3.Route) bool { return r.GetName() == "preflight" }

func (b *builder) addRoute(name string, rules list) {
	b.add(gatewayAPI, "HTTPRoute", name, object{
		{Key: "parentRefs", Value: list{object{{Key: "name", Value: b.options.Name}}}}, {Key: "rules", Value: rules}})
}

func (b *builder) rule(r *routev3.Route, matches []match) object {
	var values, filters list
	for _, m := range matches {
		values = append(values, m.value())
	}
	out := object{{Key: "matches", Value: values}}
	pool := mesh.InferencePool(b.config, r.GetRoute().GetCluster())
	remove := r.GetRequestHeadersToRemove()
	if pool != "" {
		remove = mesh.ReachesPicker(remove)
	}
	if len(remove) > 0 {
		filters = append(filters, object{{Key: "type", Value: "RequestHeaderModifier"},
			{Key: "requestHeaderModifier", Value: object{{Key: "remove", Value: remove}}}})
	}
	if reply := r.GetDirectResponse(); reply != nil {
		name := mesh.Name(b.options.Name, strings.ReplaceAll(r.GetName(), " ", "-"))
		b.add(envoyAPI, "HTTPRouteFilter", name, object{{Key: "directResponse", Value: object{
			{Key: "contentType", Value: r.GetResponseHeadersToAdd()[0].GetHeader().GetValue()},
			{Key: "statusCode", Value: reply.GetStatus()},
			{Key: "body", Value: object{{Key: "type", Value: "Inline"},
				{Key: "inline", Value: reply.GetBody().GetInlineString()}}},
		}}})
		filters = append(filters, object{{Key: "type", Value: "ExtensionRef"},
			{Key: "extensionRef", Value: reference(envoyGroup, "HTTPRouteFilter", name)}})
	}
	if filters != nil {
		out = append(out, yaml.MapItem{Key: "filters", Value: filters})
	}
	if cluster := r.GetRoute().GetCluster(); cluster != "" {
		var refs list
		if pool != "" {
			refs = list{reference(mesh.InferenceGroup, mesh.InferencePoolKind, pool)}
		} else {
			for _, name := range b.backendNames(cluster) {
				refs = append(refs, reference(envoyGroup, "Backend", name))
			}
		}
		out = append(out, yaml.MapItem{Key: "timeouts", Value: object{{Key: "request", Value: "0s"}}},
			yaml.MapItem{Key: "backendRefs", Value: refs})
	}
	return out
}

// corsPolicy adds the policy for browsers, if there is one.
func (b *builder) corsPolicy() {
	for _, packed := range b.parts.Host.GetTypedPerFilterConfig() {
		policy := &corsv3.CorsPolicy{}
		if !packed.MessageIs(policy) {
			continue
		}
		b.fail(packed.UnmarshalTo(policy))
		b.add(envoyAPI, "SecurityPolicy", b.options.Name, object{
			{Key: "targetRefs", Value: list{b.gatewayRef()}},
			{Key: "cors", Value: object{
				{Key: "allowOrigins", Value: b.config.Config.CORSOrigins},
				{Key: "allowMethods", Value: strings.Split(policy.GetAllowMethods(), ", ")},
				{Key: "allowHeaders", Value: strings.Split(policy.GetAllowHeaders(), ", ")},
				{Key: "exposeHeaders", Value: strings.Split(policy.GetExposeHeaders(), ", ")},
				{Key: "maxAge", Value: policy.GetMaxAge() + "s"},
			}},
		})
	}
}

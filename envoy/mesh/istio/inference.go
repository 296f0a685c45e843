package istio

import (
	"errors"
	"fmt"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Istio asks an InferencePool's endpoint picker only where an HTTPRoute leads to the InferencePool, and an HTTPRoute
// belongs to a Gateway of the Gateway API. So a configuration with such a pool has both, instead of Istio's own
// Gateway and VirtualService. The other routes are patches, because an HTTPRoute cannot answer by itself
// (RATIONALE.md#265).

const (
	gatewayAPI = "gateway.networking.k8s.io/v1"
	// gatewayClass is the class of Istio's gateways. Istio makes the pods of a Gateway, with gatewayLabel as the name.
	gatewayClass = "istio"
	gatewayLabel = "gateway.networking.k8s.io/gateway-name"
	// pickerFilter is Istio's filter that asks endpoint pickers. It must come after the one that writes the prompt's ids
	// and chooses the route.
	pickerFilter = "envoy.filters.http.ext_proc"
	anyHost      = "*"
)

type apiGatewaySpec struct {
	Class     string        `yaml:"gatewayClassName"`
	Listeners []apiListener `yaml:"listeners"`
}

type apiListener struct {
	Name     string          `yaml:"name"`
	Port     uint32          `yaml:"port"`
	Protocol string          `yaml:"protocol"`
	TLS      *apiListenerTLS `yaml:"tls,omitempty"`
}

type apiListenerTLS struct {
	Mode         string         `yaml:"mode"`
	Certificates []apiReference `yaml:"certificateRefs"`
}

type apiReference struct {
	Group string `yaml:"group,omitempty"`
	Kind  string `yaml:"kind,omitempty"`
	Name  string `yaml:"name"`
}

type apiRouteSpec struct {
	Parents   []apiReference `yaml:"parentRefs"`
	Hostnames []string       `yaml:"hostnames,omitempty"`
	Rules     []apiRule      `yaml:"rules"`
}

type apiRule struct {
	Matches  []apiMatch     `yaml:"matches"`
	Filters  []apiFilter    `yaml:"filters,omitempty"`
	Backends []apiReference `yaml:"backendRefs"`
}

type apiMatch struct {
	Path    apiValue   `yaml:"path"`
	Headers []apiValue `yaml:"headers,omitempty"`
	Method  string     `yaml:"method,omitempty"`
}

type apiValue struct {
	Type  string `yaml:"type,omitempty"`
	Name  string `yaml:"name,omitempty"`
	Value string `yaml:"value"`
}

type apiFilter struct {
	Type    string         `yaml:"type"`
	Headers *headerChanges `yaml:"requestHeaderModifier"`
}

// checkInference returns why a configuration with an InferencePool cannot be written, and completes the options for it.
func (o *Options) checkInference(c *config.Config) error {
	if !mesh.HasInferencePools(c) {
		return nil
	}
	switch {
	case c.Mode == contract.ModeReduced:
		return errors.New("an inference_pool is for mode full: the endpoint picker must get the prompt as token ids")
	case o.Bind != "" || o.TargetPort != 0:
		return errors.New("the pods of a Gateway with an inference_pool are Istio's own, and listen on its ports on all " +
			"addresses; leave the bind address and the target port out")
	}
	o.Selector = map[string]string{gatewayLabel: o.Name}
	return mesh.CheckNamespace(c, o.Namespace)
}

// inference reports whether a pool is an InferencePool.
func (b *builder) inference() bool { return mesh.HasInferencePools(b.config.Config) }

// pool returns the name of the InferencePool to which a route leads, or "".
func (b *builder) pool(r *routev3.Route) string {
	return mesh.InferencePool(b.config, r.GetRoute().GetCluster())
}

// apiGateway adds the gateway with its ports, in the Gateway API's form.
func (b *builder) apiGateway() {
	spec := apiGatewaySpec{Class: gatewayClass}
	for _, l := range b.listeners() {
		one := apiListener{Name: mesh.Name("http", l.name), Port: l.service, Protocol: "HTTP"}
		if l.secret != "" {
			one.Name, one.Protocol = mesh.Name("https", l.name), "HTTPS"
			one.TLS = &apiListenerTLS{Mode: "Terminate",
				Certificates: []apiReference{{Name: mesh.Name(b.options.Name, l.secret)}}}
		}
		spec.Listeners = append(spec.Listeners, one)
	}
	b.add(gatewayAPI, "Gateway", b.options.Name, spec)
}

// apiRoutes adds an HTTPRoute for each route to an InferencePool.
func (b *builder) apiRoutes() {
	for _, r := range b.parts.Host.GetRoutes() {
		pool := b.pool(r)
		if pool == "" {
			continue
		}
		match, err := matchOf(r.GetMatch())
		if err != nil || match.URI.Exact == "" {
			b.fail(fmt.Errorf("route %q has no form in an HTTPRoute: %w", r.GetName(), err))
			return
		}
		one := apiMatch{Path: apiValue{Type: "Exact", Value: match.URI.Exact}}
		for _, h := range r.GetMatch().GetHeaders() {
			if h.GetName() == ":method" {
				one.Method = h.GetStringMatch().GetExact()
				continue
			}
			one.Headers = append(one.Headers, apiValue{Name: h.GetName(), Value: h.GetStringMatch().GetExact()})
		}
		spec := apiRouteSpec{Parents: []apiReference{{Name: b.options.Name}}, Rules: []apiRule{{
			Matches: []apiMatch{one},
			Filters: []apiFilter{{Type: "RequestHeaderModifier",
				Headers: &headerChanges{Remove: mesh.ReachesPicker(r.GetRequestHeadersToRemove())}}},
			Backends: []apiReference{{mesh.InferenceGroup, mesh.InferencePoolKind, pool}},
		}}}
		if !slices.Contains(b.options.Hosts, anyHost) {
			spec.Hostnames = b.options.Hosts
		}
		b.add(gatewayAPI, "HTTPRoute", mesh.Name(b.options.Name, r.GetName()), spec)
	}
}

// patchOtherRoutes adds the routes that lead to no InferencePool behind those that do, in the order of the control
// plane's own table.
func (b *builder) patchOtherRoutes(spec *envoyFilterSpec, match func() *objectMatch) {
	for _, r := range b.parts.Host.GetRoutes() {
		if b.pool(r) != "" {
			continue
		}
		r = proto.CloneOf(r)
		if to := r.GetRoute(); to != nil {
			at, ok := b.destinationOf(to.GetCluster())
			if !ok {
				b.fail(fmt.Errorf("route %q leads to %q, which is no cluster", r.GetName(), to.GetCluster()))
				return
			}
			to.ClusterSpecifier = &routev3.RouteAction_Cluster{
				Cluster: fmt.Sprintf("outbound|%d||%s", at.destination.Port.Number, at.destination.Host)}
			if at.authority != "" {
				to.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: at.authority}
			}
		}
		b.patch(spec, "HTTP_ROUTE", match(), "ADD", r)
	}
}

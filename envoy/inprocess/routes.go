package inprocess

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

var errLimits = errors.New("limits need Envoy: leave limits out of the configuration, or use --host envoy")

// route is one entry of the route table.
type route struct {
	path, prefix string
	headers      []headerMatch
	to           wasmhost.Route
}

type headerMatch struct {
	name, value string
	// present matches if the header exists, with any value.
	present bool
}

func (r *route) matches(h *wasmhost.Headers) bool {
	path, _, _ := strings.Cut(h.Get(":path"), "?")
	if r.path != "" && path != r.path || !strings.HasPrefix(path, r.prefix) {
		return false
	}
	for _, m := range r.headers {
		value, ok := h.Lookup(m.name)
		if !ok || !m.present && value != m.value {
			return false
		}
	}
	return true
}

var errPicker = errors.New("pickers need Envoy: write another policy, or use --host envoy")

// readRoutes returns a function that chooses a route. It supports a table with one virtual host for all domains.
func readRoutes(c *routev3.RouteConfiguration) (func(*wasmhost.Headers) *wasmhost.Route, error) {
	hosts := c.GetVirtualHosts()
	if len(hosts) != 1 || len(hosts[0].GetDomains()) != 1 || hosts[0].GetDomains()[0] != "*" {
		return nil, fmt.Errorf("routes: one virtual host for every domain is expected")
	}
	host := hosts[0]
	if host.GetTypedPerFilterConfig()[xds.LimitsFilterName] != nil {
		return nil, errLimits
	}
	if _, picks := host.GetTypedPerFilterConfig()[xds.PickerFilterName]; picks {
		return nil, errPicker
	}
	if len(host.GetTypedPerFilterConfig()) > 0 {
		return nil, fmt.Errorf("CORS needs Envoy: leave cors_origins out, " +
			"or use --host envoy")
	}
	var table []*route
	for _, r := range host.GetRoutes() {
		entry, err := readRoute(r)
		if err != nil {
			return nil, fmt.Errorf("route %s: %w", r.GetName(), err)
		}
		entry.to.VirtualHost = host.GetName()
		entry.to.BodyLimit = int(host.GetRequestBodyBufferLimit().GetValue())
		if own := r.GetRequestBodyBufferLimit(); own != nil {
			entry.to.BodyLimit = int(own.GetValue())
		}
		table = append(table, entry)
	}
	return func(h *wasmhost.Headers) *wasmhost.Route {
		for _, r := range table {
			if r.matches(h) {
				return &r.to
			}
		}
		return nil
	}, nil
}

func readRoute(r *routev3.Route) (*route, error) {
	out := &route{path: r.GetMatch().GetPath(), prefix: r.GetMatch().GetPrefix(), to: wasmhost.Route{Name: r.GetName()}}
	if out.path == "" && out.prefix == "" {
		return nil, fmt.Errorf("only a path or a prefix is supported here")
	}
	for _, h := range r.GetMatch().GetHeaders() {
		m := headerMatch{name: h.GetName(), value: h.GetStringMatch().GetExact(), present: h.GetPresentMatch()}
		if m.value == "" && !m.present || h.GetInvertMatch() {
			return nil, fmt.Errorf("header %s: only a value or its presence is supported here", h.GetName())
		}
		out.headers = append(out.headers, m)
	}
	out.to.RemoveRequestHeaders = r.GetRequestHeadersToRemove()
	for _, h := range r.GetResponseHeadersToAdd() {
		out.to.SetResponseHeaders = append(out.to.SetResponseHeaders,
			wasmhost.Field{Name: h.GetHeader().GetKey(), Value: h.GetHeader().GetValue()})
	}
	perFilter := maps.Clone(r.GetTypedPerFilterConfig())
	delete(perFilter, xds.HealthFilter)
	if perFilter[xds.LimitsFilterName] != nil {
		return nil, errLimits
	}
	for _, h := range r.GetRoute().GetHashPolicy() {
		out.to.HashHeader = h.GetHeader().GetHeaderName()
		if h.GetFilterState().GetKey() == xds.AffinityState {
			out.to.HashHeader = contract.AffinityHeader // a filter of Envoy's own keeps it there
		}
	}
	if len(perFilter) > 0 || len(r.GetRoute().GetHashPolicy()) > 1 {
		return nil, fmt.Errorf("sessions by cookie need Envoy: write another policy, or use --host envoy")
	}
	switch action := r.GetAction().(type) {
	case *routev3.Route_Route:
		out.to.Cluster = action.Route.GetCluster()
		out.to.Timeout = routeTimeout(action.Route)
		for _, status := range action.Route.GetRetryPolicy().GetRetriableStatusCodes() {
			out.to.RetryStatuses = append(out.to.RetryStatuses, int(status))
		}
		if policy := action.Route.GetRetryPolicy(); slices.Contains(strings.Split(policy.GetRetryOn(), ","), "reset") {
			out.to.HoldState, out.to.TryIdleTimeout = contract.AttemptState, policy.GetPerTryIdleTimeout().AsDuration()
		}
		out.to.HostRewrite = action.Route.GetAutoHostRewrite().GetValue()
		out.to.ForwardHost = action.Route.GetAppendXForwardedHost()
		out.to.IdleTimeout = action.Route.GetIdleTimeout().AsDuration()
		for _, u := range action.Route.GetUpgradeConfigs() {
			if u.GetUpgradeType() != "websocket" {
				return nil, fmt.Errorf("only upgrades to websocket are supported here")
			}
			out.to.WebSocket = true
		}
	case *routev3.Route_DirectResponse:
		out.to.Direct = &wasmhost.DirectResponse{
			Status: int(action.DirectResponse.GetStatus()), Body: action.DirectResponse.GetBody().GetInlineString(),
		}
	default:
		return nil, fmt.Errorf("only a cluster or a direct response is supported here")
	}
	return out, nil
}

// defaultRouteTimeout is Envoy's timeout of a route that sets none.
const defaultRouteTimeout = 15 * time.Second

func routeTimeout(a *routev3.RouteAction) time.Duration {
	if a.GetTimeout() == nil {
		return defaultRouteTimeout
	}
	return a.GetTimeout().AsDuration()
}

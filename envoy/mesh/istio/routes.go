package istio

import (
	"fmt"
	"strconv"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/harmonyedge/harmonyedge/envoy/mesh"
)

// routes adds the virtual service. It has the routes of the control plane's own table, in their order.
func (b *builder) routes() {
	spec := virtualServiceSpec{ExportTo: ownNamespace(), Hosts: b.options.Hosts, Gateways: []string{b.options.Name}}
	for _, r := range b.parts.Host.GetRoutes() {
		route, err := b.route(r)
		if err != nil {
			b.fail(fmt.Errorf("route %q: %w", r.GetName(), err))
			return
		}
		spec.HTTP = append(spec.HTTP, route)
	}
	b.add(networking, "VirtualService", b.options.Name, spec)
}

// ownNamespace keeps objects from the mesh's other namespaces, where their hosts mean nothing.
func ownNamespace() []string { return []string{"."} }

func (b *builder) route(r *routev3.Route) (httpRoute, error) {
	match, err := matchOf(r.GetMatch())
	if err != nil {
		return httpRoute{}, err
	}
	out := httpRoute{Name: r.GetName(), Match: []httpMatch{match}}
	if remove := r.GetRequestHeadersToRemove(); len(remove) > 0 {
		out.Headers = &headerOperations{Request: &headerChanges{Remove: remove}}
	}
	if set := r.GetResponseHeadersToAdd(); len(set) > 0 {
		changes := &headerChanges{Set: map[string]string{}}
		for _, h := range set {
			changes.Set[h.GetHeader().GetKey()] = h.GetHeader().GetValue()
		}
		out.Headers = &headerOperations{Response: changes}
	}
	if reply := r.GetDirectResponse(); reply != nil {
		out.DirectResponse = &directResponse{Status: reply.GetStatus()}
		out.DirectResponse.Body.String = reply.GetBody().GetInlineString()
		return out, nil
	}
	to, ok := b.destinationOf(r.GetRoute().GetCluster())
	if !ok {
		return httpRoute{}, fmt.Errorf("leads to %q, which is no cluster", r.GetRoute().GetCluster())
	}
	out.Route = []routeDestination{{to.destination}}
	if to.authority != "" {
		out.Rewrite = &rewrite{Authority: to.authority}
	}
	policy := r.GetRoute().GetRetryPolicy()
	// Without a policy, Istio tries again what a server may have begun to work on.
	out.Retries = &retries{Attempts: policy.GetNumRetries().GetValue(), RetryOn: retryOn(policy)}
	return out, nil
}

// retryOn returns what is tried again in Istio's form, which has the statuses themselves in the list.
func retryOn(policy *routev3.RetryPolicy) string {
	out := strings.TrimSuffix(policy.GetRetryOn(), ",retriable-status-codes")
	for _, status := range policy.GetRetriableStatusCodes() {
		out += "," + strconv.Itoa(int(status))
	}
	return out
}

// matchOf returns a match in Istio's form. It returns an error for what the control plane's table has no route with.
func matchOf(m *routev3.RouteMatch) (httpMatch, error) {
	var out httpMatch
	switch {
	case m.GetPath() != "":
		out.URI.Exact = m.GetPath()
	case m.GetPrefix() != "":
		out.URI.Prefix = m.GetPrefix()
	default:
		return out, fmt.Errorf("has no path and no prefix: %v", m)
	}
	for _, h := range m.GetHeaders() {
		match := stringMatch{Exact: h.GetStringMatch().GetExact()}
		switch {
		case h.GetInvertMatch() || match.Exact == "" && !h.GetPresentMatch():
			return out, fmt.Errorf("matches the header %s in a way that has no form here", h.GetName())
		case h.GetName() == ":method":
			out.Method = &match
		default:
			if out.Headers == nil {
				out.Headers = map[string]stringMatch{}
			}
			out.Headers[strings.ToLower(h.GetName())] = match
		}
	}
	return out, nil
}

// host returns the name of a cluster's servers in the mesh.
func (b *builder) host(name string) string {
	return name + "." + b.options.Namespace + ".harmony.internal"
}

// objectName returns the name of a cluster's objects.
func (b *builder) objectName(cluster string) string {
	return mesh.Name(b.options.Name, strings.TrimPrefix(cluster, "harmony-"))
}

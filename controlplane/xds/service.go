package xds

import (
	"slices"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// webSocketIdle is how long nothing may move on a WebSocket connection. The product's own service asks its clients more
// often whether they are there.
const webSocketIdle = 10 * time.Minute

// withService returns the configuration that has the responses service: this one, or the one before if its service is
// leaving. It returns nil if there is no service.
func (b *builder) withService() *config.Resolved {
	for _, c := range []*config.Resolved{b.resolved, b.options.Leaving} {
		if c != nil && c.Config.ResponsesService.Address() != "" {
			return c
		}
	}
	return nil
}

// serviceRoutes returns the routes to the responses service, if there is one.
func (b *builder) serviceRoutes() []*routev3.Route {
	c := b.withService()
	if c == nil {
		return nil
	}
	var routes []*routev3.Route
	chosen := headerIs(contract.PoolHeader, config.ResponsesPool)
	if b.servesWebSocket() {
		routes = append(routes, b.webSocket("responses service websocket", ResponsesCluster, chosen))
	}
	match := prefix(contract.APIPrefix)
	match.Headers = []*routev3.HeaderMatcher{chosen}
	forward := b.forward("responses service", match, ResponsesCluster)
	if tools := &c.Config.ResponsesService.Tools; tools.Served() {
		// While its tools run, the service may have nothing to say.
		forward.GetRoute().IdleTimeout = durationpb.New(b.idleTimeout() + tools.TimeLimit())
	}
	routes = append(routes, forward)
	for _, r := range routes {
		// The service learns which client asks. Only the filter can set that.
		r.RequestHeadersToRemove = slices.DeleteFunc(contract.InternalHeaders(),
			func(name string) bool { return name == contract.ClientHeader })
		b.countLater(r)
	}
	return routes
}

func (b *builder) servesWebSocket() bool {
	c := b.withService()
	return c != nil && c.Config.ResponsesService.ServesWebSocket()
}

// webSocket returns a route for requests of the WebSocket mode that have a header.
func (b *builder) webSocket(name, cluster string, header *routev3.HeaderMatcher) *routev3.Route {
	match := exactPath(contract.ResponsesPath)
	match.Headers = []*routev3.HeaderMatcher{header,
		{Name: "upgrade", HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}}}
	r := b.forward(name, match, cluster)
	action := r.GetRoute()
	action.UpgradeConfigs = []*routev3.RouteAction_UpgradeConfig{{UpgradeType: "websocket"}}
	action.IdleTimeout = durationpb.New(webSocketIdle)
	// The service compares the client's own host with the origin that a browser sends.
	action.AppendXForwardedHost = true
	return r
}

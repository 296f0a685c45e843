package xds

import (
	"net/http"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	healthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/health_check/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// healthPath is the path of the gateway's own health check, for load balancers. It does not depend on the servers'
// health (RATIONALE.md#74).
const (
	healthPath = "/health"
	healthBody = `{"status":"ok"}`
)

// HealthFilter is the name of the filter that answers the gateway's health check with 503 after POST /healthcheck/fail.
const HealthFilter = "envoy.filters.http.health_check"

// answersHealth reports whether the gateway answers healthPath itself. It does not if the operator passes the path to
// another server.
func (b *builder) answersHealth() bool { return !b.config.PassesThrough(healthPath) }

// healthFilter returns the filter for the health check. It leaves requests to the route until POST /healthcheck/fail at
// the admin interface. Only the route turns it on, so the listener stays the same when an operator passes the path to
// another server.
func (b *builder) healthFilter() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{
		Name: HealthFilter, Disabled: true,
		ConfigType: &hcmv3.HttpFilter_TypedConfig{
			TypedConfig: b.any(&healthv3.HealthCheck{PassThroughMode: wrapperspb.Bool(true)})},
	}
}

func (b *builder) healthRoute() *routev3.Route {
	r := directResponse("health", exactPath(healthPath), http.StatusOK, healthBody)
	// An empty configuration turns the filter on.
	b.configure(r, HealthFilter, &routev3.FilterConfig{Config: &anypb.Any{}})
	return r
}

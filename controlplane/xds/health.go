package xds

import (
	"net/http"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	healthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/health_check/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// healthPath is where load balancers ask the gateway itself whether it serves. Its servers are another matter.
const (
	healthPath = "/health"
	healthBody = `{"status":"ok"}`
)

// HealthFilter is the name of the filter that answers 503 at the gateway's health once Envoy has been told to fail it.
const HealthFilter = "envoy.filters.http.health_check"

// answersHealth reports whether the gateway answers there: an operator may have given the path to another server.
func (b *builder) answersHealth() bool { return !b.config.PassesThrough(healthPath) }

// healthFilter leaves requests to the route but after POST /healthcheck/fail at the admin interface. It is off but for that
// route: a listener stays as it is when an operator gives the path to another server.
func (b *builder) healthFilter() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{
		Name: HealthFilter, Disabled: true,
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: b.any(&healthv3.HealthCheck{PassThroughMode: wrapperspb.Bool(true)})},
	}
}

func (b *builder) healthRoute() *routev3.Route {
	r := direct("health", exactPath(healthPath), http.StatusOK, healthBody)
	// A configuration that is there and empty turns a filter on.
	r.TypedPerFilterConfig = map[string]*anypb.Any{HealthFilter: b.any(&routev3.FilterConfig{Config: &anypb.Any{}})}
	return r
}

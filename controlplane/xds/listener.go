package xds

import (
	"time"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	sessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	maxWindow = 1<<31 - 1 // the largest window of HTTP/2
	// maxConcurrentStreams is how many streams a connection may have. Each of them may hold a body.
	maxConcurrentStreams = 100
	// connectionIdle is how long a connection without a request is kept. It counts against the limit of connections.
	connectionIdle = 5 * time.Minute
	// delayedClose is how long Envoy waits before it closes an HTTP/1.1 connection whose answer was cut. The client sees
	// the cut only then, and has this time to read a last error.
	delayedClose      = 100 * time.Millisecond
	headersTimeout    = time.Minute
	connectionManager = "envoy.filters.network.http_connection_manager"
	routerFilter      = "envoy.filters.http.router"
)

func (b *builder) listeners() []*listenerv3.Listener {
	var all []*listenerv3.Listener
	for _, l := range b.config.AllListeners() {
		all = append(all, b.listener(&l))
	}
	return all
}

func (b *builder) listener(l *config.Listener) *listenerv3.Listener {
	address, err := config.ParseListen(l.Address)
	b.fail(err)
	chain := &listenerv3.FilterChain{
		Filters: []*listenerv3.Filter{{
			Name:       connectionManager,
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: b.any(b.connectionManager(l.Name))},
		}},
	}
	if l.TLS != "" {
		chain.TransportSocket = b.serverTLS(l.TLS)
	}
	return &listenerv3.Listener{
		Name:                          l.Name,
		Address:                       socketAddress(address.Addr().String(), uint32(address.Port())),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(b.bufferLimit()),
		FilterChains:                  []*listenerv3.FilterChain{chain},
	}
}

func (b *builder) connectionManager(name string) *hcmv3.HttpConnectionManager {
	// For an HTTP/2 request whose first route does not forward, Envoy uses the window as the limit of what may be held.
	window := b.bufferLimit()
	return &hcmv3.HttpConnectionManager{
		StatPrefix:     name,
		CodecType:      hcmv3.HttpConnectionManager_AUTO,
		ServerName:     "harmony-edge",
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: b.routes()},
		HttpFilters:    b.httpFilters(),
		Http2ProtocolOptions: &corev3.Http2ProtocolOptions{
			MaxConcurrentStreams:        wrapperspb.UInt32(maxConcurrentStreams),
			InitialStreamWindowSize:     wrapperspb.UInt32(window),
			InitialConnectionWindowSize: wrapperspb.UInt32(uint32(min(2*int64(window), maxWindow))),
		},
		CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{
			IdleTimeout: durationpb.New(connectionIdle),
			// A server may read a_b as a-b, and so see a header that the gateway has not checked under that name.
			HeadersWithUnderscoresAction: corev3.HttpProtocolOptions_REJECT_REQUEST,
		},
		StreamIdleTimeout:     durationpb.New(b.idleTimeout()),
		RequestHeadersTimeout: durationpb.New(min(headersTimeout, time.Duration(b.config.RequestTimeout))),
		// This is the time until the whole request has arrived. Without it, a client that sends one byte a second could make
		// the gateway hold what has arrived.
		RequestTimeout:      durationpb.New(time.Duration(b.config.RequestTimeout)),
		DelayedCloseTimeout: durationpb.New(delayedClose),
		// With this, clients are external, and Envoy ignores their x-envoy-… headers (retries, timeouts).
		UseRemoteAddress: wrapperspb.Bool(true),
		NormalizePath:    wrapperspb.Bool(true),
		MergeSlashes:     true,
		// Routes must be chosen by the path that the server reads: a server reads /v1/..%2fmetrics as /metrics. Such paths
		// are not refused, because names of models have slashes that clients escape (/v1/models/openai%2Fgpt-oss-120b). See
		// RATIONALE.md#72.
		PathWithEscapedSlashesAction:  hcmv3.HttpConnectionManager_UNESCAPE_AND_FORWARD,
		EarlyHeaderMutationExtensions: []*corev3.TypedExtensionConfig{b.stripInternalHeaders()},
		LocalReplyConfig:              b.localReplies(),
		AccessLog:                     b.accessLog(),
		Tracing:                       b.tracing(),
		// The client, the gateway's log and the server see one id: the client's own if it sends one.
		PreserveExternalRequestId:    true,
		AlwaysSetRequestIdInResponse: true,
	}
}

// stripInternalHeaders removes internal headers that clients send, before the first route is chosen and the first
// filter runs. A route's request_headers_to_remove would come too late, after the route was chosen.
func (b *builder) stripInternalHeaders() *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{
		Name: "envoy.http.early_header_mutation.header_mutation",
		TypedConfig: b.any(&earlyv3.HeaderMutation{Mutations: []*mutationv3.HeaderMutation{{
			Action: &mutationv3.HeaderMutation_RemoveOnMatch_{RemoveOnMatch: &mutationv3.HeaderMutation_RemoveOnMatch{
				KeyMatcher: &matcherv3.StringMatcher{
					MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: contract.InternalHeaderPrefix},
					IgnoreCase:   true,
				},
			}},
		}}}),
	}
}

func (b *builder) httpFilters() []*hcmv3.HttpFilter {
	return []*hcmv3.HttpFilter{
		// It is the first one, because browsers could not read the errors of filters before it. Without a policy it does
		// nothing.
		{Name: corsFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: b.any(&corsv3.Cors{})}},
		b.healthFilter(),
		{Name: FilterName, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: b.any(b.wasm())}},
		b.limitsFilter(), // before a server is chosen
		b.affinityFilter(),
		// Only routes turn it on, so the listener stays the same when a pool begins to use sessions.
		{Name: sessionFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: b.any(&sessionv3.StatefulSession{})}},
		b.pickerFilter(),
		{Name: routerFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: b.any(b.router())}},
	}
}

func socketAddress(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

package xds

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	ratelimitconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/ratelimit/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	descriptorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	localv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	exprv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/rate_limit_descriptors/expr/v3"
	previousv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	// LimitsFilterName is the name of the filter that keeps limits, and of its configuration, which Envoy discovers.
	LimitsFilterName = "harmony-limits"
	// LimitsCluster has the rate limit service.
	LimitsCluster = "harmony-limits"
)

// limitsFilter returns the filter that keeps limits. Without limits on the routes it does nothing, so the listener
// stays the same when they are turned on.
func (b *builder) limitsFilter() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: LimitsFilterName,
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: b.any(b.limits())}}
}

func (b *builder) limits() proto.Message {
	l := &b.config.Limits
	if l.Kept() == config.LimitsLocal {
		return &localv3.LocalRateLimit{StatPrefix: "harmony"}
	}
	service := grpcService(UnroutedCluster, nil)
	if l.Kept() == config.LimitsService {
		service = grpcService(LimitsCluster, &b.resolved.Limits[0])
		service.RetryPolicy = b.askAgain()
	}
	return &ratelimitv3.RateLimit{
		Domain: contract.LimitsDomain, StatPrefix: "harmony",
		Timeout:         durationpb.New(cmp.Or(time.Duration(l.Timeout), config.DefaultLimitsTimeout)),
		FailureModeDeny: l.OnFailure == config.LimitsRefuse,
		StatusOnError:   &typev3.HttpStatus{Code: typev3.StatusCode_ServiceUnavailable},
		RateLimitService: &ratelimitconfigv3.RateLimitServiceConfig{
			GrpcService: service, TransportApiVersion: corev3.ApiVersion_V3,
		},
	}
}

// askAgain returns when Envoy asks another replica of the service, so that a replica which ends takes no reservation and
// no settlement with it. The service counts each once, however often it is asked. Envoy itself would wait for up to a
// second before it asks again.
func (b *builder) askAgain() *corev3.RetryPolicy {
	return &corev3.RetryPolicy{
		RetryOn: "connect-failure,refused-stream,reset,unavailable", NumRetries: wrapperspb.UInt32(3),
		RetryBackOff: &corev3.BackoffStrategy{BaseInterval: durationpb.New(10 * time.Millisecond),
			MaxInterval: durationpb.New(100 * time.Millisecond)},
		RetryHostPredicate: []*corev3.RetryPolicy_RetryHostPredicate{{
			Name: "envoy.retry_host_predicates.previous_hosts",
			ConfigType: &corev3.RetryPolicy_RetryHostPredicate_TypedConfig{
				TypedConfig: b.any(&previousv3.PreviousHostsPredicate{})},
		}},
		HostSelectionRetryMaxAttempts: 3,
	}
}

// limitsCluster returns the cluster of the rate limit service.
func (b *builder) limitsCluster() *clusterv3.Cluster {
	var replicas group
	for _, e := range b.resolved.Limits {
		replicas.servers = append(replicas.servers, Server{Endpoint: e})
	}
	c := b.cluster(LimitsCluster, []group{replicas}, speech{http2: true})
	c.HealthChecks = []*corev3.HealthCheck{{
		Timeout: durationpb.New(pickerCheck), Interval: durationpb.New(pickerCheck),
		NoTrafficInterval: durationpb.New(pickerCheck),
		HealthyThreshold:  wrapperspb.UInt32(1), UnhealthyThreshold: wrapperspb.UInt32(1),
		HealthChecker: &corev3.HealthCheck_TcpHealthCheck_{TcpHealthCheck: &corev3.HealthCheck_TcpHealthCheck{}},
	}}
	return c
}

// keepLimits makes the requests of a route to a model's servers reserve tokens, and settle what they have used.
func (b *builder) keepLimits(r *routev3.Route) {
	if b.config.Limits.Kept() != config.LimitsService {
		return
	}
	b.configure(r, LimitsFilterName, &ratelimitv3.RateLimitPerRoute{RateLimits: []*routev3.RateLimit{
		{
			Actions: []*routev3.RateLimit_Action{
				fromHeader(contract.LimitsClient, contract.ClientHeader),
				fromHeader(contract.LimitsModel, contract.ModelHeader),
				fromHeader(contract.LimitsReservation, contract.ReservationHeader),
			},
			HitsAddend: &routev3.RateLimit_HitsAddend{Format: "%REQ(" + contract.ReserveHeader + ")%"},
		},
		{
			// The router has removed the headers by then.
			Actions: []*routev3.RateLimit_Action{
				b.fromState(contract.LimitsClient, contract.LogClient),
				b.fromState(contract.LimitsModel, contract.LogModel),
				b.fromState(contract.LimitsSettlement, contract.ReservationState),
			},
			HitsAddend:        &routev3.RateLimit_HitsAddend{Format: harmonyState(contract.UsedTokensState)},
			ApplyOnStreamDone: true,
		},
	}})
}

// fromHeader returns an entry of a descriptor with a header's value. Without the header there is no descriptor.
func fromHeader(key, header string) *routev3.RateLimit_Action {
	return &routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_RequestHeaders_{
		RequestHeaders: &routev3.RateLimit_Action_RequestHeaders{HeaderName: header, DescriptorKey: key},
	}}
}

// fromState returns an entry with a value that the filter has set as a property of the stream.
func (b *builder) fromState(key, field string) *routev3.RateLimit_Action {
	return &routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_Extension{
		Extension: &corev3.TypedExtensionConfig{Name: "envoy.rate_limit_descriptors.expr", TypedConfig: b.any(
			&exprv3.Descriptor{DescriptorKey: key, ExprSpecifier: &exprv3.Descriptor_Text{
				Text: "filter_state['wasm." + contract.LogStatePrefix + field + "']"}})},
	}}
}

// localWindows are the limits that an Envoy keeps by itself.
var localWindows = []struct {
	name   string
	window time.Duration
	tokens bool
	of     func(*clients.Limits) int
}{
	{"requests_per_minute", time.Minute, false, func(l *clients.Limits) int { return l.RequestsPerMinute }},
	{"requests_per_day", 24 * time.Hour, false, func(l *clients.Limits) int { return l.RequestsPerDay }},
	{"tokens_per_minute", time.Minute, true, func(l *clients.Limits) int { return l.TokensPerMinute }},
	{"tokens_per_day", 24 * time.Hour, true, func(l *clients.Limits) int { return l.TokensPerDay }},
}

// limitKey is the entry of a descriptor with the name of its limit.
const limitKey = "limit"

// localLimits returns the limits that each Envoy keeps by itself, for the whole virtual host: routes of their own would
// have counts of their own. It returns nil if Envoys keep none.
func (b *builder) localLimits() *localv3.LocalRateLimit {
	if b.config.Limits.Kept() != config.LimitsLocal {
		return nil
	}
	all := &localv3.LocalRateLimit{
		// A bucket for everybody must be there. It has enough for everybody.
		TokenBucket: bucket(math.MaxUint32, time.Second),
		StatPrefix:  "harmony", FilterEnabled: always(), FilterEnforced: always(),
		Status:                  &typev3.HttpStatus{Code: typev3.StatusCode(http.StatusTooManyRequests)},
		EnableXRatelimitHeaders: descriptorv3.XRateLimitHeadersRFCVersion_DRAFT_VERSION_03,
		EnableRetryAfterHeader:  true,
	}
	for _, w := range localWindows {
		for _, ofModel := range []bool{false, true} {
			limit := &routev3.RateLimit{Actions: []*routev3.RateLimit_Action{
				fromHeader(contract.LimitsClient, contract.ClientHeader), fixed(limitKey, w.name)}}
			if ofModel {
				limit.Actions = append(limit.Actions, fromHeader(contract.LimitsModel, contract.ModelHeader))
			}
			if w.tokens {
				limit.HitsAddend = &routev3.RateLimit_HitsAddend{Format: "%REQ(" + contract.ReserveHeader + ")%"}
			}
			all.RateLimits = append(all.RateLimits, limit)
		}
	}
	f := b.options.Clients
	if f == nil {
		f = &clients.File{}
	}
	if b.config.Clients.Header != "" && f.Defaults.Counted() {
		b.fail(&config.Error{Field: "limits.mode",
			Reason: "local cannot keep the keys file's defaults for clients that only clients.header names; list them, " +
				"leave the defaults out, or run harmony limits"})
	}
	for i := range f.Clients {
		c := &f.Clients[i]
		of := &f.Defaults
		if c.Limits != nil {
			of = c.Limits
		}
		b.addLocal(all, c.Name, "", of)
		for j := range c.Models {
			b.addLocal(all, c.Name, c.Models[j].Name, &c.Models[j].Limits)
		}
	}
	return all
}

// countLater keeps the requests of a route out of the limits that each Envoy keeps by itself: they come back as requests
// to a model, and would count twice.
func (b *builder) countLater(r *routev3.Route) {
	if b.config.Limits.Kept() != config.LimitsLocal {
		return
	}
	// It is not enabled. Envoy requires a bucket of a route all the same.
	b.configure(r, LimitsFilterName, &localv3.LocalRateLimit{StatPrefix: "harmony",
		TokenBucket: bucket(math.MaxUint32, time.Second)})
}

func (b *builder) addLocal(to *localv3.LocalRateLimit, client, model string, l *clients.Limits) {
	if l.Concurrency > 0 {
		b.fail(&config.Error{Field: "limits.mode", Reason: "local cannot keep the concurrency of the client " + client +
			"; leave it out, or run harmony limits"})
	}
	for _, w := range localWindows {
		n := w.of(l)
		if n == 0 {
			continue
		}
		if n > math.MaxUint32 {
			b.fail(&config.Error{Field: "limits.mode",
				Reason: fmt.Sprintf("local cannot count to %d, which is %s of the client %s", n, w.name, client)})
		}
		entries := []*descriptorv3.RateLimitDescriptor_Entry{
			{Key: contract.LimitsClient, Value: client}, {Key: limitKey, Value: w.name}}
		if model != "" {
			entries = append(entries, &descriptorv3.RateLimitDescriptor_Entry{Key: contract.LimitsModel, Value: model})
		}
		to.Descriptors = append(to.Descriptors, &descriptorv3.LocalRateLimitDescriptor{
			Entries: entries, TokenBucket: bucket(uint32(n), w.window),
		})
	}
}

// bucket returns a bucket that fills up in a time.
func bucket(n uint32, window time.Duration) *typev3.TokenBucket {
	return &typev3.TokenBucket{MaxTokens: n, TokensPerFill: wrapperspb.UInt32(n), FillInterval: durationpb.New(window)}
}

func fixed(key, value string) *routev3.RateLimit_Action {
	return &routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_GenericKey_{
		GenericKey: &routev3.RateLimit_Action_GenericKey{DescriptorKey: key, DescriptorValue: value},
	}}
}

func always() *corev3.RuntimeFractionalPercent {
	return &corev3.RuntimeFractionalPercent{
		DefaultValue: &typev3.FractionalPercent{Numerator: 100, Denominator: typev3.FractionalPercent_HUNDRED}}
}

// clients returns what adds the clients of the keys file to the filter's configuration, or nil if there is no such file.
func (b *builder) clients() func(*contract.Clients) {
	if b.config.Clients.KeysFile == "" {
		return nil
	}
	if b.options.Clients == nil {
		b.fail(errors.New("clients.keys_file has not been read"))
		return nil
	}
	return func(to *contract.Clients) {
		b.options.Clients.Fill(to)
		if b.options.Deputy != (clients.Hash{}) && b.config.Clients.ByKey() {
			clients.AddDeputy(to, b.options.Deputy)
		}
	}
}

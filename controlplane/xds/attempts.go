package xds

import (
	"slices"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	headersv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// AttemptsFilterName is the name of the filter that runs at every attempt at a server, and of its configuration, which
// Envoy discovers (RATIONALE.md#210).
const AttemptsFilterName = "harmony-attempts"

// holdsAnswers reports whether answers of a pool's servers are held until their first token.
func (b *builder) holdsAnswers(p *config.ResolvedPool) bool { return b.resolved.HoldsAnswers(p) }

// attemptsFilter returns the module as the filter of attempts, in the VM of the filter in front. Where no pool holds
// answers it is a filter that does nothing, because a listener that lost a filter would close its connections.
func (b *builder) attemptsFilter() *hcmv3.HttpFilter {
	f := &hcmv3.HttpFilter_TypedConfig{TypedConfig: b.any(&headersv3.HeaderMutation{})}
	if slices.ContainsFunc(b.usedPools(), b.holdsAnswers) {
		w := b.wasm()
		w.Config.RootId, w.Config.Configuration = contract.AttemptsRoot, nil
		w.Config.AllowOnHeadersStopIteration = wrapperspb.Bool(true)
		f.TypedConfig = b.any(w)
	}
	return &hcmv3.HttpFilter{Name: AttemptsFilterName, ConfigType: f}
}

// router returns the router. Its own filters are for clusters that have none: a filter among a cluster's would have a
// copy of the module for each cluster.
func (b *builder) router() *routerv3.Router {
	// It sends no x-envoy-… headers, because servers and clients do not use them.
	r := &routerv3.Router{SuppressEnvoyHeaders: true}
	if b.config.Mode == contract.ModeFull {
		r.UpstreamHttpFilters = []*hcmv3.HttpFilter{b.attemptsFilter(), b.codec()}
	}
	return r
}

// retryHeld makes a policy ask another server if an answer breaks off, or the server is silent, while the answer is
// held. The attempts' filter bounds how often ([contract.MaxLost]). A chat server may send a whole answer at its end,
// so its silence says nothing.
func (b *builder) retryHeld(policy *routev3.RetryPolicy, p *config.ResolvedPool) {
	policy.RetryOn += ",reset"
	kind := p.ServerKind()
	if b.config.StallTimeout > 0 && (!kind.Conversations || kind.Renders) {
		policy.PerTryIdleTimeout = durationpb.New(time.Duration(b.config.StallTimeout) +
			contract.AttemptSlackMS*time.Millisecond)
	}
}

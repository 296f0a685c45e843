package xds

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	matchv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/matcher/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	previousv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	prioritiesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/priority/previous_priorities/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// retryPolicy returns a policy that retries, on another server, only what no server has begun to work on. Other retries
// would pay for a prompt twice, and would take a prompt that kills its server to the next one (RATIONALE.md#61).
func (b *builder) retryPolicy() *routev3.RetryPolicy {
	return &routev3.RetryPolicy{
		RetryOn:    "connect-failure,refused-stream",
		NumRetries: wrapperspb.UInt32(3),
		RetryHostPredicate: []*routev3.RetryPolicy_RetryHostPredicate{{
			Name: "envoy.retry_host_predicates.previous_hosts",
			ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{
				TypedConfig: b.any(&previousv3.PreviousHostsPredicate{})},
		}},
		HostSelectionRetryMaxAttempts: 5,
	}
}

// poolRetryPolicy returns a policy that tries the spares, in their order, while Envoy has not noticed yet that the
// pool's servers are gone.
// statuses are the statuses of answers after which another server is asked. holds reports whether an answer is held
// until its first token.
func (b *builder) poolRetryPolicy(p *config.ResolvedPool, statuses []int, holds bool) *routev3.RetryPolicy {
	policy := b.retryPolicy()
	if len(statuses) > 0 {
		policy.RetryOn += ",retriable-status-codes"
	}
	if holds {
		b.retryHeld(policy, p)
	}
	for _, status := range statuses {
		policy.RetriableStatusCodes = append(policy.RetriableStatusCodes, uint32(status))
	}
	policy.NumRetries = wrapperspb.UInt32(uint32(tries(p)*(1+len(p.Spares)) - 1))
	if len(p.Spares) == 0 {
		return policy
	}
	policy.RetryPriority = &routev3.RetryPolicy_RetryPriority{
		Name: "envoy.retry_priorities.previous_priorities",
		ConfigType: &routev3.RetryPolicy_RetryPriority_TypedConfig{
			TypedConfig: b.any(&prioritiesv3.PreviousPrioritiesConfig{UpdateFrequency: int32(tries(p))}),
		},
	}
	return policy
}

// askedElsewhere returns the statuses after which a request to a path is asked at another server of the pool: a server
// that answers so has not begun to work. A client's own key may be refused by every server, and an untranslated request
// may ask for what no server has, so these statuses are then the client's.
func (b *builder) askedElsewhere(m *config.Model, path, chosen string) []int {
	p := b.pool(m)
	if !p.HasOthers() {
		return nil
	}
	translated := chosen == m.Route() && path == serverPaths(p)[0]
	var statuses []int
	if translated && !m.ForwardAuthorization {
		statuses = append(statuses, http.StatusUnauthorized, http.StatusForbidden)
	}
	if translated {
		statuses = append(statuses, http.StatusNotFound)
	}
	if p.RetryBusy && !m.ForwardAuthorization { // else it may be the client's own limit
		statuses = append(statuses, http.StatusTooManyRequests)
	}
	return append(statuses, http.StatusServiceUnavailable)
}

// tries returns how many attempts are made at servers of one priority before servers of the next are tried.
func tries(p *config.ResolvedPool) int { return cmp.Or(p.Tries, config.DefaultTries) }

// ejectedFor returns the statuses of answers that count against a pool's server. Those that a client can provoke are
// not among them, because a client could then put servers out.
func ejectedFor(p *config.ResolvedPool) []int {
	statuses := []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	raw := slices.ContainsFunc(p.Models, func(m *config.Model) bool { return m.TranslatedShare() < 100 })
	if !raw && !slices.ContainsFunc(p.Models, func(m *config.Model) bool { return m.ForwardAuthorization }) {
		statuses = append(statuses, http.StatusUnauthorized, http.StatusForbidden)
	}
	if !raw && !p.ServerKind().Conversations { // they may lack the path of counts, and nothing else
		statuses = append(statuses, http.StatusNotFound)
	}
	return statuses
}

// faulty returns what tells Envoy which answers count against a server.
func faulty(statuses []int) *upstreamhttpv3.HttpProtocolOptions_OutlierDetection {
	if len(statuses) == 0 {
		return nil
	}
	texts := make([]string, len(statuses))
	for i, status := range statuses {
		texts[i] = strconv.Itoa(status)
	}
	return &upstreamhttpv3.HttpProtocolOptions_OutlierDetection{ErrorMatcher: &matchv3.MatchPredicate{
		Rule: &matchv3.MatchPredicate_HttpResponseHeadersMatch{HttpResponseHeadersMatch: &matchv3.HttpHeadersMatch{
			Headers: []*routev3.HeaderMatcher{{Name: ":status", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
				StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{
					SafeRegex: &matcherv3.RegexMatcher{Regex: strings.Join(texts, "|")}}}}}}}}}}
}

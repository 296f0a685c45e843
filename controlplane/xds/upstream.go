package xds

import (
	"slices"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	headersv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	codecv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// mutationFilter is the filter that changes headers.
const mutationFilter = "envoy.filters.http.header_mutation"

// chosenBy returns the internal headers by which a server of the pool is chosen.
func (b *builder) chosenBy(p *config.ResolvedPool) []string {
	if p.Policy == config.PolicyPicker || b.isPinned(p) {
		return []string{contract.DestinationHeader}
	}
	return nil
}

// removedByRoutes returns the internal headers that the routes to a pool remove. Envoy does that before it chooses a
// server, so the headers by which it chooses stay.
func (b *builder) removedByRoutes(p *config.ResolvedPool) []string {
	kept := b.chosenBy(p)
	return slices.DeleteFunc(contract.InternalHeaders(), func(name string) bool { return slices.Contains(kept, name) })
}

// upstreamFilters returns a cluster's own filters, which end with the codec. They run after a server is chosen, at
// every attempt, whatever route or call has led to the cluster. They remove the headers by which the server was chosen:
// a retry has them no longer. A cluster without filters of its own has the router's.
func (b *builder) upstreamFilters(p *config.ResolvedPool) []*hcmv3.HttpFilter {
	filters := b.injectCredential(p)
	if names := b.chosenBy(p); len(names) > 0 {
		filters = append(filters, b.removal(names))
	}
	if len(filters) == 0 {
		return nil // those of the router run
	}
	if b.holdsAnswers(p) {
		filters = append(filters, b.attemptsFilter())
	}
	return append(filters, b.codec())
}

// codec returns the filter that ends the filters of an attempt.
func (b *builder) codec() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: "envoy.filters.http.upstream_codec",
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: b.any(&codecv3.UpstreamCodec{})}}
}

// removal returns a filter that removes headers from requests.
func (b *builder) removal(names []string) *hcmv3.HttpFilter {
	mutations := &headersv3.Mutations{}
	for _, name := range names {
		mutations.RequestMutations = append(mutations.RequestMutations,
			&mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: name}})
	}
	return &hcmv3.HttpFilter{Name: mutationFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{
		TypedConfig: b.any(&headersv3.HeaderMutation{Mutations: mutations})}}
}

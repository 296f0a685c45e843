package xds

import (
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	statev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/set_filter_state/v3"
	headersv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	statefilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_filter_state/v3"
	sessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	cookiev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/type/http/v3"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const sessionFilter = "envoy.filters.http.stateful_session"

// keepSession makes the requests of a session stay with one server, if the pool's policy is session, and those that the
// filter finds alike, if it is prefix. When that server is gone, the session moves to another: the cookie is set again,
// or the hash leads to another server (RATIONALE.md#60).
func (b *builder) keepSession(r *routev3.Route, p *config.ResolvedPool) {
	switch {
	case hashesAffinity(p):
		r.GetRoute().HashPolicy = []*routev3.RouteAction_HashPolicy{{
			PolicySpecifier: &routev3.RouteAction_HashPolicy_FilterState_{
				FilterState: &routev3.RouteAction_HashPolicy_FilterState{Key: AffinityState},
			},
		}}
		return
	case p.Policy != config.PolicySession:
		return
	case p.Session.Header != "":
		r.GetRoute().HashPolicy = []*routev3.RouteAction_HashPolicy{{
			PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{
				Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: p.Session.Header},
			},
		}}
		return
	}
	b.configure(r, sessionFilter, &sessionv3.StatefulSessionPerRoute{
		Override: &sessionv3.StatefulSessionPerRoute_StatefulSession{StatefulSession: &sessionv3.StatefulSession{
			SessionState: &corev3.TypedExtensionConfig{
				Name: "envoy.http.stateful_session.cookie",
				TypedConfig: b.any(&cookiev3.CookieBasedSessionState{
					// Envoy itself adds HttpOnly.
					Cookie: &httpv3.Cookie{Name: p.Session.Cookie, Path: "/",
						Attributes: []*httpv3.CookieAttribute{{Name: "SameSite", Value: "Lax"}}},
				}),
			},
		}},
	})
}

// AffinityState is the name of the state in which Envoy keeps what [contract.AffinityHeader] said.
const AffinityState = "harmony.affinity"

// AffinityFilter is the name of the filter that keeps it, and of its configuration, which Envoy discovers.
const AffinityFilter = "harmony-affinity"

// affinityFilter returns a filter that keeps the affinity of a request for the choice of its server. The header
// itself cannot be there then: servers must not get it, and what removes it, the route or a filter of the cluster,
// does so before the choice, or before a retry's choice. Without the header the filter does nothing. Where no pool
// needs it, it is one that never does anything: Envoy 1.37 has no envoy.hashable_string.
func (b *builder) affinityFilter() *hcmv3.HttpFilter {
	f := &hcmv3.HttpFilter_TypedConfig{TypedConfig: b.any(&headersv3.HeaderMutation{})}
	if slices.ContainsFunc(b.usedPools(), hashesAffinity) {
		f.TypedConfig = b.any(&statefilterv3.Config{OnRequestHeaders: []*statev3.FilterStateValue{{
			Key:        &statev3.FilterStateValue_ObjectKey{ObjectKey: AffinityState},
			FactoryKey: "envoy.hashable_string",
			Value: &statev3.FilterStateValue_FormatString{FormatString: &corev3.SubstitutionFormatString{
				Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
					Specifier: &corev3.DataSource_InlineString{InlineString: "%REQ(" + contract.AffinityHeader + ")%"}}},
				OmitEmptyValues: true,
			}},
			SkipIfEmpty: true,
		}}})
	}
	return &hcmv3.HttpFilter{Name: AffinityFilter, ConfigType: f}
}

// hashesAffinity reports whether the affinity of a request chooses the pool's server.
func hashesAffinity(p *config.ResolvedPool) bool {
	return p.Policy == config.PolicyPrefix || p.Policy == config.PolicyPicker && p.Picker.Fallback == config.PolicyPrefix
}

package xds

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	sessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	cookiev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/type/http/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const sessionFilter = "envoy.filters.http.stateful_session"

// keepSession makes the requests of a session stay with one server, if the pool's policy is session, and those that the
// filter finds alike, if it is prefix. When that server is gone, the session moves to another: the cookie is set again,
// or the hash leads to another server (RATIONALE.md#60).
func (b *builder) keepSession(r *routev3.Route, p *config.ResolvedPool) {
	switch {
	case p.Policy == config.PolicyPrefix, p.Policy == config.PolicyPicker && p.Picker.Fallback == config.PolicyPrefix:
		r.GetRoute().HashPolicy = hashOf(contract.AffinityHeader)
		return
	case p.Policy != config.PolicySession:
		return
	case p.Session.Header != "":
		r.GetRoute().HashPolicy = hashOf(p.Session.Header)
		return
	}
	r.TypedPerFilterConfig = map[string]*anypb.Any{
		sessionFilter: b.any(&sessionv3.StatefulSessionPerRoute{
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
		}),
	}
}

// hashOf returns a policy that chooses a server by the hash of a header.
func hashOf(header string) []*routev3.RouteAction_HashPolicy {
	return []*routev3.RouteAction_HashPolicy{{
		PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{
			Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: header},
		},
	}}
}

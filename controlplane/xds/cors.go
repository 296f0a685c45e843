package xds

import (
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	corsFilter = "envoy.filters.http.cors"
	// The * does not cover authorization. OpenAI's client for browsers sends a dozen headers of its own.
	corsHeaders = "authorization, *"
	corsMethods = "GET, POST, DELETE, OPTIONS"
	corsMaxAge  = "600"
)

// cors returns the CORS policy for browsers, or nil if the configuration has no origins. It is part of the route table,
// so a change needs no new listener.
func (b *builder) cors() map[string]*anypb.Any {
	if len(b.config.CORSOrigins) == 0 {
		return nil
	}
	policy := &corsv3.CorsPolicy{
		AllowMethods: corsMethods, AllowHeaders: corsHeaders, ExposeHeaders: "*", MaxAge: corsMaxAge,
		// The server of untranslated requests does not decide which sites may call this gateway.
		ForwardNotMatchingPreflights: wrapperspb.Bool(false),
	}
	for _, origin := range b.config.CORSOrigins {
		m := &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: origin}}
		if origin == "*" {
			m.MatchPattern = &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: ".*"}}
		}
		policy.AllowOriginStringMatch = append(policy.AllowOriginStringMatch, m)
	}
	return map[string]*anypb.Any{corsFilter: b.any(policy)}
}

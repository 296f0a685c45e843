package xds

import (
	"net/http"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const notFoundText = "Nothing is served at this URL with this method. The API is POST " + contract.ChatPath + ", POST " +
	contract.ResponsesPath + ", POST " + contract.MessagesPath + " and GET " + contract.ModelsPath + ". GET " + healthPath +
	" is the gateway's own health."

const notFoundBody = `{"error":{"message":"` + notFoundText + `","type":"` + contract.InvalidRequestError +
	`","param":null,"code":"` + contract.CodeUnknownURL + `"}}`

// routes returns the route table. The order of the routes matters:
//
//   - First come the pools. Their routes match the paths of their servers' kind, and the internal header that only the
//     filter can set, so pools are out of reach without the filter (RATIONALE.md#77). The responses service is one more
//     pool, whose requests keep their paths. A model of which not all requests are translated has a second value of the
//     header, and with it routes for the API of its own servers.
//   - Then come the API's own paths. The filter makes Envoy choose the route again after it has rewritten a request, so
//     only requests that the filter has not claimed stay here. These routes forward too, because the body limit of a
//     route applies to a held request only if the first matching route forwards.
//   - Then come the paths that are passed through, the gateway's own health, and 404.
func (b *builder) routes() *routev3.RouteConfiguration {
	var routes []*routev3.Route
	if len(b.config.CORSOrigins) > 0 {
		// The CORS filter answers preflights only on routes that forward, and requires a match on the method.
		preflight := prefix("/")
		preflight.Headers = []*routev3.HeaderMatcher{headerIs(":method", http.MethodOptions)}
		routes = append(routes, b.forward("preflight", preflight, UnroutedCluster))
	}
	for i := range b.config.Models {
		m := &b.config.Models[i]
		for _, one := range m.Places() {
			for j, path := range serverPaths(b.pool(one)) {
				name := "pool " + one.Route()
				if j > 0 {
					name += " " + path
				}
				routes = append(routes, b.poolRoute(name, one, path, one.Route()))
			}
		}
		for _, path := range untranslatedPaths(m, b.pool(m)) {
			r := b.poolRoute("untranslated "+m.Name+" "+path, m, path, contract.UntranslatedRoute(m.Route()))
			routes = append(routes, r)
		}
	}
	routes = append(routes, b.serviceRoutes()...)
	// A request that the filter has claimed goes to a pool or gets a 503: while a model is being removed, the filter may
	// still claim its requests.
	routes = append(routes, b.forward("claimed", claimed(prefix(contract.APIPrefix)), UnroutedCluster))
	for _, path := range pathsBesideAPI(b.resolved.Pools) {
		routes = append(routes, b.forward("claimed "+path, claimed(exactPath(path)), UnroutedCluster))
	}
	if b.servesWebSocket() {
		// Envoy allows an upgrade only if the first route does, before the filter has chosen another.
		routes = append(routes, b.webSocket("websocket "+contract.ResponsesPath, UnroutedCluster,
			headerIs(":method", http.MethodGet)))
	}
	post := headerIs(":method", http.MethodPost)
	api := []string{contract.ChatPath, contract.ResponsesPath, contract.MessagesPath, contract.InputTokensPath,
		contract.CountTokensPath, contract.TokenizePath, contract.DetokenizePath}
	if b.config.Passthrough == "" {
		// The filter also reads bodies on this path, to find raw prompts for configured models.
		api = append(api, contract.CompletionsPath)
	}
	for _, path := range api {
		match, target := exactPath(path), UnroutedCluster
		match.Headers = []*routev3.HeaderMatcher{post}
		if b.config.PassesThrough(path) || b.config.Passthrough != "" &&
			(path == contract.ChatPath || path == contract.ResponsesPath || path == contract.MessagesPath) {
			target = PassthroughCluster
		}
		routes = append(routes, b.forward("api "+path, match, target))
	}
	if b.config.Passthrough != "" {
		for _, path := range b.config.PassthroughPaths {
			match := exactPath(path)
			if strings.HasSuffix(path, "/") {
				match = prefix(path)
			}
			routes = append(routes, b.forward("passthrough "+path, match, PassthroughCluster))
		}
	}
	if b.answersHealth() {
		routes = append(routes, b.healthRoute())
	}
	routes = append(routes, b.notFound()...)
	host := &routev3.VirtualHost{
		Name: RouteName, Domains: []string{"*"}, Routes: routes, RequestBodyBufferLimit: b.routeBufferLimit(),
		TypedPerFilterConfig: b.hostFilters(),
	}
	b.enablePickers(host)
	return &routev3.RouteConfiguration{Name: RouteName, VirtualHosts: []*routev3.VirtualHost{host}}
}

// notFound returns the routes of requests that no other route takes.
func (b *builder) notFound() []*routev3.Route {
	anthropics := prefix("/")
	anthropics.Headers = []*routev3.HeaderMatcher{{Name: anthropic.VersionHeader,
		HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}}}
	body := anthropic.AppendError(nil, &openai.Error{Status: http.StatusNotFound, Message: notFoundText}, "")
	return []*routev3.Route{
		directResponse("not found in Anthropic's API", anthropics, http.StatusNotFound, string(body)),
		directResponse("not found", prefix("/"), http.StatusNotFound, notFoundBody),
	}
}

// hostFilters returns what filters are told for all routes.
func (b *builder) hostFilters() map[string]*anypb.Any {
	all := b.cors()
	if limits := b.localLimits(); limits != nil {
		if all == nil {
			all = map[string]*anypb.Any{}
		}
		all[LimitsFilterName] = b.any(limits)
	}
	return all
}

// poolRoute returns a route to the model's servers, for requests to a path whose internal header is chosen.
func (b *builder) poolRoute(name string, m *config.Model, path, chosen string) *routev3.Route {
	r := b.forward(name, poolMatch(path, chosen), PoolCluster(m))
	r.RequestHeadersToRemove = b.removedByRoutes(b.pool(m)) // servers do not need them
	if !m.ForwardAuthorization {
		// The servers must not see a client's key for this gateway. Their own authorization is added later.
		r.RequestHeadersToRemove = append(r.RequestHeadersToRemove, "authorization")
	}
	if chosen != m.Route() || b.pool(m).ServerKind().Conversations {
		r.GetRoute().IdleTimeout = durationpb.New(max(b.idleTimeout(), idleLimit)) // an answer in one piece comes at its end
	}
	if queued := b.queuedFor(b.pool(m)); queued > 0 {
		r.GetRoute().IdleTimeout = durationpb.New(r.GetRoute().GetIdleTimeout().AsDuration() + queued)
	}
	r.GetRoute().RetryPolicy = b.poolRetryPolicy(b.pool(m), b.askedElsewhere(m, path, chosen),
		chosen == m.Route() && path == serverPaths(b.pool(m))[0] && b.holdsAnswers(b.pool(m)))
	b.keepSession(r, b.pool(m))
	b.keepLimits(r)
	b.askPicker(r, b.pool(m))
	return r
}

// configure sets what a filter does with the requests of a route. The settings of other filters stay.
func (b *builder) configure(r *routev3.Route, filter string, settings proto.Message) {
	if r.TypedPerFilterConfig == nil {
		r.TypedPerFilterConfig = map[string]*anypb.Any{}
	}
	r.TypedPerFilterConfig[filter] = b.any(settings)
}

// poolMatch matches the requests to a path whose internal header is chosen.
func poolMatch(path, chosen string) *routev3.RouteMatch {
	match := exactPath(path)
	match.Headers = []*routev3.HeaderMatcher{headerIs(contract.PoolHeader, chosen)}
	return match
}

// serverPaths returns the paths of a pool's servers to which the filter sends requests, beginning with their kind's.
// Only servers that take conversations know their tokens, so the filter asks them for counts.
func serverPaths(p *config.ResolvedPool) []string {
	kind, m := p.ServerKind(), contract.Model{APIPath: p.APIPath}
	paths := []string{m.ServerPath(kind.Path)}
	if kind.Conversations {
		paths = append(paths, m.ServerPath(contract.TokenizePath), m.ServerPath(contract.DetokenizePath))
	}
	return paths
}

// untranslatedPaths returns the paths of the model's servers to which the filter sends requests that it does not
// translate.
func untranslatedPaths(m *config.Model, p *config.ResolvedPool) []string {
	if m.TranslatedShare() == 100 {
		return nil
	}
	server := contract.Model{APIPath: p.APIPath}
	var paths []string
	for _, path := range p.ServerKind().OwnAPI {
		paths = append(paths, server.ServerPath(path))
	}
	return paths
}

// claimed restricts a match to requests that the filter has claimed, for whichever pool.
func claimed(match *routev3.RouteMatch) *routev3.RouteMatch {
	match.Headers = []*routev3.HeaderMatcher{
		{Name: contract.PoolHeader, HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}}}
	return match
}

// pathsBesideAPI returns the paths of the pools' servers that are not below [contract.APIPrefix], each once.
func pathsBesideAPI(pools []config.ResolvedPool) []string {
	var paths []string
	for i := range pools {
		for _, path := range serverPaths(&pools[i]) {
			if !strings.HasPrefix(path, contract.APIPrefix) && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// routeBufferLimit returns how many bytes of a request Envoy lets the filter hold. A conversation for servers of
// [contract.Chat] may be twice as long as the client's request: earlier reasoning is in two members, and the input of a
// custom tool is a text in a text. Routes, unlike listeners, can change while streams run.
func (b *builder) routeBufferLimit() *wrapperspb.UInt64Value {
	limit := uint64(b.bufferLimit())
	if slices.ContainsFunc(b.resolved.Pools, func(p config.ResolvedPool) bool { return p.ServerKind().Conversations }) {
		const members = 4 * config.MaxObject // those of the operator's, and those that say what is wanted of the answer
		limit = max(limit, 2*uint64(b.config.BodyLimit)+members)
	}
	for i := range b.resolved.Pools {
		if p := &b.resolved.Pools[i]; p.ServerKind().Renders {
			for _, m := range p.Models { // the ids of a conversation may be longer than its text
				limit = max(limit, uint64(contract.MaxRenderedIn(m.ContextLength)))
			}
		}
	}
	if slices.ContainsFunc(b.resolved.Pools, func(p config.ResolvedPool) bool { return p.Prefill.Pool != "" }) {
		limit += contract.MaxPrefillAnswer
	}
	return wrapperspb.UInt64(limit)
}

func (b *builder) forward(name string, match *routev3.RouteMatch, cluster string) *routev3.Route {
	return &routev3.Route{
		Name: name, Match: match, RequestBodyBufferLimit: b.routeBufferLimit(),
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{
			ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster},
			// The Host header is the server's own name, which TLS and virtual hosts need.
			HostRewriteSpecifier: &routev3.RouteAction_AutoHostRewrite{AutoHostRewrite: wrapperspb.Bool(true)},
			Timeout:              durationpb.New(0), // an answer may take as long as it keeps coming
			IdleTimeout:          durationpb.New(b.idleTimeout()),
			RetryPolicy:          b.retryPolicy(),
		}},
	}
}

// directResponse returns a route that answers with this status and this JSON body.
func directResponse(name string, match *routev3.RouteMatch, status uint32, body string) *routev3.Route {
	return &routev3.Route{
		Name: name, Match: match,
		Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{
			Status: status,
			Body:   &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: body}},
		}},
		ResponseHeadersToAdd: []*corev3.HeaderValueOption{{
			Header:       &corev3.HeaderValue{Key: "content-type", Value: jsonType},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}},
	}
}

func exactPath(path string) *routev3.RouteMatch {
	return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: path}}
}

func prefix(path string) *routev3.RouteMatch {
	return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: path}}
}

func headerIs(name, value string) *routev3.HeaderMatcher {
	return &routev3.HeaderMatcher{Name: name, HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
		StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: value}},
	}}
}

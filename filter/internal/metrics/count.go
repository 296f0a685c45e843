package metrics

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// model holds the series of one model.
type model struct {
	name     string
	requests [len(apis)][len(statuses) + 1]metric
	tokens   [tokenKinds]metric
	wasted   [len(earlyEnds)]metric
	missed   [missReasons]metric
}

var apis = [...]string{"chat", "responses", "messages", "completions"}

// statuses are the statuses with series of their own. 0 is a client that left before it got a status.
var statuses = [...]int{0, 200, 400, 401, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504}

// statusNames are their values of the label.
var statusNames = [len(statuses)]string{"none", "200", "400", "401", "403", "404", "408", "413", "422", "429", "500",
	"502", "503", "504"}

// pool holds the series of one pool under one policy.
type pool struct {
	name, policy string
	requests     [len(classes)]metric
	failed       metric
}

// prefill holds the series of one pool whose servers read prompts.
type prefill struct {
	pool    string
	results [len(prefillResults)]metric
}

// prefillResults are what can become of a prompt that another pool's server was to read.
var prefillResults = [...]string{exchange.PrefillDone, exchange.PrefillShort, exchange.PrefillFellBack,
	exchange.PrefillFailed, exchange.PrefillLeft}

// route holds the series of a model and one of its several pools.
type route struct {
	model, pool string
	reasons     [len(routeReasons)]metric
}

// routeReasons are why a pool was chosen.
var routeReasons = [...]string{contract.RouteClass, contract.RouteLength, contract.RouteContext, contract.RouteDefault}

// client holds the series of one client.
type client struct {
	name     string
	requests [len(clientClasses)]metric
	tokens   metric
	missed   [missReasons]metric
}

// clientClasses are the classes of statuses of clients' requests.
var clientClasses = [...]string{"served", "limited", Other}

// classes are the classes of statuses. The first is a client that left before it got a status.
var classes = [...]string{"none", "2xx", "4xx", "5xx", Other}

// affinities are what decides which requests go to the same server.
var affinities = [...]string{contract.RoutedBySession, contract.RoutedByCacheKey, contract.RoutedByPrefix}

// recalls are whether the beginning of a request was remembered.
var recalls = [...]string{exchange.RecallHit, exchange.RecallMiss}

// earlyEnds are the reasons why tokens are generated that no client gets.
var earlyEnds = [...]string{
	exchange.EarlyStop, exchange.EarlyReasoning, exchange.EarlyCall, exchange.EarlyRepetition, exchange.EarlyError,
}

// cuts are the causes of answers that ended in the middle.
var cuts = [...]string{exchange.CutStall, exchange.CutServer, exchange.CutClient, exchange.CutTimeout,
	exchange.CutOther}

const (
	prompt = iota
	cached
	toolOutput
	reasoning
	preamble
	final
	toolCall
	tokenKinds
)

var tokenNames = [tokenKinds]string{
	prompt: "prompt", cached: "cached", toolOutput: "tool_output", reasoning: "reasoning",
	preamble: "preamble", final: "final", toolCall: "tool_call",
}

// Count counts an exchange that has ended. status is the client's status, or 0 if it got none.
func (s *Set) Count(r *exchange.Report, status int) {
	m := s.model(r.Model)
	for i, api := range apis {
		if api == r.API {
			at, name := statusOf(status)
			s.add(&m.requests[i][at], 1, contract.RequestsTotal, m.name, api, name)
		}
	}
	if r.Pool != "" {
		p := s.pool(r.Pool, r.Policy)
		at := classOf(status)
		s.add(&p.requests[at], 1, contract.PoolRequestsTotal, p.name, p.policy, classes[at])
		if FailedEarly(r, status) {
			s.AttemptFailed(r.Pool)
		}
	}
	if r.Route != "" {
		s.countRoute(r)
	}
	if r.Client != "" {
		s.countClient(r, status)
	}
	for i, by := range affinities {
		if by == r.RoutedBy {
			s.add(&s.affinities[i], 1, contract.AffinityTotal, by)
		}
	}
	s.countRecall(r)
	s.countPrefill(&r.Prefill)
	s.countIf(r.Rendered.Failed, contract.FailedRendersTotal)
	s.countIf(r.Routed, contract.RoutedTotal)
	if r.Untranslated {
		s.countUntranslated(r)
	}
	if !r.Translated {
		return
	}
	for kind, n := range [tokenKinds]int{
		prompt: r.PromptTokens, cached: r.CachedTokens, toolOutput: r.ToolOutputTokens,
		reasoning: r.Reasoning, preamble: r.Preamble, final: r.Final, toolCall: r.ToolCall,
	} {
		s.add(&m.tokens[kind], n, contract.TokensTotal, m.name, tokenNames[kind])
	}
	for i, kind := range earlyEnds {
		if kind == r.EarlyEnd {
			s.add(&m.wasted[i], r.WastedTokens, contract.WastedTokensTotal, m.name, kind)
		}
	}
	s.countMissed(r, m)
	for i, cause := range cuts {
		if cause == r.Cut {
			s.add(&s.cuts[i], 1, contract.CutStreamsTotal, cause)
		}
	}
	s.countParsed(r)
	s.count(contract.FallbackTotal, r.Fallbacks)
	s.count(contract.NoFinalTotal, r.NoFinal)
	s.countIf(r.Repeated, contract.RepetitionsTotal)
	s.count(contract.UnfitArgumentsTotal, r.UnfitArguments)
	for kind, n := range r.Ignored {
		s.add(&s.ignored[kind], n, contract.UnknownItemsTotal, exchange.IgnoredName(kind))
	}
	s.count(contract.HalfBuiltInsTotal, r.IncompleteBuiltIns)
	s.count(contract.LeftOutTotal, r.AfterCalls)
	s.count(contract.DroppedPartsTotal, r.DroppedParts)
	s.count(contract.UnenforcedGrammarsTotal, r.UnenforcedGrammars)
	s.count(contract.BrokenControlTokensTotal, r.BrokenSpellings)
	s.count(contract.TruncatedTurnsTotal, r.TruncatedTurns)
	s.countIf(r.ReasoningAlert, contract.ReasoningAlertTotal)
	if r.FirstToken >= 0 {
		s.record(contract.TimeToFirstToken, r.FirstToken)
	}
}

// countParsed counts what the parser of Harmony has seen.
func (s *Set) countParsed(r *exchange.Report) {
	for kind, n := range r.Recoveries {
		s.add(&s.recoveries[kind], int(n), contract.RecoveriesTotal, harmony.Recovery(kind).String())
	}
	for channel, n := range r.Messages {
		s.add(&s.channels[channel], n, contract.ChannelMessagesTotal, translate.ChannelKind(channel).String())
	}
	if kind := r.Refused; kind != 0 && int(kind) < len(s.parseErrors) {
		s.add(&s.parseErrors[kind], 1, contract.ParseErrorsTotal, kind.String())
	}
	s.countIf(r.UnexpectedOrder, contract.UnexpectedOrderTotal)
}

// countUntranslated counts a request that went to the model's servers as it was, and what was seen of it.
func (s *Set) countUntranslated(r *exchange.Report) {
	s.count(contract.UntranslatedTotal, 1)
	for kind, n := range r.Observed {
		s.add(&s.observed[kind], n, contract.ObservedTotal, exchange.ObservedKind(kind).String())
	}
	s.add(&s.prompts[0], r.ObservedPrompt, contract.ObservedPromptTokensTotal, "gateway")
	s.add(&s.prompts[1], r.ServersPrompt, contract.ObservedPromptTokensTotal, "servers")
}

// countRecall counts a request whose beginning may have been remembered.
func (s *Set) countRecall(r *exchange.Report) {
	for i, kind := range recalls {
		if kind == r.Recall {
			s.add(&s.recalls[i], 1, contract.PrefixRequestsTotal, kind)
		}
	}
	s.count(contract.PrefixTokensTotal, r.RecalledTokens)
}

// countPrefill counts a prompt that another pool's server was to read.
func (s *Set) countPrefill(r *exchange.PrefillReport) {
	for i, result := range prefillResults {
		if result == r.Result {
			p := s.prefill(r.Pool)
			s.add(&p.results[i], 1, contract.PrefillTotal, p.pool, result)
		}
	}
	if r.Result == exchange.PrefillDone {
		s.count(contract.PrefillTimeTotal, int(max(r.Time, 0)))
	}
}

// countRoute counts a request whose pool was chosen among several of its model's.
func (s *Set) countRoute(r *exchange.Report) {
	pool, why := contract.ParseRoute(r.Route)
	to := s.route(r.Model, pool)
	for i, reason := range routeReasons {
		if reason == why {
			s.add(&to.reasons[i], 1, contract.RouteRequestsTotal, to.model, to.pool, reason)
		}
	}
}

func (s *Set) route(model, pool string) *route {
	for i := range s.routes {
		if s.routes[i].model == model && s.routes[i].pool == pool {
			return &s.routes[i]
		}
	}
	return &s.otherRoute
}

// countClient counts a request of a known client.
func (s *Set) countClient(r *exchange.Report, status int) {
	c, at := s.client(r.Client), len(clientClasses)-1
	switch {
	case status/100 == 2:
		at = 0
	case status == 429:
		at = 1
	}
	s.add(&c.requests[at], 1, contract.ClientRequestsTotal, c.name, clientClasses[at])
	if r.Translated {
		s.add(&c.tokens, r.PromptTokens+r.CompletionTokens, contract.ClientTokensTotal, c.name)
	}
}

func (s *Set) client(name string) *client {
	for i := range s.clients {
		if s.clients[i].name == name {
			return &s.clients[i]
		}
	}
	return &s.otherClient
}

func (s *Set) countIf(condition bool, of contract.Metric) {
	if condition {
		s.count(of, 1)
	}
}

func (s *Set) model(name string) *model {
	for i := range s.models {
		if s.models[i].name == name {
			return &s.models[i]
		}
	}
	return &s.other
}

// FailedEarly reports whether the answer to a client that has waited for it failed before its first token. status is the
// client's.
func FailedEarly(r *exchange.Report, status int) bool { return r.FailedEarly && status >= 500 }

func (s *Set) pool(name, policy string) *pool {
	for i := range s.pools {
		if s.pools[i].name == name && s.pools[i].policy == policy {
			return &s.pools[i]
		}
	}
	return &s.otherPool
}

// poolNamed returns a pool under whichever policy.
func (s *Set) poolNamed(name string) *pool {
	for i := range s.pools {
		if s.pools[i].name == name {
			return &s.pools[i]
		}
	}
	return &s.otherPool
}

func (s *Set) prefill(pool string) *prefill {
	for i := range s.prefills {
		if s.prefills[i].pool == pool {
			return &s.prefills[i]
		}
	}
	return &s.otherPrefill
}

// statusOf returns the index and the label value of a status.
func statusOf(status int) (int, string) {
	for i, known := range statuses {
		if known == status {
			return i, statusNames[i]
		}
	}
	return len(statuses), Other
}

// classOf returns the index of a status's class.
func classOf(status int) int {
	switch status / 100 {
	case 0:
		return 0
	case 2:
		return 1
	case 4:
		return 2
	case 5:
		return 3
	}
	return len(classes) - 1
}

package exchange

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// reservation is what a request has reserved at the proxy's rate limit filter.
type reservation struct {
	made bool
	// prompt is how many tokens the prompt has, or about as many.
	prompt int
	// refused reports whether the proxy, or what it asks, has refused the reservation. answered reports whether there was
	// a response, and served whether a server has accepted the request.
	refused, answered, served bool
}

// contextOf returns the most tokens that a request to the model may have: as the model can, or as the client may.
func (e *Exchange) contextOf(model *Model) int {
	c := &e.gateway.options.Clients
	if c.By == "" || c.Context == 0 && len(c.Contexts) == 0 {
		return model.ContextLength
	}
	if limit := c.ContextOf(e.caller.name, model.Name); limit > 0 {
		return min(limit, model.ContextLength)
	}
	return model.ContextLength
}

// reserve reserves tokens for the request, if the operator has limits.
func (e *Exchange) reserve(model *Model, prompt, answer int, h Host) {
	if !e.gateway.options.Clients.Reserve {
		return
	}
	tokens := prompt + answer
	e.reservation = reservation{made: true, prompt: prompt}
	e.report.Reserves, e.report.ReservedTokens, e.report.Reservation = true, tokens, h.ID
	e.tell(contract.ModelHeader, model.Name)
	e.tell(contract.ReservationHeader, h.ID)
	e.tell(contract.ReserveHeader, strconv.Itoa(tokens))
}

// estimate returns about how many tokens the prompts have that the gateway does not render: each id is one, and so are
// four bytes of anything else.
func (a *modelRequest) estimate() int {
	return a.demand.IDs + harmony.EstimateTokens(a.size-a.demand.IDBytes)
}

// longest returns about how many tokens the longest of the prompts has.
func (a *modelRequest) longest() int {
	d := &a.demand
	if d.Prompts <= 1 {
		return a.estimate()
	}
	return d.LongestIDs + harmony.EstimateTokens(d.LongestText)
}

// overrideDemand makes the operator's limit of an answer count instead of the client's, as for the model's servers.
func (a *modelRequest) overrideDemand() {
	a.demand.Answer = cmp.Or(a.model.overrides.MaxTokens(), a.demand.Answer)
}

// fitsEstimate refuses what is about more than the client may have, where the gateway does not count tokens.
func (a *modelRequest) fitsEstimate(param string) *openai.Error {
	d := &a.demand
	answer := max(d.Answer, 1)
	if answer == contract.MaxContextLength {
		answer = 1 // it is not known
	}
	if a.context == a.model.ContextLength || a.longest()+answer <= a.context {
		return nil
	}
	return a.tooLong(param, a.longest()+answer)
}

// maxReserve is the most tokens that one request reserves, or has used. Envoy takes no greater number of hits.
const maxReserve = 1_000_000_000

// reserveUncounted reserves for a request whose tokens may never be counted, so that all that is reserved counts as
// used. It is for the most that the model's servers may read and write: they do not know the client's limits.
func (a *modelRequest) reserveUncounted(h Host) { a.reserveEstimate(a.model.ContextLength, h) }

// reserveCounted reserves for a request whose prompt the gateway does not render, and whose tokens it counts.
func (a *modelRequest) reserveCounted(h Host) { a.reserveEstimate(a.x.expectedAnswer(), h) }

// reserveEstimate is reserve for a prompt that the gateway does not render. unsaid is the most tokens that an answer
// reserves whose length the request does not say.
func (a *modelRequest) reserveEstimate(unsaid int, h Host) {
	prompt, answer := a.estimates(unsaid)
	a.x.reserve(a.model, prompt, answer, h)
	prompt, answer = a.estimates(a.x.expectedAnswer())
	a.tellCost(prompt, answer)
}

// estimates returns about how many tokens the request's prompts and answers have.
func (a *modelRequest) estimates(unsaid int) (prompt, answer int) {
	d := &a.demand
	prompts, choices := int64(max(d.Prompts, 1)), int64(max(d.Choices, 1))
	read := min(int64(a.estimate()), maxReserve)
	rest := int64(a.model.ContextLength)
	if prompts == 1 {
		rest = max(rest-read, 0) // of several prompts, nobody knows which is how long
	}
	written := int64(d.Answer)
	if written == 0 {
		written = int64(unsaid)
	}
	written = min(written, rest)
	if all := prompts * choices; written > 0 && all > maxReserve/written {
		written = maxReserve
	} else {
		written *= all
	}
	return int(read), int(min(written, maxReserve-read))
}

// tellCost tells the queue of the model's pool what the request costs, if there is one.
func (a *modelRequest) tellCost(prompt, answer int) {
	e := a.x
	if e.queuedMS = int64(a.model.Routing.QueueMS); e.queuedMS == 0 {
		return
	}
	e.tell(contract.CostHeader, strconv.Itoa(max(prompt, 0))+" "+strconv.Itoa(max(min(answer, maxReserve), 0))+" "+
		strconv.Itoa(a.size)+" "+e.caller.name)
}

// expectedAnswer returns how many tokens a request reserves for an answer whose length it does not say.
func (e *Exchange) expectedAnswer() int {
	return cmp.Or(e.gateway.options.Clients.ExpectedAnswer, contract.DefaultExpectedAnswer)
}

// settle determines what the request has used of its reservation.
func (e *Exchange) settle(r *Report) {
	s := &e.reservation
	switch {
	case !s.made:
	case s.refused || s.answered && !s.served:
		r.UsedTokens = 0
	case r.Translated:
		used := int64(cmp.Or(r.PromptTokens, s.prompt)) + int64(r.CompletionTokens) // as a server may have told them
		r.UsedTokens = int(max(min(used, maxReserve), 0))
	case r.ServersTokens > 0:
		r.UsedTokens = min(r.ServersTokens, maxReserve)
	default:
		r.UsedTokens = r.ReservedTokens // nobody has counted
	}
}

// Reserves reports whether the response tells what has become of the request's reservation.
func (e *Exchange) Reserves() bool { return e.reservation.made && !e.reservation.answered }

// NeverSent notes that no server was chosen for the request.
func (e *Exchange) NeverSent() {
	if e.Reserves() {
		e.reservation.answered = true
	}
}

// noteReserved notes what the response's headers tell about the reservation. limited reports whether the proxy has
// refused the request for its limits.
func (e *Exchange) noteReserved(h *ResponseHead) (limited bool) {
	if !e.Reserves() {
		return false
	}
	s := &e.reservation
	s.answered = true
	s.refused = h.Local && h.Status == 429 && !h.Full
	s.served = !h.Local && h.Status >= 200 && h.Status <= 299
	return s.refused
}

// limited takes the headers of the proxy's refusal. A rate limit service of ours sends an error in OpenAI's form with
// them, which Anthropic's clients get in theirs. Other services send headers at most.
func (e *Exchange) limited(h *ResponseHead) ResponseAction {
	e.generation, e.passed, e.observer, e.unread = nil, nil, nil, nil
	e.report.Untranslated, e.report.Pool, e.report.Policy, e.report.RoutedBy = false, "", "", ""
	e.report.Route = ""
	if !h.End && isJSON(h.ContentType) {
		e.response = &failedResponse{x: e}
		return e.response.headers(*h)
	}
	wait := "later"
	if h.RetryAfter != "" {
		wait = "in " + clip(h.RetryAfter) + " s"
	}
	r := e.replyWith(&openai.Error{
		Status: 429, Type: contract.RateLimitError, Code: contract.CodeRateLimitExceeded,
		Message: "Rate limit reached for " + e.report.Model + ": the request needs " +
			strconv.Itoa(e.report.ReservedTokens) + " tokens. Please try again " + wait + ".",
	})
	r.RetryAfter, r.Headers = strings.Clone(h.RetryAfter), append(r.Headers, h.Limits...)
	return e.client.reply(r)
}

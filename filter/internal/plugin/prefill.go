package plugin

import (
	"strconv"
	"strings"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// avoidMS is how long a server is avoided that a call has not reached, in milliseconds.
const avoidMS = 10_000

// readers has the servers that read prompts and that calls of this VM are under way to, or have just failed to reach.
// Each VM has its own, for all its configurations.
type readers map[string]*reader

// reader is one of them. open is the number of calls under way, and avoidedUntil when the next one may go there again,
// in milliseconds since 1970.
type reader struct {
	open         int
	avoidedUntil int64
}

// choose returns the index of the server with the fewest calls of this VM, and reserves one there. Servers that were
// just not reached come last. Among equals the search begins at a random one, so that all VMs do not begin with the
// first.
func (r readers) choose(servers []string, from uint64, at int64) int {
	best, fewest, avoided := 0, 0, true
	for i := range servers {
		k := int((from + uint64(i)) % uint64(len(servers)))
		open, bad := 0, false
		if known := r[servers[k]]; known != nil {
			open, bad = known.open, at < known.avoidedUntil
		}
		if i == 0 || avoided && !bad || avoided == bad && open < fewest {
			best, fewest, avoided = k, open, bad
		}
	}
	known := r[servers[best]]
	if known == nil {
		known = &reader{}
		r[strings.Clone(servers[best])] = known
	}
	known.open++
	return best
}

// done ends a call. well reports whether nothing is known against the server.
func (r readers) done(server string, well bool, at int64) {
	known := r[server]
	if known == nil {
		return
	}
	known.open--
	if !well {
		known.avoidedUntil = at + avoidMS
	}
	if known.open <= 0 && at >= known.avoidedUntil {
		delete(r, server)
	}
}

// forget removes the servers that nothing is known of any more.
func (r readers) forget(at int64) {
	for name, known := range r {
		if known.open <= 0 && at >= known.avoidedUntil {
			delete(r, name)
		}
	}
}

// bootstrap implements [exchange.Host.Bootstrap].
func (v *vm) bootstrap(servers []string) (at int, room uint64) {
	return v.readers.choose(servers, randomNumber(), now()), randomNumber()
}

// prefill calls the server that reads the prompt of the request, which has been rewritten to size bytes.
func (s *stream) prefill(p *exchange.Prefill, size int) types.Action {
	s.call, s.sentSize = p, size
	authority := p.Destination
	if authority == "" {
		authority = p.Cluster
	}
	headers := [][2]string{{":method", "POST"}, {":path", p.Path}, {":authority", authority},
		{"content-type", "application/json"}, {"accept-encoding", "identity"}}
	if p.Destination != "" {
		headers = append(headers, [2]string{contract.DestinationHeader, p.Destination})
	}
	// Both servers log the request under one id.
	if id, err := proxywasm.GetHttpRequestHeader("x-request-id"); err == nil && id != "" {
		headers = append(headers, [2]string{"x-request-id", id})
	}
	body := s.exchange.PrefillBody()
	if _, err := proxywasm.DispatchHttpCall(p.Cluster, headers, body, nil, uint32(p.TimeoutMS), s.prefilled); err != nil {
		// The cluster does not exist, or has no server.
		action := s.prefillEnded(exchange.PrefillAnswer{Status: 503})
		switch {
		case action.Reply != nil:
			s.send(action.Reply)
			return types.ActionPause
		case action.Resume && !s.complete(action.Rest):
			return s.cannotForward()
		}
		return types.ActionContinue
	}
	if p.Awaited {
		return types.ActionPause
	}
	return types.ActionContinue
}

// prefilled takes the answer to the call, or the proxy's in its place. The SDK does not call it for a stream that is
// gone.
func (s *stream) prefilled(_, size, _ int) {
	if s.exchange == nil || s.call == nil {
		return
	}
	s.plugin.vm.heap.relieveFor(size)
	s.plugin.vm.heap.busy = true
	answer := exchange.PrefillAnswer{TooLarge: size > contract.MaxPrefillAnswer}
	if headers, err := readCalloutHeaders(); err == nil {
		status, _ := find(headers, ":status")
		answer.Status, _ = strconv.Atoi(status)
		retry, _ := find(headers, "retry-after")
		answer.RetryAfter = strings.Clone(retry)
	}
	if size > 0 {
		body, err := readCalloutBody(min(size, contract.MaxPrefillAnswer))
		if check("read the answer of a prefill server", err) {
			answer.Body = body
		}
	}
	action := s.prefillEnded(answer)
	switch {
	case action.Reply != nil:
		s.endSpan()
		s.send(action.Reply)
	case action.Resume:
		if !s.complete(action.Rest) {
			s.cannotForward()
			return
		}
		check("resume request", proxywasm.ResumeHttpRequest())
	}
}

// prefillEnded gives the exchange the answer to the call, which is over.
func (s *stream) prefillEnded(a exchange.PrefillAnswer) exchange.PrefillAction {
	reached := a.Status != 0 && a.Status != 502 && a.Status != 503 && a.Status != 504
	s.plugin.vm.readers.done(s.call.Destination, reached, now())
	s.call = nil
	return s.exchange.Prefilled(a)
}

// complete appends the rest of the held request's body, and reports whether the host allowed it.
func (s *stream) complete(rest []byte) bool {
	edited := s.plugin.edited
	if s.tapped != nil && s.tapped.whole {
		s.showBytes(tap.SentBody, rest)
	}
	length := strconv.Itoa(s.sentSize + len(rest))
	return edited("set content-length", proxywasm.ReplaceHttpRequestHeader("content-length", length)) &&
		edited("append to the request body", proxywasm.AppendHttpRequestBody(rest))
}

// leavePrefill ends the call of a stream that is gone, with a result. The SDK gives nobody the answer to it, and the
// host cannot cancel it. The server may, so the timer asks it to.
func (s *stream) leavePrefill(result string) {
	p, v := s.call, s.plugin.vm
	if p == nil {
		return
	}
	s.call = nil
	v.readers.done(p.Destination, result != exchange.PrefillFailed, now())
	if result != exchange.PrefillDone && p.AbortPath != "" && len(v.aborts) < maxAborts {
		v.aborts = append(v.aborts, p)
	}
}

const (
	// maxAborts is how many calls wait for the timer to abort them. A call beyond these ends by its time limit.
	maxAborts = 4096
	// abortMS is how long a server may take to abort a call, in milliseconds.
	abortMS = 5_000
)

// sendAborts asks the servers of calls that nobody waits for to abort them. A server that was asked at once might not
// have the call yet, and could not tell it from one that has ended.
func (v *vm) sendAborts() {
	for i, p := range v.aborts {
		v.aborts[i] = nil
		headers := [][2]string{{":method", "POST"}, {":path", p.AbortPath}, {":authority", p.Destination},
			{"content-type", "application/json"}, {contract.DestinationHeader, p.Destination}}
		// If the server cannot be reached, it does not work on the call either.
		_, _ = proxywasm.DispatchHttpCall(p.Cluster, headers, p.AbortBody, nil, abortMS, func(int, int, int) {})
	}
	v.aborts = v.aborts[:0]
}

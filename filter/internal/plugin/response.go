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

// OnHttpResponseHeaders implements [types.HttpContext].
func (s *stream) OnHttpResponseHeaders(_ int, end bool) types.Action {
	if s.exchange == nil {
		return types.ActionContinue
	}
	passes := s.exchange.PassesThrough()
	if passes && s.tapped != nil {
		s.showPassedHead()
	}
	if passes && !s.exchange.NeedsHead() {
		return types.ActionContinue
	}
	head := exchange.ResponseHead{End: end, Received: s.body}
	head.Local, head.Full = localReply()
	headers, err := readResponseHeaders()
	check("read response headers", err)
	status, _ := find(headers, ":status")
	head.Status, _ = strconv.Atoi(status)
	if how, failed := find(headers, contract.FailedHeader); failed {
		s.restore(&head, how)
	}
	head.ContentType, _ = find(headers, "content-type")
	head.RetryAfter, _ = find(headers, "retry-after")
	if head.Status == statusLimited {
		head.Limits = limitHeaders(headers)
	}
	s.status = head.Status
	if !head.Local && s.exchange.RouteTaken() != "" {
		s.noteSpare()
	}
	_, s.sized = find(headers, "content-length")
	if _, named := find(headers, otherModel); named && !passes {
		check("remove response header", proxywasm.RemoveHttpResponseHeader(otherModel))
	}
	if s.tapped != nil && !passes {
		s.showHead(head.Status, head.ContentType, head.Local)
	}
	action := s.exchange.ResponseHeaders(head)
	if s.tapped != nil && !passes {
		s.showAction(action.Head, nil, false)
	}
	if head.End || action.Reply != nil || action.Reset {
		s.endSpan()
	}
	return s.act(action)
}

// restore undoes what the last attempt has done to its answer. The client gets what a single server would have given.
func (s *stream) restore(head *exchange.ResponseHead, how string) {
	head.GivenUp = how == contract.GivenUp
	check("remove response header", proxywasm.RemoveHttpResponseHeader(contract.FailedHeader))
	if !head.GivenUp && head.Status == contract.FailedStatus {
		head.Status = 200
		check("set status", proxywasm.ReplaceHttpResponseHeader(":status", "200"))
	}
}

// noteSpare notes the pool of the server that has answered, if it is a spare. The control plane writes it into the
// metadata of such a server.
func (s *stream) noteSpare() {
	if pool, err := readProperty(sparePool); err == nil && len(pool) > 0 {
		s.exchange.NoteSpare(string(pool))
	}
}

// isDrained reports whether the server that answers is drained. The control plane writes it into the server's metadata,
// which the host updates while the stream runs.
func isDrained() bool {
	value, err := readProperty(drained)
	return err == nil && len(value) > 0
}

const statusLimited = 429

// otherModel is a header by which OpenAI says that another model has answered. The name that a server knows its model
// by is another one than its client's, which would be warned of it.
const otherModel = "openai-model"

// limitHeaders returns copies of the headers that tell about limits.
func limitHeaders(headers [][2]string) (all []exchange.Header) {
	for _, h := range headers {
		if strings.HasPrefix(h[0], "x-ratelimit-") {
			all = append(all, exchange.Header{Name: strings.Clone(h[0]), Value: strings.Clone(h[1])})
		}
	}
	return all
}

// localReply reports whether the host made the response itself, and whether it did so because it or the pool is full.
func localReply() (local, full bool) {
	details, err := readProperty(codeDetails)
	if err != nil || string(details) == "via_upstream" {
		return false, false
	}
	return true, string(details) == "overload" || strings.HasPrefix(string(details), overflow) ||
		strings.HasPrefix(string(details), contract.QueueFull)
}

// overflow begins the details of Envoy's reply to a request that the pool has no room for.
const overflow = "upstream_reset_before_response_started{overflow"

// OnHttpResponseBody implements [types.HttpContext].
func (s *stream) OnHttpResponseBody(size int, end bool) types.Action {
	if s.exchange == nil {
		return types.ActionContinue
	}
	if s.exchange.PassesThrough() {
		if s.tapped != nil {
			s.showPassed(tap.Chunk, size)
		}
		return types.ActionContinue
	}
	s.plugin.vm.heap.relieve()
	s.plugin.vm.heap.busy = true
	s.plugin.vm.metrics.ResponseChunk()
	if s.exchange.LooksAtServer() && isDrained() { // before the chunk, whose memory the next call to the host uses again
		s.exchange.NoteDrained()
	}
	var chunk []byte
	if size > 0 {
		var err error
		if chunk, err = readPiece(size); err != nil {
			check("read response body", err)
		}
	}
	if s.tapped != nil {
		s.showChunk(chunk)
	}
	action := s.exchange.ResponseBody(chunk, end)
	if s.tapped != nil {
		s.showAction(action.Head, action.Body, action.Pass && size > 0)
	}
	if !action.Pass && action.Reply == nil && (size > 0 || len(action.Body) > 0) {
		check("replace response body", proxywasm.ReplaceHttpResponseBody(action.Body))
	}
	if end || action.Reply != nil || action.Reset {
		s.plugin.vm.metrics.FlushChunks() // before the client has the end of its answer
		s.endSpan()
	}
	if end && action.ResetAfter {
		action.Reset = true
	}
	if action.Hold {
		return actionPauseBody
	}
	return s.act(action)
}

// actionPauseBody holds the headers, and what a body callback has left of the chunk, which is nothing. A later callback
// may let go more than the host's buffer limit. After types.ActionPause the host would then answer 500 itself:
// see RATIONALE.md#211. The SDK has no name for it. Envoy's is StopIterationAndWatermark.
const actionPauseBody types.Action = 2

// OnHttpResponseTrailers implements [types.HttpContext].
func (s *stream) OnHttpResponseTrailers(int) types.Action {
	if s.exchange == nil || s.exchange.PassesThrough() {
		return types.ActionContinue
	}
	action := s.exchange.ResponseTrailers()
	s.endSpan()
	return s.act(action)
}

// act carries out the rest of an action after the body has been replaced.
func (s *stream) act(a exchange.ResponseAction) types.Action {
	if a.Late && a.Reset {
		s.plugin.vm.metrics.ReducedReset()
	} else if a.Late {
		s.plugin.vm.metrics.ReducedLateError()
	}
	switch {
	case a.Hold:
		return types.ActionPause
	case a.Reply != nil:
		s.send(a.Reply)
		return types.ActionPause
	case a.Reset:
		closeStream()
		return types.ActionPause // Envoy 1.40 crashes where trailers go on after a reset: RATIONALE 104
	case a.Head != nil:
		if s.status != a.Head.Status {
			check("set status", proxywasm.ReplaceHttpResponseHeader(":status", strconv.Itoa(a.Head.Status)))
		}
		check("set response header", proxywasm.ReplaceHttpResponseHeader("content-type", a.Head.ContentType))
		if a.Head.RetryAfter != "" {
			check("set response header", proxywasm.ReplaceHttpResponseHeader("retry-after", a.Head.RetryAfter))
		}
		if id := s.requestID(); id != "" {
			check("set response header", proxywasm.ReplaceHttpResponseHeader(answerID, id))
		}
		if route := s.exchange.RouteTaken(); route != "" {
			check("set response header", proxywasm.ReplaceHttpResponseHeader(contract.RouteHeader, route))
		}
		if s.sized {
			check("remove response header", proxywasm.RemoveHttpResponseHeader("content-length"))
		}
	}
	return types.ActionContinue
}

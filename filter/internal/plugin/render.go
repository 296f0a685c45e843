package plugin

import (
	"strconv"
	"strings"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// render calls a server that renders the conversation of the request. It reports whether the host makes the call.
func (s *stream) render(r *exchange.Render) (types.Action, bool) {
	headers := [][2]string{{":method", "POST"}, {":path", r.Path}, {":authority", r.Cluster},
		{"content-type", "application/json"}, {"accept-encoding", "identity"}}
	// Both servers log the request under one id.
	if id, err := proxywasm.GetHttpRequestHeader("x-request-id"); err == nil && id != "" {
		headers = append(headers, [2]string{"x-request-id", id})
	}
	if _, err := proxywasm.DispatchHttpCall(r.Cluster, headers, r.Body, nil, uint32(r.TimeoutMS), s.rendered); err != nil {
		return types.ActionContinue, false
	}
	s.rendering = r
	r.Body = nil // it lies in the memory of all streams
	return types.ActionPause, true
}

// rendered takes the answer to the call, or the proxy's in its place. The SDK does not call it for a stream that is
// gone.
func (s *stream) rendered(_, size, _ int) {
	r := s.rendering
	if s.exchange == nil || r == nil {
		return
	}
	s.rendering = nil
	v := s.plugin.vm
	v.heap.relieveFor(size)
	v.heap.busy = true
	at := now()
	answer := exchange.RenderAnswer{TooLarge: size > r.MaxAnswer}
	if headers, err := readCalloutHeaders(); err == nil {
		status, _ := find(headers, ":status")
		answer.Status, _ = strconv.Atoi(status)
		retry, _ := find(headers, "retry-after")
		answer.RetryAfter = strings.Clone(retry)
	}
	// An id of the prompt has at least two bytes, and takes four. The request has the answer's bytes once more.
	size = min(size, r.MaxAnswer)
	if need := uint64(size) * 4; !v.heap.admit(need, s.plugin.memoryLimit) &&
		(!v.heap.makeRoom(s.plugin.memoryLimit, v.forget(), at) || !v.heap.admit(need, s.plugin.memoryLimit)) {
		v.heap.refuse()
		s.send(s.exchange.Overloaded())
		return
	}
	if size > 0 {
		body, err := readCalloutBody(size)
		if check("read a rendered conversation", err) {
			answer.Body = body
		}
	}
	action := s.exchange.Rendered(answer, s.host(at))
	if s.actOn(&action) == types.ActionContinue {
		check("resume request", proxywasm.ResumeHttpRequest())
	}
}

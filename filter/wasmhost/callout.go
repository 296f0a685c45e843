package wasmhost

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// Callout is an HTTP request that the filter makes itself.
type Callout struct {
	Cluster  string
	Headers  *Headers
	Body     []byte
	Trailers *Headers
	// Timeout limits the whole exchange; 0 means no limit.
	Timeout time.Duration
}

// CalloutReply is a server's reply to a [Callout].
type CalloutReply struct {
	Headers  *Headers
	Body     []byte
	Trailers *Headers
}

// Caller sends callouts.
type Caller interface {
	// HasCluster reports whether a cluster exists; HasServers reports whether it has any server.
	HasCluster(name string) bool
	HasServers(name string) bool
	// Call sends a callout and calls done once, from any goroutine. An error that is [context.DeadlineExceeded] means a
	// timeout; any other error means that the server could not be reached. The filter receives both as replies, 504 and
	// 503, as in Envoy.
	Call(c Callout, done func(*CalloutReply, error))
}

func httpCall(v *vm, a []uint64) Status {
	cluster, ok1 := v.readString(a[0], a[1])
	rawHeaders, ok2 := v.read(a[2], a[3])
	body, ok3 := v.read(a[4], a[5])
	rawTrailers, ok4 := v.read(a[6], a[7])
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return StatusInvalidMemoryAccess
	}
	headers, ok1 := readPairs(rawHeaders)
	trailers, ok2 := readPairs(rawTrailers)
	if !ok1 || !ok2 {
		return StatusBadArgument
	}
	c := Callout{Cluster: cluster, Headers: &Headers{}, Trailers: &Headers{}, Body: body,
		Timeout: time.Duration(uint32(a[8])) * time.Millisecond}
	c.Headers.replaceAll(headers)
	c.Trailers.replaceAll(trailers)
	w := v.worker
	caller := w.host.options.Caller
	if caller == nil || !caller.HasCluster(cluster) {
		return StatusBadArgument
	}
	for _, name := range []string{":path", ":method", ":authority"} {
		if c.Headers.Get(name) == "" {
			return StatusBadArgument
		}
	}
	if !caller.HasServers(cluster) {
		return StatusInternalFailure
	}
	w.nextCall++
	for w.nextCall == 0 || w.callouts[w.nextCall] != nil {
		w.nextCall++
	}
	id := w.nextCall
	if status := v.writeUint32(id, a[9]); status != StatusOK {
		return status
	}
	w.callouts[id] = v
	w.afterUnlock = append(w.afterUnlock, func() {
		caller.Call(c, func(r *CalloutReply, err error) { w.called(id, r, err) })
	})
	return StatusOK
}

// called passes the reply of a callout, or its failure, to the filter.
func (w *Worker) called(id uint32, r *CalloutReply, err error) {
	w.enter()
	defer w.leave()
	v, ok := w.callouts[id]
	if !ok {
		return
	}
	delete(w.callouts, id)
	if w.closed || v != w.vm || v.failed {
		return
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		r = synthetic("504", "upstream request timeout")
	case err != nil || r == nil:
		r = synthetic("503", "upstream connect error or disconnect/reset before headers. reset reason: remote connection "+
			"failure")
	}
	v.callout = r
	v.call(nil, "proxy_on_http_call_response", rootID, uint64(id), uint64(r.Headers.Len()), uint64(len(r.Body)),
		uint64(r.Trailers.Len()))
	v.callout = nil
}

func synthetic(status, body string) *CalloutReply {
	return &CalloutReply{Headers: NewHeaders(
		":status", status, "content-length", strconv.Itoa(len(body)), "content-type", "text/plain"), Body: []byte(
		body), Trailers: &Headers{}}
}

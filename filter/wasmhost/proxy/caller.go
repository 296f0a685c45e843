package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// caller sends the filter's callouts.
type caller struct{ proxy *Proxy }

// maxReply is how many bytes of a callout's reply are read.
const maxReply = 16 << 20

// HasCluster implements [wasmhost.Caller].
func (c caller) HasCluster(name string) bool { return c.proxy.HasCluster(name) }

// HasServers implements [wasmhost.Caller].
func (c caller) HasServers(name string) bool { return len(c.proxy.clusters[name].endpoints) > 0 }

// Call implements [wasmhost.Caller].
func (c caller) Call(o wasmhost.Callout, done func(*wasmhost.CalloutReply, error)) {
	c.proxy.running.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		if o.Timeout > 0 { // without a timeout the callout may take for ever
			ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		}
		defer cancel()
		go func() {
			select {
			case <-c.proxy.closed:
				cancel()
			case <-ctx.Done():
			}
		}()
		reply, err := c.do(ctx, o)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = context.DeadlineExceeded
		}
		done(reply, err)
	})
}

func (c caller) do(ctx context.Context, o wasmhost.Callout) (*wasmhost.CalloutReply, error) {
	started := time.Now()
	to := c.proxy.clusters[o.Cluster]
	if to.Pinned != "" {
		to = to.pinnedTo(o.Headers.Get(to.Pinned))
		o.Headers.Remove(to.Pinned)
	}
	a := attempts{cluster: to, make: func(to *endpoint) *http.Request {
		r := &http.Request{
			Method: o.Headers.Get(":method"), URL: requestURL(to, o.Headers.Get(":path")), Host: o.Headers.Get(":authority"),
			Header: toHTTP(o.Headers),
			Body:   http.NoBody, ContentLength: int64(len(o.Body)),
		}
		if len(o.Body) > 0 {
			r.Body = io.NopCloser(bytes.NewReader(o.Body))
		}
		// Envoy adds these headers to requests that it makes itself.
		r.Header.Set("X-Envoy-Internal", "true")
		r.Header.Set("X-Envoy-Expected-Rq-Timeout-Ms", strconv.FormatInt(o.Timeout.Milliseconds(), 10))
		suppressUserAgent(r.Header)
		return r
	}}
	response, release, err := a.send(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxReply {
		return nil, fmt.Errorf("the reply is larger than %d bytes", maxReply)
	}
	trailers := wasmhost.NewHeaders()
	appendHeader(trailers, response.Trailer)
	headers := responseHeaders(response)
	headers.Set("x-envoy-upstream-service-time", strconv.FormatInt(time.Since(started).Milliseconds(), 10))
	return &wasmhost.CalloutReply{Headers: headers, Body: body, Trailers: trailers}, nil
}

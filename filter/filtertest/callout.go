package filtertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// Callout is an HTTP request of the filter's own. It is answered once, by Respond or Fail; when the clock is advanced
// past its time-out it has got Envoy's 504.
type Callout struct {
	Cluster string
	Headers *Headers
	Body    string
	// Trailers has no fields if there are none.
	Trailers *Headers
	// Timeout is how long the answer may take; 0 is for ever.
	Timeout time.Duration

	host     *Host
	done     func(*wasmhost.CalloutReply, error)
	deadline time.Time
	answered string
}

var errDead = errors.New("nobody listens there")

// Callout is the oldest callout that has no answer. A test that has none fails.
func (h *Host) Callout() *Callout {
	h.t.Helper()
	at := slices.IndexFunc(h.callouts, (*Callout).Open)
	if at < 0 {
		h.t.Fatalf("filtertest: Callout: of the filter's %d callouts none waits for an answer", len(h.callouts))
	}
	return h.callouts[at]
}

// Callouts are all callouts that the filter has made, in their order.
func (h *Host) Callouts() []*Callout { return slices.Clone(h.callouts) }

// Open reports whether the callout has no answer yet.
func (c *Callout) Open() bool { return c.answered == "" }

// Respond answers the callout; headers are names and values that alternate. The host adds the body's content-length.
func (c *Callout) Respond(status int, body string, headers ...string) {
	c.host.t.Helper()
	if len(headers)%2 != 0 {
		c.host.t.Fatalf("filtertest: Respond to %s: headers are pairs of a name and a value, and there is one too many: %q", c.name(), headers)
	}
	h := wasmhost.NewHeaders(append([]string{":status", strconv.Itoa(status)}, headers...)...)
	if length(h) < 0 {
		h.Set("content-length", strconv.Itoa(len(body)))
	}
	c.end("Respond", &wasmhost.CalloutReply{Headers: h, Body: []byte(body), Trailers: wasmhost.NewHeaders()}, nil)
}

// Fail is a server that cannot be reached: the filter gets Envoy's 503.
func (c *Callout) Fail() {
	c.host.t.Helper()
	c.end("Fail", nil, errDead)
}

func (c *Callout) end(step string, r *wasmhost.CalloutReply, err error) {
	c.host.t.Helper()
	if !c.Open() {
		c.host.t.Fatalf("filtertest: %s to %s: it has been answered by %s", step, c.name(), c.answered)
	}
	c.answered = step
	c.done(r, err)
	c.host.settle(step + " to " + c.name())
}

func (c *Callout) name() string {
	return fmt.Sprintf("the callout %s %s to %s", c.Headers.Get(":method"), c.Headers.Get(":path"), c.Cluster)
}

// caller is wasmhost's way to the test.
type caller struct{ host *Host }

// HasCluster implements [wasmhost.Caller].
func (c caller) HasCluster(name string) bool { return router(c).HasCluster(name) }

// HasServers implements [wasmhost.Caller].
func (c caller) HasServers(string) bool { return true }

// Call implements [wasmhost.Caller].
func (c caller) Call(o wasmhost.Callout, done func(*wasmhost.CalloutReply, error)) {
	out := &Callout{
		Cluster: o.Cluster, Headers: o.Headers, Body: string(o.Body), Trailers: o.Trailers, Timeout: o.Timeout, host: c.host, done: done,
	}
	if o.Timeout > 0 {
		out.deadline = c.host.now.Add(o.Timeout)
	}
	c.host.callouts = append(c.host.callouts, out)
	if f := c.host.settings.onCallout; f != nil {
		f(out)
	}
}

// expire is the callout's time-out.
func (c *Callout) expire() { c.end("its time-out", nil, context.DeadlineExceeded) }

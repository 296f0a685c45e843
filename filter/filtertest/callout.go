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

// Callout is an HTTP request that the filter makes itself. [Callout.Respond] or [Callout.Fail] answers it, once. When
// [Host.Advance] moves the clock past its timeout, the filter receives the 504 that Envoy sends.
type Callout struct {
	Cluster string
	Headers *Headers
	Body    string
	// Trailers is an empty map if the filter sent no trailers.
	Trailers *Headers
	// Timeout is how long the reply may take; 0 means no limit.
	Timeout time.Duration

	host     *Host
	done     func(*wasmhost.CalloutReply, error)
	deadline time.Time
	answered string
}

var errConnectionRefused = errors.New("connection refused")

// Callout returns the oldest callout without a reply. It fails the test if there is none.
func (h *Host) Callout() *Callout {
	h.t.Helper()
	at := slices.IndexFunc(h.callouts, (*Callout).Open)
	if at < 0 {
		h.t.Fatalf("filtertest: Callout: of the filter's %d callouts none waits for an answer", len(h.callouts))
	}
	return h.callouts[at]
}

// Callouts returns all callouts that the filter has made, oldest first.
func (h *Host) Callouts() []*Callout { return slices.Clone(h.callouts) }

// Open reports whether the callout has no reply yet.
func (c *Callout) Open() bool { return c.answered == "" }

// Respond answers the callout. The headers alternate between names and values. The host adds a content-length if none
// is given. A second answer fails the test.
func (c *Callout) Respond(status int, body string, headers ...string) {
	c.host.t.Helper()
	if len(headers)%2 != 0 {
		c.host.t.Fatalf("filtertest: Respond to %s: headers are pairs of a name and a value, and there is one too many: %q",
			c.name(), headers)
	}
	h := wasmhost.NewHeaders(append([]string{":status", strconv.Itoa(status)}, headers...)...)
	if length(h) < 0 {
		h.Set("content-length", strconv.Itoa(len(body)))
	}
	c.end("Respond", &wasmhost.CalloutReply{Headers: h, Body: []byte(body), Trailers: wasmhost.NewHeaders()}, nil)
}

// Fail answers the callout as if its server could not be reached: the filter receives the 503 that Envoy sends.
func (c *Callout) Fail() {
	c.host.t.Helper()
	c.end("Fail", nil, errConnectionRefused)
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

// caller implements [wasmhost.Caller] by keeping callouts for the test.
type caller struct{ host *Host }

// HasCluster implements [wasmhost.Caller].
func (c caller) HasCluster(name string) bool { return router(c).HasCluster(name) }

// HasServers implements [wasmhost.Caller].
func (c caller) HasServers(string) bool { return true }

// Call implements [wasmhost.Caller].
func (c caller) Call(o wasmhost.Callout, done func(*wasmhost.CalloutReply, error)) {
	out := &Callout{
		Cluster: o.Cluster, Headers: o.Headers, Body: string(o.Body), Trailers: o.Trailers, Timeout: o.Timeout, host: c.host,
		done: done,
	}
	if o.Timeout > 0 {
		out.deadline = c.host.now.Add(o.Timeout)
	}
	c.host.callouts = append(c.host.callouts, out)
	if f := c.host.settings.onCallout; f != nil {
		f(out)
	}
}

// expire ends the callout by its timeout.
func (c *Callout) expire() { c.end("its time-out", nil, context.DeadlineExceeded) }

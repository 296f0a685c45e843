package toolserver

import (
	"net/http"
	"testing"
	"time"
)

// TestApply replaces the operator's servers. Sessions with those that are no longer the same end when no call uses them,
// and no others.
func TestApply(t *testing.T) {
	box := newToolbox(nil)
	changed, kept := serve(t, box.streamable(nil), nil), serve(t, newToolbox(nil).streamable(nil), nil)
	changed.Headers = http.Header{"X-Key": {"old"}}
	asked := changed.With(http.Header{"X-User": {"a"}, "X-Key": {"of a request"}})
	if got := asked.Headers.Get("X-Key"); got != "old" {
		t.Errorf("a request replaces the operator's header: %q", got)
	}
	p := newPool(t, Limits{})
	p.Apply(Terms{Servers: []*Server{changed, kept}})
	sessions := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.sessions)
	}
	mustCall(t, p, changed, "echo")
	mustCall(t, p, kept, "echo")
	failed := make(chan error)
	go func() {
		_, err := p.Call(t.Context(), asked, "", call("wait"))
		failed <- err
	}()
	wait(t, "the call", box.running)
	if n := sessions(); n != 3 {
		t.Fatalf("%d sessions", n)
	}
	now := changed.clone()
	now.Headers = http.Header{"X-Key": {"new"}}
	p.Apply(Terms{Servers: []*Server{now, kept}})
	if n := sessions(); n != 2 {
		t.Errorf("%d sessions are left: one is kept, and one has a call", n)
	}
	close(box.quit)
	wait(t, "its end", failed)
	if p.mu.Lock(); len(p.sessions) != 1 || p.sessions[kept.session("")] == nil {
		t.Errorf("%d sessions are left after the call", len(p.sessions))
	}
	p.mu.Unlock()
	mustCall(t, p, now, "echo")
	p.Apply(Terms{Call: time.Second, Servers: []*Server{now, kept}}) // an HTTP client has it
	if n := sessions(); n != 0 {
		t.Errorf("%d sessions have another time of a call", n)
	}
}

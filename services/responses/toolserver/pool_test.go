package toolserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server that has lost its sessions says so. The call is made once more, in a new session.
func TestSessionIsLost(t *testing.T) {
	box := newToolbox(nil)
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		for name, body := range map[string]string{"a text": "No valid session ID provided",
			"an error": `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}`} {
			t.Run(fmt.Sprint(status, " with ", name), func(t *testing.T) {
				var lost sync.Map
				h := box.streamable(nil)
				s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if _, ok := lost.Load(r.Header.Get("Mcp-Session-Id")); ok {
						w.WriteHeader(status)
						fmt.Fprint(w, body)
						return
					}
					h.ServeHTTP(w, r)
				}), nil)
				p := newPool(t, Limits{})
				session := func() string {
					p.mu.Lock()
					defer p.mu.Unlock()
					return p.sessions[s.session("")].client.ID()
				}
				mustCall(t, p, s, "echo")
				first := session()
				lost.Store(first, true)
				mustCall(t, p, s, "echo")
				if session() == first {
					t.Error("it is the same session")
				}
				lost.Store(session(), true)
				if _, err := p.Tools(t.Context(), s, ""); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A server that refuses every session is asked twice, not for ever.
func TestSessionIsLostForEver(t *testing.T) {
	var calls atomic.Int32
	s := serve(t, rude(func(w http.ResponseWriter, _ *http.Request, m *rpc) {
		if m.Method == methodCall {
			if calls.Add(1) > 1 {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			answer(w, m.ID, textResult("ok"))
		}
	}), nil)
	p := newPool(t, Limits{})
	mustCall(t, p, s, "x")
	_, err := p.Call(t.Context(), s, "", call("x"))
	if e := fails[*HTTPError](t, err); e != nil && e.Status != 404 {
		t.Error(e)
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls came", n)
	}
}

// A session that turns out to be broken before the call has been sent is made anew.
func TestSessionIsBroken(t *testing.T) {
	s := serve(t, newToolbox(nil).streamable(nil), nil)
	p := newPool(t, Limits{})
	mustCall(t, p, s, "echo")
	p.mu.Lock()
	first := p.sessions[s.session("")]
	p.mu.Unlock()
	first.stop(&ConnectionError{connectionLost})
	mustCall(t, p, s, "echo")
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions[s.session("")] == first {
		t.Error("it is the same session")
	}
}

// A call that the server has seen is not made again, though its answer is lost.
func TestNoCallRunsTwice(t *testing.T) {
	var calls atomic.Int32
	s := serve(t, rude(func(w http.ResponseWriter, _ *http.Request, m *rpc) {
		if m.Method != methodCall {
			return
		}
		if calls.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
		answer(w, m.ID, textResult("ok"))
	}), nil)
	p := newPool(t, Limits{})
	mustCall(t, p, s, "x")
	_, err := p.Call(t.Context(), s, "", call("x"))
	fails[*ConnectionError](t, err)
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls came", n)
	}
}

// count returns how many sessions there are.
func (p *Pool) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sessions)
}

// The stream of a server of the older kind ends between two calls. The next call has a new one.
func TestStreamEnds(t *testing.T) {
	box := newToolbox(nil)
	h := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return box.Server }, nil)
	end := make(chan struct{})
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			select {
			case <-end:
				cancel()
			case <-ctx.Done():
			}
		}()
		h.ServeHTTP(w, r.WithContext(ctx))
	}), nil)
	p := newPool(t, Limits{})
	mustCall(t, p, s, "echo")
	end <- struct{}{}
	eventually(t, "the end of the session", func() bool { return p.count() == 0 })
	mustCall(t, p, s, "echo")
}

func TestSessionsAreShared(t *testing.T) {
	s := serve(t, rude(func(w http.ResponseWriter, _ *http.Request, m *rpc) { answer(w, m.ID, textResult("ok")) }), nil)
	p := newPool(t, Limits{})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := p.Call(context.Background(), s, "a", call("x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := p.count(); n != 1 {
		t.Errorf("there are %d sessions", n)
	}
	if _, err := p.Call(t.Context(), s, "b", call("x")); err != nil {
		t.Error(err)
	}
	other := *s
	other.Headers = http.Header{"Authorization": {"b"}}
	if _, err := p.Call(t.Context(), &other, "b", call("x")); err != nil {
		t.Error(err)
	}
	if n := p.count(); n != 3 {
		t.Errorf("there are %d sessions", n)
	}
}

// Calls of one session wait when there are too many of them.
func TestCallsWait(t *testing.T) {
	running, finish := make(chan struct{}, 10), make(chan struct{})
	var open, most atomic.Int32
	s := serve(t, rude(func(w http.ResponseWriter, _ *http.Request, m *rpc) {
		most.Store(max(most.Load(), open.Add(1)))
		defer open.Add(-1)
		running <- struct{}{}
		<-finish
		answer(w, m.ID, textResult("ok"))
	}), nil)
	p := newPool(t, Limits{SessionCalls: 2})
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if _, err := p.Call(context.Background(), s, "", call("x")); err != nil {
				t.Error(err)
			}
		})
	}
	wait(t, "a call", running)
	wait(t, "a call", running)
	// A caller that waits can leave.
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := p.Call(ctx, s, "", call("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it is %v", err)
	}
	close(finish)
	all.Wait()
	if most.Load() != 2 {
		t.Errorf("%d calls ran at once", most.Load())
	}
}

// There are as many sessions as there may be. One that is not used makes room for another, and no tenant can have all.
func TestSessionsAreLimited(t *testing.T) {
	box := newToolbox(nil)
	s := serve(t, box.streamable(nil), nil)
	p := newPool(t, Limits{Sessions: 4})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	busy := func(tenant string, key string) {
		server := *s
		server.Headers = http.Header{"Key": {key}}
		all.Go(func() { _, _ = p.Call(ctx, &server, tenant, call("wait")) })
		wait(t, "the call", box.running)
	}
	idle := func(tenant, key string) error {
		server := *s
		server.Headers = http.Header{"Key": {key}}
		_, err := p.Call(t.Context(), &server, tenant, call("echo"))
		return err
	}
	busy("a", "1")
	if err := errors.Join(idle("a", "2"), idle("a", "3"), idle("a", "4")); err != nil {
		t.Error(err)
	}
	if n := p.count(); n != 2 {
		t.Errorf("one tenant has %d sessions", n)
	}
	busy("a", "5")
	if e := fails[*LimitError](t, idle("a", "6")); e != nil && e.Limit != 2 {
		t.Errorf("it is %v", e)
	}
	busy("b", "1")
	busy("c", "1")
	if e := fails[*LimitError](t, idle("d", "1")); e != nil && e.Limit != 4 {
		t.Errorf("it is %v", e)
	}
	cancel()
	all.Wait()
	if err := idle("d", "1"); err != nil {
		t.Error(err)
	}
}

// A session that is not used is closed, at the server too.
func TestIdleSessionsEnd(t *testing.T) {
	ended := make(chan struct{}, 1)
	s := serve(t, newToolbox(nil).streamable(nil), func(r *http.Request) {
		if r.Method == http.MethodDelete {
			ended <- struct{}{}
		}
	})
	p := newPool(t, Limits{Idle: time.Millisecond})
	mustCall(t, p, s, "echo")
	wait(t, "the end of the session", ended)
	mustCall(t, p, s, "echo")
}

// Messages that are received at once have a limit, and no tenant can use all of it.
func TestMemory(t *testing.T) {
	release := make(chan struct{})
	half := make(chan struct{}, 10)
	s := serve(t, rude(func(w http.ResponseWriter, r *http.Request, m *rpc) {
		w.Header().Set("Content-Type", "application/json")
		start := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,`, m.ID) + textResult(string(make([]byte, 20<<10)))
		fmt.Fprint(w, start)
		w.(http.Flusher).Flush()
		half <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "}")
	}), nil)
	// textResult writes each zero as six bytes.
	p := newPool(t, Limits{Memory: 300 << 10})
	type outcome struct {
		tenant string
		err    error
	}
	done := make(chan outcome, 3)
	ask := func(tenant string) {
		go func() {
			_, err := p.Call(context.Background(), s, tenant, call("x"))
			done <- outcome{tenant, err}
		}()
		wait(t, "half of an answer", half)
	}
	taken := func(want int64) {
		eventually(t, "half of an answer is read", func() bool {
			p.memory.mu.Lock()
			defer p.memory.mu.Unlock()
			return p.memory.taken >= want
		})
	}
	ask("a")
	taken(120 << 10)
	ask("a")
	o := wait(t, "the end of the second call", done)
	if e := fails[*LimitError](t, o.err); e != nil && e.Limit != 150<<10 {
		t.Errorf("it is %v", e)
	}
	ask("b")
	taken(240 << 10)
	close(release)
	for range 2 {
		if o := wait(t, "the end of the call", done); o.err != nil {
			t.Errorf("%s: %v", o.tenant, o.err)
		}
	}
}

// When the pool is closed, all calls end, and nothing is left of them.
func TestClose(t *testing.T) {
	box := newToolbox(nil)
	before := runtime.NumGoroutine()
	streamable := serve(t, box.streamable(nil), nil)
	older := serve(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return box.Server }, nil), nil)
	hanging := serve(t, silent, nil)
	p := NewPool(Limits{}, nil, slog.New(slog.DiscardHandler))
	errs := make(chan error)
	for _, s := range []*Server{streamable, older, hanging} {
		go func() {
			_, err := p.Call(context.Background(), s, "", call("wait"))
			errs <- err
		}()
	}
	wait(t, "a call", box.running)
	wait(t, "a call", box.running)
	eventually(t, "three sessions", func() bool { return p.count() == 3 })
	closePool(t, p)
	close(box.quit)
	for range 3 {
		if err := wait(t, "the end of a call", errs); !errors.Is(err, ErrClosed) {
			t.Errorf("it ends with %v", err)
		}
	}
	for _, f := range []func() error{
		func() error { _, err := p.Call(t.Context(), streamable, "", call("echo")); return err },
		func() error { _, err := p.Tools(t.Context(), streamable, ""); return err },
	} {
		if err := f(); !errors.Is(err, ErrClosed) {
			t.Errorf("a closed pool answers %v", err)
		}
	}
	p.Close()
	// The SDK's server keeps some goroutines of its sessions.
	eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() < before+25 })
}

// A server that does not answer the handshake, or nobody there at all, is an error soon.
func TestNobodyThere(t *testing.T) {
	server := serve(t, silent, nil)
	p := newPool(t, Limits{Connect: 50 * time.Millisecond})
	for _, transport := range []Transport{Any, StreamableHTTP, SSE} {
		s := *server
		s.Transport = transport
		_, err := p.Call(t.Context(), &s, "", call("x"))
		if e := fails[*TimeoutError](t, err); e != nil && e.What != whatConnecting {
			t.Errorf("it is %v", e)
		}
	}
	p = newPool(t, Limits{})
	_, err := p.Call(t.Context(), &Server{URL: "http://127.0.0.1:1/mcp", Private: true}, "", call("x"))
	fails[*ConnectionError](t, err)
	_, err = p.Call(t.Context(), &Server{URL: "nobody"}, "", call("x"))
	fails[*ServerError](t, err)
}

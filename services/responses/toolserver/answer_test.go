package toolserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// events begins an answer that is a stream of events.
func events(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
}

// A bad answer is an error of its own kind, of this call only: the session stays, and other calls of it go on.
func TestBadAnswers(t *testing.T) {
	status := func(code int, body string) func(http.ResponseWriter, *http.Request, *rpc) {
		return func(w http.ResponseWriter, _ *http.Request, _ *rpc) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	isStatus := func(code int) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			if e := fails[*HTTPError](t, err); e != nil && e.Status != code {
				t.Errorf("the status is %d", e.Status)
			}
		}
	}
	isProtocol := func(code int64, message string) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			if e := fails[*ProtocolError](t, err); e != nil && (e.Code != code || !strings.Contains(e.Message, message)) {
				t.Errorf("it is %+v", e)
			}
		}
	}
	isLost := func(t *testing.T, err error) { fails[*ConnectionError](t, err) }
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request, *rpc)
		want   func(*testing.T, error)
	}{
		"401": {status(401, "secret"), isStatus(401)},
		"403 with an error": {status(403, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"secret"}}`),
			isStatus(403)},
		"418":               {status(418, ""), isStatus(418)},
		"429":               {status(429, "secret"), isStatus(429)},
		"500":               {status(500, "secret"), isStatus(500)},
		"503 with an error": {status(503, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"secret"}}`), isStatus(503)},
		"307":               {status(307, ""), isStatus(307)},
		"400 with an error": {status(400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`),
			isProtocol(-32602, "no")},
		"HTML": {status(200, "<html>secret"), isProtocol(0, "not JSON")},
		"202":  {status(202, ""), isProtocol(0, "not JSON")},
		"an error": {func(w http.ResponseWriter, _ *http.Request, m *rpc) {
			answer(w, m.ID, `"error":{"code":-32004,"message":"`+strings.Repeat("ü", 1000)+`"}`)
		}, isProtocol(-32004, "üüü")},
		"not JSON-RPC": {func(w http.ResponseWriter, _ *http.Request, _ *rpc) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"content":[]}`)
		}, isProtocol(0, "JSON-RPC")},
		"no result": {func(w http.ResponseWriter, _ *http.Request, m *rpc) { answer(w, m.ID, `"x":1`) }, isProtocol(0, "")},
		"a result of another form": {func(w http.ResponseWriter, _ *http.Request, m *rpc) {
			answer(w, m.ID,
				`"result":[1]`)
		}, isProtocol(0, "cannot be read")},
		"input is wanted": {func(w http.ResponseWriter, _ *http.Request, m *rpc) {
			answer(w, m.ID,
				`"result":{"resultType":"input_required","inputRequests":`+
					`{"a":{"method":"elicitation/create","params":{"message":"?"}}}}`)
		}, isProtocol(0, "input")},
		"compressed": {func(w http.ResponseWriter, _ *http.Request, _ *rpc) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "application/json")
		}, isProtocol(0, "compressed")},
		"cut off": {func(w http.ResponseWriter, _ *http.Request, _ *rpc) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"jsonrpc":`)
			panic(http.ErrAbortHandler)
		}, isLost},
		"aborted":         {func(http.ResponseWriter, *http.Request, *rpc) { panic(http.ErrAbortHandler) }, isLost},
		"an empty stream": {func(w http.ResponseWriter, _ *http.Request, _ *rpc) { events(w) }, isLost},
		"an aborted stream": {func(w http.ResponseWriter, _ *http.Request, _ *rpc) {
			events(w)
			fmt.Fprint(w,
				": x\n\ndata: {")
			panic(http.ErrAbortHandler)
		}, isLost},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, Limits{})
			running, finish := make(chan struct{}), make(chan struct{})
			s := serve(t, rude(func(w http.ResponseWriter, r *http.Request, m *rpc) {
				switch {
				case strings.Contains(string(m.Params), `"good"`):
					running <- struct{}{}
					<-finish
					answer(w, m.ID, textResult("good"))
				case m.Method == methodCall:
					c.answer(w, r, m)
				}
			}), nil)
			type outcome struct {
				r   *Result
				err error
			}
			good := make(chan outcome)
			go func() {
				r, err := p.Call(context.Background(), s, "", call("good"))
				good <- outcome{r, err}
			}()
			wait(t, "the other call", running)
			_, err := p.Call(t.Context(), s, "", call("bad"))
			c.want(t, err)
			close(finish)
			if o := wait(t, "the end of the other call", good); o.err != nil || o.r.Text != "good" {
				t.Errorf("the other call ends with %+v, %v", o.r, o.err)
			}
		})
	}
}

// endless writes until the client has gone, and reports how much that was.
func endless(w io.Writer, part string, written *atomic.Int64, done chan<- struct{}) {
	part = strings.Repeat(part, 1+(64<<10)/len(part))
	for range (50 << 20) / len(part) {
		n, err := io.WriteString(w, part)
		written.Add(int64(n))
		if err != nil {
			break
		}
	}
	done <- struct{}{}
}

// An answer of 50 MB is not read. The error has the limit.
func TestLargeAnswers(t *testing.T) {
	const limit = 256 << 10
	for name, write := range map[string]func(http.ResponseWriter, *rpc) string{
		"JSON": func(w http.ResponseWriter, m *rpc) string {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
			return "a"
		},
		"an event": func(w http.ResponseWriter, m *rpc) string {
			events(w)
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
			return "a"
		},
		"lines of an event": func(w http.ResponseWriter, _ *rpc) string { events(w); return "data: [\n" },
		"comments":          func(w http.ResponseWriter, _ *rpc) string { events(w); return ": still here\n\n" },
		"notifications": func(w http.ResponseWriter, _ *rpc) string {
			events(w)
			return `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + "\n\n"
		},
		"questions": func(w http.ResponseWriter, _ *rpc) string {
			events(w)
			return `data: {"jsonrpc":"2.0","id":"q","method":"ping"}` + "\n\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, Limits{Message: limit})
			var written atomic.Int64
			done := make(chan struct{}, 1)
			s := serve(t, rude(func(w http.ResponseWriter, _ *http.Request, m *rpc) {
				if m.Method == methodCall {
					part := write(w, m)
					endless(w, part, &written, done)
				}
			}), nil)
			_, err := p.Call(t.Context(), s, "", call("x"))
			if e := fails[*LimitError](t, err); e != nil && (e.Limit != limit || !strings.Contains(e.Error(), "262144")) {
				t.Errorf("it is %v", e)
			}
			wait(t, "the end of the answer", done)
			if n := written.Load(); n > 30<<20 { // what the kernel has taken, and no more
				t.Errorf("%d bytes were read", n)
			}
		})
	}
}

// The same of a server that answers on one stream for the whole session.
func TestLargeEvents(t *testing.T) {
	for name, part := range map[string]string{"a line": "a", "comments": ": " + strings.Repeat("x", 1000) + "\n\n",
		"lines": "data: [\n"} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, Limits{Message: 256 << 10})
			var written atomic.Int64
			done := make(chan struct{}, 1)
			s := serve(t, rudeEvents(func(w http.ResponseWriter, m *rpc) {
				if len(done) == 0 && written.Load() == 0 {
					endless(w, part, &written, done)
					return
				}
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n\n", m.ID, textResult("ok"))
			}), nil)
			s.Transport = SSE
			_, err := p.Call(t.Context(), s, "", call("x"))
			if e := fails[*LimitError](t, err); e != nil && e.Limit != p.limits.Message {
				t.Errorf("it is %v", e)
			}
			wait(t, "the end of the stream", done)
			if n := written.Load(); n > 30<<20 {
				t.Errorf("%d bytes were read", n)
			}
			if text := mustCall(t, p, s, "x"); text != "ok" {
				t.Errorf("the next session answers %s", text)
			}
		})
	}
}

// A server of the older kind that hangs is connected to anew by the next call; one that has sent anything is not.
func TestHangingStream(t *testing.T) {
	for name, silent := range map[string]bool{"silent": true, "alive": false} {
		t.Run(name, func(t *testing.T) {
			var streams atomic.Int32
			var calls atomic.Int32
			s := serve(t, rudeEvents(func(w http.ResponseWriter, m *rpc) {
				switch {
				case calls.Add(1) > 1:
					fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n\n", m.ID, textResult("ok"))
				case !silent:
					fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
				}
			}), func(r *http.Request) {
				if r.Method == http.MethodGet {
					streams.Add(1)
				}
			})
			s.Transport = SSE
			p := newPool(t, Limits{})
			limitCalls(p, 500*time.Millisecond)
			_, err := p.Call(t.Context(), s, "", call("x"))
			fails[*TimeoutError](t, err)
			limitCalls(p, time.Minute)
			mustCall(t, p, s, "x")
			if n := streams.Load(); n != 1 && !silent || n != 2 && silent {
				t.Errorf("there were %d streams", n)
			}
		})
	}
}

// A server that sends a byte now and then does not hold a call for longer than the limit, nor after its client has
// gone.
func TestSlowAnswers(t *testing.T) {
	for name, kind := range map[string]struct{ contentType, part string }{
		"JSON":   {"application/json", " "},
		"events": {"text/event-stream", ":\n"},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{}, 2)
			began := make(chan struct{}, 2)
			s := serve(t, rude(func(w http.ResponseWriter, r *http.Request, m *rpc) {
				if m.Method != methodCall {
					return
				}
				w.Header().Set("Content-Type", kind.contentType)
				began <- struct{}{}
				for r.Context().Err() == nil {
					fmt.Fprint(w, kind.part)
					w.(http.Flusher).Flush()
					select {
					case <-r.Context().Done():
					case <-time.After(time.Millisecond):
					}
				}
				ended <- struct{}{}
			}), nil)
			p := newPool(t, Limits{Call: 200 * time.Millisecond})
			_, err := p.Call(t.Context(), s, "", call("x"))
			if e := fails[*TimeoutError](t, err); e != nil && (e.After != p.terms.Load().Call || !errors.Is(err,
				context.DeadlineExceeded)) {
				t.Errorf("it is %v", e)
			}
			wait(t, "the end of the answer", ended)
			<-began

			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-began
				cancel()
			}()
			p = newPool(t, Limits{})
			if _, err := p.Call(ctx, s, "", call("x")); !errors.Is(err, context.Canceled) {
				t.Errorf("it is %v", err)
			}
			wait(t, "the end of the answer", ended)
		})
	}
}

// A server that asks without end, and reads no answers, gets a few requests at a time.
func TestQuestionsWithoutEnd(t *testing.T) {
	var open, most atomic.Int32
	release := make(chan struct{})
	s := serve(t, rude(func(w http.ResponseWriter, r *http.Request, m *rpc) {
		if m.Method != methodCall {
			most.Store(max(most.Load(), open.Add(1)))
			defer open.Add(-1)
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		events(w)
		for i := range 10_000 {
			if _, err := fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q%d\",\"method\":\"ping\"}\n\n", i); err != nil {
				return
			}
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}), nil)
	before := runtime.NumGoroutine()
	p := newPool(t, Limits{Call: time.Second})
	_, err := p.Call(t.Context(), s, "", call("x"))
	if err == nil {
		t.Error("there is an answer")
	}
	if n := most.Load(); n == 0 || n > maxAside {
		t.Errorf("%d answers were sent at once", n)
	}
	close(release)
	p.Close()
	eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() < before+20 })
}

// A cancelled call is one at the server too.
func TestCancel(t *testing.T) {
	box := newToolbox(nil)
	for name, server := range map[string]*Server{
		"streamable": serve(t, box.streamable(nil), nil),
		"events":     serve(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return box.Server }, nil), nil),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, Limits{})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-box.running
				cancel()
			}()
			if _, err := p.Call(ctx, server, "", call("wait")); !errors.Is(err, context.Canceled) {
				t.Errorf("it is %v", err)
			}
			wait(t, "the end of the tool", box.stopped)
			if text := mustCall(t, p, server, "echo"); text == "" {
				t.Error("no text")
			}
		})
	}
}

func TestArguments(t *testing.T) {
	s := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") }), nil)
	p := newPool(t, Limits{})
	for _, arguments := range []string{"[]", `"a"`, "1", "null", "{", `{"a":}`, `{"a":1}}`, `{"a":1} {}`, "{'a':1}",
		"print(1)", "\x00"} {
		_, err := p.Call(t.Context(), s, "", &Call{Name: "x", Arguments: []byte(arguments)})
		fails[*ArgumentsError](t, err)
	}
}

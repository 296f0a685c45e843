package page

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/sight/history"
)

// changing is a status that a test changes.
type changing struct{ n, looks atomic.Int64 }

func (c *changing) status() any {
	c.looks.Add(1)
	return map[string]int64{"n": c.n.Load()}
}

// serveLive serves a page that looks as often as it can.
func serveLive(t *testing.T, s Source) *httptest.Server {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(handler(s, time.Millisecond))
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	t.Cleanup(func() {
		cancel()
		server.Close()
	})
	return server
}

// events reads a stream of events.
type events struct {
	response *http.Response
	lines    *bufio.Scanner
}

func open(t *testing.T, server *httptest.Server, path string) *events {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("content-type") != "text/event-stream" {
		t.Fatalf("%s: %+v", path, response)
	}
	e := &events{response: response, lines: bufio.NewScanner(response.Body)}
	e.lines.Buffer(nil, 1<<20)
	return e
}

// next returns the next event of a name.
func (e *events) next(t *testing.T, name string) string {
	t.Helper()
	for e.lines.Scan() {
		if e.lines.Text() != "event: "+name {
			continue
		}
		e.lines.Scan()
		return strings.TrimPrefix(e.lines.Text(), "data: ")
	}
	t.Fatalf("the stream ended: %v", e.lines.Err())
	return ""
}

func TestLive(t *testing.T) {
	c := &changing{}
	s := source()
	s.Status = c.status
	var now atomic.Int64
	now.Store(1_700_000_000)
	s.History = history.New(history.Options{Now: func() time.Time { return time.Unix(now.Load(), 0) }})
	server := serveLive(t, s)
	e := open(t, server, "/api/live")
	if got := e.next(t, "status"); got != `{"n":0}` {
		t.Errorf("the first status is %s", got)
	}
	c.n.Store(1)
	if got := e.next(t, "status"); got != `{"n":1}` {
		t.Errorf("the second status is %s", got)
	}
	s.History.Set(time.Unix(now.Load(), 0), history.Envoys, nil, 7)
	now.Add(6)
	want := `{"time":1700000000,"series":[{"name":"envoys","labels":{},"value":7},`
	if got := e.next(t, "sample"); !strings.HasPrefix(got, want) {
		t.Errorf("the sample is %s", got)
	}
	second := open(t, server, "/api/live") // it gets the present status without a change
	if got := second.next(t, "status"); got != `{"n":1}` {
		t.Errorf("the second viewer's status is %s", got)
	}
}

// TestNoViewer: nothing looks while nobody does.
func TestNoViewer(t *testing.T) {
	c := &changing{}
	s := source()
	s.Status = c.status
	l := newLive(s, time.Millisecond)
	before := runtime.NumGoroutine()
	for range 3 {
		v := l.join(t.Context())
		<-v.wake
		l.leave(v)
	}
	for runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
	if v := l.join(t.Context()); v.status != nil {
		t.Error("a viewer gets a status from before")
	} else {
		l.leave(v)
	}
}

// TestSlowViewer: what waits for a viewer that does not read is bounded, and the newest is in it.
func TestSlowViewer(t *testing.T) {
	l := newLive(source(), time.Hour)
	v := l.join(t.Context())
	defer l.leave(v)
	<-v.wake
	for i := range 10 * maxQueue {
		l.tell(t.Context(), func(v *viewer) {
			v.push(fmt.Append(nil, i))
			v.status = fmt.Append(nil, "status ", i)
		}, func() bool { return true })
	}
	all := l.take(v)
	if len(all) != maxQueue+1 || string(all[0]) != fmt.Sprint("status ", 10*maxQueue-1) ||
		string(all[maxQueue]) != fmt.Sprint(10*maxQueue-1) {
		t.Errorf("%d events wait, the first is %s and the last %s", len(all), all[0], all[len(all)-1])
	}
}

// TestStatusRate: a large status is sent to many viewers at a bounded rate.
func TestStatusRate(t *testing.T) {
	l := newLive(source(), time.Hour)
	for range maxViewers {
		l.viewers[&viewer{}] = struct{}{}
	}
	l.status = make([]byte, 1<<20)
	if got := l.sending(); got < 30*time.Second || got > 33*time.Second {
		t.Errorf("a megabyte for a thousand viewers takes %s", got)
	}
}

// TestManyViewers: a thousand viewers see a change, one more is refused, and nothing is left when they leave.
func TestManyViewers(t *testing.T) {
	c := &changing{}
	s := source()
	s.Status = c.status
	server := serveLive(t, s)
	before := runtime.NumGoroutine()
	viewers := make([]*events, maxViewers)
	var opened sync.WaitGroup
	for i := range viewers {
		opened.Go(func() { viewers[i] = open(t, server, "/api/live") })
	}
	opened.Wait()
	if status, body := ask(t, server, http.MethodGet, "/api/live"); status != http.StatusServiceUnavailable ||
		!strings.Contains(body, "1000 browsers") {
		t.Errorf("one too many: %d %s", status, body)
	}
	c.n.Store(5)
	for _, e := range viewers {
		for {
			var got struct{ N int64 }
			if err := json.Unmarshal([]byte(e.next(t, "status")), &got); err != nil {
				t.Fatal(err)
			}
			if got.N == 5 {
				break
			}
		}
	}
	for _, e := range viewers {
		e.response.Body.Close()
	}
	server.Client().CloseIdleConnections()
	for runtime.NumGoroutine() > before {
		time.Sleep(time.Millisecond)
	}
}

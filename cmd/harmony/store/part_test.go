package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// patience is how long anything in these tests may take.
const patience = 20 * time.Second

// partTest is a part that runs as in a control plane.
type partTest struct {
	*Part
	t             *testing.T
	store, listen string
	ended         chan error // how Run has ended
	end           func() error
}

func runPart(t *testing.T, change func(*PartOptions)) *partTest {
	t.Helper()
	o := PartOptions{Program: "harmony tested", Runs: (*config.ResponsesService).Runs, DrainTime: patience,
		Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	p := &partTest{Part: NewPart(o), t: t, store: filepath.Join(t.TempDir(), "r.db"), listen: l.Addr().String(),
		ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { p.ended <- p.Run(ctx) }()
	p.end = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-p.ended:
			return err
		case <-time.After(patience):
			return errors.New("it does not end")
		}
	})
	t.Cleanup(func() {
		p.Cut()
		_ = p.end()
	})
	return p
}

// without is a version without the service, and with one that has it. more are further settings.
func (p *partTest) without() *follow.Version { return p.version("") }

func (p *partTest) with(more string) *follow.Version {
	return p.version(fmt.Sprintf("responses_service: {store: %q, listen: %q, gateway: 'http://127.0.0.1:1'}\n%s", p.store,
		p.listen, more))
}

func (p *partTest) version(more string) *follow.Version {
	p.t.Helper()
	f := follow.Open(follow.Options{File: clitest.WriteFile(p.t, "c.yaml", oneModel+more)})
	defer f.Close()
	v, err := f.Read()
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// apply applies a version, which must not be refused.
func (p *partTest) apply(v *follow.Version) {
	p.t.Helper()
	if err := errors.Join(p.Check(p.t.Context(), v), p.Apply(p.t.Context(), v)); err != nil {
		p.t.Fatal(err)
	}
}

// ready reports whether the service answers, from its store.
func (p *partTest) ready() bool {
	r, err := http.Get("http://" + p.listen + contract.ServiceReadyPath)
	if err != nil {
		return false
	}
	r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// hang begins a request that runs until end is called, or the service cuts it. end reports whether it was answered.
func (p *partTest) hang() (end func() bool) {
	p.t.Helper()
	conn, err := net.Dial("tcp", p.listen)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close() })
	const body = `{"model":"m","input":1}`
	fmt.Fprintf(conn, "POST /v1/responses HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"+
		"Connection: close\r\nContent-Length: %d\r\n\r\n", len(body))
	if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))); err != nil {
		p.t.Fatal(err) // it runs when it has read this
	}
	return func() bool {
		_, _ = io.WriteString(conn, body)
		answer, _ := io.ReadAll(conn)
		return strings.HasPrefix(string(answer), "HTTP/1.1 4")
	}
}

func (p *partTest) until(what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("not so: %s", what)
		}
	}
}

// TestServiceComesBack takes the service away under a request that runs, and gives it back: soon, when it has begun to
// end, and with another store.
func TestServiceComesBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		late  bool
		other string
	}{{"soon", false, ""}, {"while it ends", true, ""}, {"soon with another store", false, "other.db"},
		{"while it ends with another store", true, "other.db"}} {
		t.Run(c.name, func(t *testing.T) {
			p := runPart(t, nil)
			if p.envoysTime = time.Hour; c.late {
				p.envoysTime = time.Millisecond
			}
			p.apply(p.with(""))
			end := p.hang()
			p.apply(p.without())
			if c.late {
				p.until("it takes no connection", func() bool {
					conn, err := net.Dial("tcp", p.listen)
					if err == nil {
						conn.Close()
					}
					return err != nil
				})
			}
			if c.other != "" {
				p.store = filepath.Join(t.TempDir(), c.other)
			}
			p.apply(p.with(""))
			if !p.ready() {
				t.Error("it does not serve")
			}
			if _, err := os.Stat(p.store); err != nil {
				t.Error(err)
			}
			if !end() {
				t.Error("the request is cut")
			}
			if !p.ready() {
				t.Error("it does not serve when the request has ended")
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRefusedService gives a program that has no service one that cannot begin. The program goes on, and takes the
// next.
func TestRefusedService(t *testing.T) {
	p := runPart(t, func(o *PartOptions) { o.Fatal = true })
	p.apply(p.without())
	good := p.store
	p.store = filepath.Join(t.TempDir(), "none", "r.db")
	if err := p.Apply(t.Context(), p.with("")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a store in no folder: %v", err)
	}
	p.store = good
	l, err := net.Listen("tcp", p.listen)
	if err != nil {
		t.Fatal(err)
	}
	accessLog := filepath.Join(t.TempDir(), "access.log")
	logged := "responses_service: {store: '" + p.store + "', listen: '" + p.listen + "', access_log: '" + accessLog +
		"', gateway: 'http://127.0.0.1:1'}\n"
	for range 3 {
		if err := p.Apply(t.Context(), p.version(logged)); err == nil || !strings.Contains(err.Error(), "is in use") {
			t.Errorf("a port in use: %v", err)
		}
	}
	l.Close()
	p.apply(p.version(logged))
	p.apply(p.without())
	p.apply(p.version(logged))
	if !p.ready() {
		t.Error("the next is not taken")
	}
	if n := opened(t, accessLog); n != 1 {
		t.Errorf("the access log is open %d times", n)
	}
	select {
	case err := <-p.ended:
		t.Fatalf("the program has ended: %v", err)
	default:
	}
}

// opened returns how many descriptors of this process are of a file.
func opened(t *testing.T, file string) (n int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range all {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); to == file {
			n++
		}
	}
	return n
}

// TestStartSettings checks what a service that runs does not take.
func TestStartSettings(t *testing.T) {
	p := runPart(t, nil)
	p.apply(p.with(""))
	p.store += "2"
	err := p.Check(t.Context(), p.with(""))
	var wrong *config.Error
	if !errors.As(err, &wrong) || wrong.Field != "responses_service.store" ||
		!strings.Contains(wrong.Reason, "takes effect at the next start") ||
		!strings.Contains(wrong.Reason, "harmony tested") {
		t.Errorf("another store: %v", err)
	}
	err = p.Check(t.Context(), p.version("tracing: {url: 'https://h:4317'}\nca_file: /nowhere\n"+
		"responses_service: {store: '"+strings.TrimSuffix(p.store, "2")+"', listen: '"+p.listen+"'}\n"))
	if !errors.As(err, &wrong) || wrong.Field != "tracing" {
		t.Errorf("no certificates of the collector: %v", err)
	}
}

// TestInterruptedBeginning checks that nobody waits for a store that does not answer when the program is to end.
func TestInterruptedBeginning(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	p := runPart(t, nil)
	p.store = "postgres://" + silent.Addr().String() + "/r"
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		_, _ = silent.Accept()
		interrupt()
	}()
	began := time.Now()
	if err := p.Apply(ctx, p.with("")); err != nil || time.Since(began) > storePatience*9/10 {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// TestSpansOfRequests checks that the span of the version with which the service has begun is not that of its requests.
func TestSpansOfRequests(t *testing.T) {
	got := make(chan *collector.ExportTraceServiceRequest, 100)
	to := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var all collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &all); err != nil {
			t.Error(err)
		}
		got <- &all
	}))
	defer to.Close()
	p := runPart(t, nil)
	begun := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled}))
	if err := p.Apply(begun, p.with("tracing: {url: '"+to.URL+"/v1/traces', share: 100%}\n")); err != nil {
		t.Fatal(err)
	}
	r, err := http.Get("http://" + p.listen + "/v1/responses/resp_1")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	select {
	case all := <-got:
		if parent := all.ResourceSpans[0].ScopeSpans[0].Spans[0].ParentSpanId; len(parent) > 0 {
			t.Errorf("a request's span is part of %x", parent)
		}
	case <-time.After(patience):
		t.Error("no span")
	}
}

// TestServiceUnderCommands gives and takes the service while the program asks for it, and ends both at once. The race
// detector looks on.
func TestServiceUnderCommands(t *testing.T) {
	p := runPart(t, func(o *PartOptions) { o.DrainTime = time.Millisecond })
	p.envoysTime = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asking.Go(func() {
		for ctx.Err() == nil {
			_, _ = p.Service(), p.Address()
			p.Drain()
		}
	})
	with, without := p.with(""), p.without()
	for i := range 20 {
		p.apply(with)
		p.apply(without)
		if i%2 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	ended := make(chan error)
	go func() { ended <- p.end() }()
	for range 5 {
		_ = p.Apply(t.Context(), with) // the program may have ended
		_ = p.Apply(t.Context(), without)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	cancel()
	asking.Wait()
}

// TestClearStore checks that the answer at /ready says whether what is stored is encrypted.
func TestClearStore(t *testing.T) {
	const key = "a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	for keys, want := range map[string]string{"": contract.ClearStore, key: ""} {
		t.Setenv(store.KeysVariable, keys)
		p := runPart(t, nil)
		p.apply(p.with(""))
		r, err := http.Get("http://" + p.listen + contract.ServiceReadyPath)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if got := r.Header.Get(contract.StoreHeader); got != want {
			t.Errorf("keys %q: %q, want %q", keys, got, want)
		}
		if err := p.end(); err != nil {
			t.Error(err)
		}
	}
}

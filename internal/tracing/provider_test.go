package tracing

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/memlog"
)

// TestDead has a collector that takes connections and never answers, and one that is not there. Neither holds up who
// makes spans, an end takes a bounded time, and one line is logged.
func TestDead(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for _, o := range []Options{{Host: silent.Addr().String()}, {Host: silent.Addr().String(), Path: "/v1/traces"},
		{Host: gone.Addr().String()}, {Host: gone.Addr().String(), Path: "/v1/traces"}} {
		log := &memlog.Log{}
		o.Share, o.Log = 1, slog.New(slog.NewTextHandler(log, nil))
		p, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		tracer := p.Tracer("test")
		began := time.Now()
		for range 100_000 {
			_, span := tracer.Start(t.Context(), "one")
			span.End()
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%+v: 100,000 spans took %s", o, took)
		}
		began = time.Now()
		p.Close()
		t.Logf("%s%s: the end took %s", o.Host, o.Path, time.Since(began))
		if took := time.Since(began); took > closeTimeout+5*time.Second {
			t.Errorf("%+v: the end took %s", o, took)
		}
		if n := strings.Count(log.String(), "\n"); n > 1 || o.Host == gone.Addr().String() && n != 1 {
			t.Errorf("%+v: %d lines are logged:\n%s", o, n, log)
		}
	}
}

func TestNone(t *testing.T) {
	var p *Provider
	if p.Tracer("test") != nil {
		t.Error("a provider that is none has a tracer")
	}
	p.Close()
}

func TestCertificates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ca := range []string{file, file + ".none"} {
		if _, err := New(Options{Host: "127.0.0.1:1", TLS: true, CAFile: ca, Log: slog.Default()}); err == nil {
			t.Errorf("%s is taken for certificates", ca)
		}
	}
}

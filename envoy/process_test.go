package envoy

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

// The tests of this file use shell scripts in place of Envoy, for what a program can do wrong.

func TestStartReportsAnEnvoyThatGivesUp(t *testing.T) {
	path := program(t, "envoy", goodVersion+"\necho 'cannot bind 127.0.0.1:80' >&2\nexit 1")
	_, err := Start(context.Background(), Options{Path: path, Bootstrap: []byte("{}")})
	if err == nil || !strings.Contains(err.Error(), "ended before it served (exit status 1)") ||
		!strings.Contains(err.Error(), "cannot bind") {
		t.Errorf("got %v", err)
	}
}

func TestStartGivesUpOnAnEnvoyThatHangs(t *testing.T) {
	// It ignores SIGTERM too.
	path := program(t, "envoy", goodVersion+"\ntrap '' TERM\necho stuck >&2\nwhile :; do sleep 0.05; done")
	begin := time.Now()
	_, err := Start(context.Background(), Options{
		Path: path, Bootstrap: []byte("{}"), ReadyTimeout: 200 * time.Millisecond, StopTimeout: 100 * time.Millisecond,
	})
	if err == nil || !strings.Contains(err.Error(), "did not serve within 200ms") ||
		!strings.Contains(err.Error(), "stuck") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	path := program(t, "envoy", goodVersion+"\n: > \"$0.runs\"\nwhile :; do sleep 0.05; done")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(path + ".runs"); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := Start(ctx, Options{Path: path, Bootstrap: []byte("{}"), StopTimeout: time.Second}); !errors.Is(
		err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLogKeepsTheEnd(t *testing.T) {
	var l logBuffer
	var passed bytes.Buffer
	line := strings.Repeat("x", 1023) + "\n"
	for range 300 {
		if _, err := l.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	l.copyTo(&passed)
	if _, err := l.Write([]byte("one\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	if got := l.last(2); got != "one\ntwo" {
		t.Errorf("last lines %q", got)
	}
	if passed.String() != "one\ntwo\n" {
		t.Errorf("passed on %q", passed.String())
	}
	if len(l.tail) > 2*maxTail {
		t.Errorf("%d bytes kept", len(l.tail))
	}
}

func TestBootstrapRefusesNonsense(t *testing.T) {
	r := &xds.Resources{Listeners: []*listenerv3.Listener{{}}, Clusters: []*clusterv3.Cluster{{}}}
	if _, err := Bootstrap(r, netip.MustParseAddrPort("127.0.0.1:0"), netip.AddrPort{}); err == nil {
		t.Error("a cluster without a name is accepted")
	}
}

package server

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// TestFailedAttempts checks that answers that fail before their first token, as Envoys push it, are in the status and
// in the log until none has failed for a while.
func TestFailedAttempts(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	var ahead atomic.Int64
	past := history.New(history.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	p := start(t, folderWith(t, oneModel(engine.URL)), func(o *testOptions) { o.History = past })
	p.ready()
	e := newPusher(t, p, "127.0.0.1", nil)
	e.is("edge-1")
	failed := contract.MetricPrefix + contract.FailedAttemptsTotal.Info().Name
	push := func(pool string, n int64) {
		t.Helper()
		if code := e.counts("edge-1", failed, "pool", pool, n); code != codes.OK {
			t.Fatal(code)
		}
	}
	warnings := func() []string { return p.Status().Pools[0].Warnings }
	push("p", 5) // before this control plane was started
	push("unknown", 5)
	eventually(t, "in force", func() bool { return len(p.Status().Pools) == 1 })
	if all := warnings(); len(all) != 0 {
		t.Errorf("got %q", all)
	}
	push("p", 6)
	if one := p.Status().Pools[0]; one.FailedAttempts != 1 || len(one.Warnings) != 1 ||
		!strings.HasPrefix(one.Warnings[0], "1 answer of its servers has failed before the first token in the last 90 "+
			"seconds: another server was asked, or the client got an error; Envoy's log names the server") ||
		!strings.HasSuffix(one.Warnings[0], "see docs/pools.md#failed-attempts") {
		t.Errorf("got %+v", one)
	}
	push("p", 9)
	if all := warnings(); len(all) != 1 || !strings.HasPrefix(all[0], "4 answers of its servers have failed") {
		t.Errorf("got %q", all)
	}
	started := uint64(time.Now().Add(-time.Second).UnixMicro())                             // as Envoy 1.40 pushes it
	if code := e.countsSince(started, "edge-1", failed, "pool", "p", 2); code != codes.OK { // it was just started again
		t.Fatal(code)
	}
	if n := p.Status().Pools[0].FailedAttempts; n != 6 {
		t.Errorf("%d failed", n)
	}
	eventually(t, "logged", func() bool {
		return strings.Contains(p.log.String(), "answers of a pool's servers fail before their first token")
	})
	ahead.Store(int64(history.FailedFor + past.Interval()))
	eventually(t, "over", func() bool { return len(warnings()) == 0 })
	eventually(t, "logged", func() bool {
		return strings.Contains(p.log.String(), "has failed before its first token lately")
	})
}

//go:build e2e

package page

import (
	"context"
	"net"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/page/fake"
	"github.com/harmonyedge/harmonyedge/sight/history"
	"github.com/harmonyedge/harmonyedge/sight/page"
)

// fleet is what a page of a test shows.
type fleet struct {
	status   atomic.Pointer[server.Status]
	history  *history.History
	recorder *fake.Recorder
	gateway  string
}

// newFleet returns the fleet of package fake.
func newFleet(t *testing.T, status server.Status) *fleet {
	t.Helper()
	recorder, err := fake.NewRecorder(lab.Vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = recorder.Close() })
	f := &fleet{history: fake.Hour(time.Now()), recorder: recorder}
	f.status.Store(&status)
	return f
}

// serve serves the page of a fleet and returns its origin.
func (f *fleet) serve(t *testing.T) string {
	t.Helper()
	handler := page.Handler(page.Source{
		About: func() page.About {
			return page.About{Host: "controlplane", Version: "0.1.0", Models: []string{lab.Model, "gpt-oss-20b"}}
		},
		Status: func() any { return *f.status.Load() }, History: f.history, Records: f.recorder.Recorder, Gateway: f.gateway,
	})
	ctx, stop := context.WithCancel(context.Background())
	s := httptest.NewUnstartedServer(handler)
	s.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	s.Start()
	t.Cleanup(func() {
		stop()
		s.Close()
	})
	return s.URL
}

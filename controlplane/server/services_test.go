package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/services/limits"
	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

// brittle is a ledger that can be away.
type brittle struct {
	ledger.Ledger
	away atomic.Bool
}

func (b *brittle) Ready(context.Context) error {
	if b.away.Load() {
		return errors.New("away")
	}
	return nil
}

// TestServicesThatAreAway checks that status, metric and log say when the rate limit service, its ledger, the responses
// service or its store is away, and when it works again.
func TestServicesThatAreAway(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	books := &brittle{}
	service := limits.New(limits.Options{Ledger: books})
	t.Cleanup(service.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = service.Serve(ctx, l, 0)
	}()
	t.Cleanup(func() { stop(); <-served })
	var stored atomic.Int32
	stored.Store(http.StatusOK)
	asked := make(chan string, 1)
	responses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.Method + " " + r.URL.Path:
		default:
		}
		w.Header().Set(contract.StoreHeader, contract.ClearStore)
		w.WriteHeader(int(stored.Load()))
	}))
	t.Cleanup(responses.Close)
	p := start(t, folderWith(t, oneModel(engine.URL)+"limits: {url: 'http://"+l.Addr().String()+"'}\n"+
		"clients: {header: x-client, keys_file: keys.yaml}\nresponses_service: {url: "+responses.URL+"}\n",
		"keys.yaml", "clients: [{name: a, limits: {concurrency: 8}}]\n"))
	p.ready()
	is := func(name, problem string) {
		t.Helper()
		eventually(t, name+": "+problem, func() bool {
			for _, one := range p.Status().Services {
				if one.Name == name && one.Problem == problem && !one.Since.IsZero() {
					up := "1"
					if problem != "" {
						up = "0"
					}
					return p.metric(fmt.Sprintf("harmony_controlplane_service_up{service=%q,url=%q}", name, one.URL)) == up
				}
			}
			return false
		})
	}
	is(LimitsService, "")
	is(ResponsesService, "")
	if got := <-asked; got != "GET /ready" {
		t.Errorf("the responses service was asked for %s", got)
	}
	eventually(t, "a store in clear text", func() bool {
		return slices.ContainsFunc(p.Status().Services, func(one ServiceStatus) bool { return one.ClearStore })
	})
	books.away.Store(true)
	is(LimitsService, "its ledger does not answer")
	books.away.Store(false)
	is(LimitsService, "")
	stored.Store(http.StatusServiceUnavailable)
	is(ResponsesService, "its store does not answer")
	stored.Store(http.StatusNotFound) // one that is older
	is(ResponsesService, "")
	responses.CloseClientConnections()
	responses.Close()
	is(ResponsesService, "connection refused")
	stop()
	<-served
	is(LimitsService, "connection refused")
	if n := strings.Count(p.log.String(), "a service does not work"); n != 4 {
		t.Errorf("%d warnings, want one each time:\n%s", n, p.log)
	}
	p.write("config.yaml", oneModel(engine.URL))
	eventually(t, "no services", func() bool { return len(p.Status().Services) == 0 })
}

//go:build e2e

package tap

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestUpdates: the end of a stream that is the last one of its configuration comes, although the host ends that
// configuration with it. After many updates there is still room for frames.
func TestUpdates(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	_, url := runServer(t)
	r := runRecorder(t)
	plane := ads.New(ads.Options{})
	set := func(model string) {
		c := tappedModel(url, r.URL, contract.TapEverything)
		lab.AddModel(c, model, url)
		resources, err := hosts.Resources(hosts.Setup{Config: c})
		if err != nil {
			t.Fatal(err)
		}
		discovered, err := resources.Discovered()
		if err == nil {
			_, err = plane.Set(discovered)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	set("model-0")
	p := startOver(t, plane)
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	address, err := p.Listener(ctx, config.DefaultListener)
	if err != nil {
		t.Fatal(err)
	}
	client := lab.HTTP1(t)
	inForce := func(model string) {
		for ctx.Err() == nil {
			if a := lab.Do(client, http.MethodGet, "http://"+address+"/v1/models/"+model, nil, nil); a.Status == http.StatusOK {
				return
			}
			time.Sleep(lab.Pause)
		}
		t.Fatalf("%s does not come into force: %s", model, p.Log(20))
	}
	const updates = 20
	for i := range updates {
		inForce(fmt.Sprint("model-", i))
		streaming, leave := context.WithCancel(ctx)
		q, err := http.NewRequestWithContext(streaming, http.MethodPost, "http://"+address+lab.ChatPath,
			strings.NewReader(streamed(lab.ChatBody(lab.Model, "Hi"))))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Sim-Fault", "stall:5")
		response, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		set(fmt.Sprint("model-", i+1))
		inForce(fmt.Sprint("model-", i+1))
		leave()
		_ = response.Body.Close()
		for {
			x := r.next()
			if x.request.Method == http.MethodGet {
				continue
			}
			if x.end.Cut != "client" || x.end.LostFrames > 0 || x.answer == "" {
				t.Errorf("update %d: %s, the end is %+v", i, x.order(), x.end)
			}
			break
		}
	}
	for line := range strings.Lines(p.Log(1000)) {
		if strings.Contains(line, "wasm") || strings.Contains(line, "harmony:") {
			t.Errorf("Envoy's log: %s", line)
		}
	}
}

// startOver starts an Envoy that gets its configuration from a control plane.
func startOver(t *testing.T, plane *ads.Server) *envoy.Process {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = plane.Serve(ctx, listener)
	}()
	t.Cleanup(func() {
		cancel()
		<-served
	})
	bootstrap, err := envoy.DiscoveryBootstrap(envoy.Discovery{ControlPlane: listener.Addr().String(), Node: "harmony",
		Admin: netip.MustParseAddrPort("127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	ready, stop := context.WithTimeout(t.Context(), lab.Patience)
	defer stop()
	p, err := envoy.Start(ready, envoy.Options{Path: lab.Tool(t, "ENVOY"), Bootstrap: bootstrap, Concurrency: 1,
		ReadyTimeout: lab.Patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	return p
}

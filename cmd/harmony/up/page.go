package up

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/internal/runfolder"
	"github.com/harmonyedge/harmonyedge/internal/version"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sight/history"
	"github.com/harmonyedge/harmonyedge/sight/page"
)

// url returns the URL of the page.
func (s *upSight) url() string { return "http://" + s.listener.Addr().String() }

// serve begins to serve the page, and writes into the folder of this run where it is. gateway is the gateway's address,
// or "" if the playground cannot ask it.
func (s *upSight) serve(folder *runfolder.Folder, gateway string, source page.Source) error {
	if gateway != "" {
		source.Gateway = "http://" + localAddress(gateway)
	}
	source.TapKey, source.Records, source.History = s.key, s.recorder, s.past
	// --admin is on loopback, so no name leads to it. A name could let a web page read Envoy's admin interface.
	source.OwnNames = true
	status := http.NewServeMux()
	status.HandleFunc("GET "+cli.StatusPath, func(w http.ResponseWriter, _ *http.Request) {
		server.WriteStatus(w, source.Status())
	})
	status.Handle("/", source.Fallback)
	source.Fallback = status
	s.page = quietServer(page.Handler(source))
	go func() { _ = s.page.Serve(s.listener) }() // it ends when the server is closed
	return cli.Run{Page: s.listener.Addr().String(), Gateway: source.Gateway}.Announce(folder)
}

// localAddress returns the address at which this machine reaches a listener.
func localAddress(listener string) string {
	a, err := netip.ParseAddrPort(listener)
	switch {
	case err != nil || !a.Addr().IsUnspecified():
		return listener
	case a.Addr().Is6() && !a.Addr().Is4In6():
		return netip.AddrPortFrom(netip.IPv6Loopback(), a.Port()).String()
	}
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), a.Port()).String()
}

// About describes a gateway for its page. all are its pools, which may change.
func about(host string, all []server.Pool) page.About {
	return page.About{Host: host, Version: version.Current().Version, Models: server.ModelsOf(all),
		Admin: host == cli.HostEnvoy}
}

// showEnvoy begins to show an Envoy and its control plane. The playground asks the first listener without TLS, because
// the name in a certificate is not known here.
func (u *up) showEnvoy(ctx context.Context, p *envoy.Process, c *ownControlPlane) error {
	gateway := ""
	all := u.config.AllListeners()
	if i := slices.IndexFunc(all, func(l config.Listener) bool { return l.TLS == "" }); i >= 0 {
		var err error
		if gateway, err = p.Listener(ctx, all[i].Name); err != nil {
			return err
		}
	}
	admin := envoy.AdminInterface(p.Admin())
	err := u.sight.serve(c.socket.folder, gateway, page.Source{
		About: func() page.About { return about(cli.HostEnvoy, c.Status().Pools) },
		Status: func() any {
			one := c.Status()
			one.Host = cli.HostEnvoy
			return one
		},
		Fallback: admin.Handler(),
	})
	u.sight.sample(admin, nil)
	return err
}

// showWazero begins to show the filter in this program. watcher may be nil.
func (u *up) showWazero(folder *runfolder.Folder, s *inprocess.Server, c *config.Resolved, watcher *pools.Watcher,
) error {
	loaded, filter := time.Now(), u.module.About()
	server.CountFailed(u.sight.past, c)
	status := func() server.Status {
		one := server.Status{Host: cli.HostWazero, Version: version.Current().Version, Started: u.started,
			Configuration: server.Configuration{File: u.file, Loaded: loaded},
			Filter:        filter,
			Snapshot:      server.Snapshot{Versions: map[string]string{}}, Envoys: []ads.Envoy{}}
		var states map[string]pools.PoolState
		if watcher != nil {
			states = watcher.Servers()
		}
		one.Pools = server.PoolsAlone(c, states, u.contexts, u.structures.get(), u.sight.past)
		return one
	}
	statistics := http.NewServeMux()
	statistics.Handle("GET "+envoy.StatsPath, s.Prometheus())
	err := u.sight.serve(folder, s.Address(), page.Source{
		About:    func() page.About { return about(cli.HostWazero, status().Pools) },
		Status:   func() any { return status() },
		Fallback: statistics,
	})
	u.sight.sample(envoy.AdminInterface(u.sight.listener.Addr().String()), func() {
		server.ObservePools(u.sight.past, time.Now(), status().Pools)
	})
	return err
}

// sample begins to read metrics for the plots from what serves them as an Envoy's admin interface does. also is called
// each time too. It may be nil.
func (s *upSight) sample(from envoy.AdminInterface, also func()) {
	ctx, cancel := context.WithCancel(context.Background())
	stats := envoy.StatsPath + "?filter=" + url.QueryEscape(history.EnvoyStats)
	get := func(ctx context.Context) ([]byte, error) {
		if also != nil {
			also()
		}
		return from.Get(ctx, stats)
	}
	s.sampling.Go(func() { s.past.Poll(ctx, envoy.NodeCluster, get) })
	s.endSampling = cancel
}

package main

import (
	"context"
	"net/netip"
	"net/url"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/history"
	"github.com/harmonyedge/harmonyedge/controlplane/page"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/internal/version"
)

// url returns the URL of the page.
func (s *upSight) url() string { return "http://" + s.listener.Addr().String() }

// serve begins to serve the page of the gateway at an address.
func (s *upSight) serve(gateway string, source page.Source) {
	source.Gateway, source.TapKey, source.Records = "http://"+localAddress(gateway), s.key, s.recorder
	s.page = quietServer(page.Handler(source))
	go func() { _ = s.page.Serve(s.listener) }() // it ends when the server is closed
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

// about describes a gateway for its page. models are its pools' models, which may change.
func (u *up) about(host string, models []server.Pool) page.About {
	about := page.About{Host: host, Version: version.Current().Version, Admin: host == hostEnvoy}
	for i := range models {
		about.Models = append(about.Models, models[i].Models...)
	}
	return about
}

// showEnvoy begins to show an Envoy and its control plane.
func (u *up) showEnvoy(gateway string, p *envoy.Process, c *ownControlPlane) {
	past := history.New(history.Options{})
	stats := envoy.StatsPath + "?filter=" + url.QueryEscape(history.EnvoyStats)
	u.sight.sample(past, func(ctx context.Context) ([]byte, error) { return p.Get(ctx, stats) })
	u.sight.serve(gateway, page.Source{
		About:   func() page.About { return u.about(hostEnvoy, c.Status().Pools) },
		Status:  func() any { return c.Status() },
		History: past, Fallback: envoy.AdminInterface(p.Admin()).Handler(),
	})
}

// sample begins to read metrics into a history.
func (s *upSight) sample(past *history.History, get func(context.Context) ([]byte, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	s.sampling.Go(func() { past.Poll(ctx, envoy.NodeCluster, get, nil) })
	s.endSampling = cancel
}

// showWazero begins to show the filter in this program. watcher may be nil.
func (u *up) showWazero(gateway string, c *config.Resolved, watcher *pools.Watcher) {
	started := time.Now()
	status := func() server.Status {
		s := server.Status{Version: version.Current().Version, Started: started,
			Configuration: server.Configuration{File: u.file, Loaded: started}, Filter: server.Filter{File: u.module.file}}
		var states map[string]pools.PoolState
		if watcher != nil {
			states = watcher.Servers()
		}
		s.Pools = server.PoolsAlone(c, states)
		return s
	}
	u.sight.serve(gateway, page.Source{
		About:  func() page.About { return u.about(hostWazero, status().Pools) },
		Status: func() any { return status() },
	})
}

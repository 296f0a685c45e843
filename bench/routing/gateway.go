package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/harmonyedge/harmonyedge/bench/workload"
	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	model = "gpt-oss-120b"
	// conversationHeader has the name of a request's conversation. Only the policy session looks at it.
	conversationHeader = "x-conversation"
)

// policy is what a pool of the configuration has.
type policy struct {
	name, settings string
	picker         bool
}

var policies = []policy{
	{name: "round robin", settings: "policy: round_robin"},
	{name: "least request", settings: "policy: least_request"},
	{name: "session", settings: "policy: session\n    session: { header: " + conversationHeader + " }"},
	{name: "prefix", settings: "policy: prefix"},
	{name: "picker", settings: "policy: picker\n    picker: { url: http://%s, fallback: prefix }", picker: true},
}

// gateway is an Envoy with the filter, its picker, and its servers.
type gateway struct {
	servers []*sim.Server
	host    *hosts.Host
	folder  string
	stop    context.CancelFunc
	ended   []chan error
}

// start starts new servers and a gateway with a policy.
func (b *bench) start(ctx context.Context, p policy) (*gateway, error) {
	ctx, stop := context.WithCancel(ctx)
	g := &gateway{stop: stop}
	if err := g.run(ctx, b.options, p); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *gateway) run(ctx context.Context, o options, p policy) error {
	var urls []string
	for range o.servers {
		s := sim.New(o.server)
		g.servers = append(g.servers, s)
		url, err := s.Start("127.0.0.1:0")
		if err != nil {
			return err
		}
		urls = append(urls, url)
	}
	settings := p.settings
	var listener net.Listener
	if p.picker {
		var err error
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
		settings = fmt.Sprintf(settings, listener.Addr())
	}
	text := fmt.Sprintf(`models:
  - name: %s
    pool: pool
    system: { date: "%s" }
pools:
  - name: pool
    servers: [%s]
    health: { path: none }
    %s
`, model, workload.Date, strings.Join(urls, ", "), settings)
	if p.picker {
		if err := g.pick(ctx, o, text, listener); err != nil {
			return err
		}
	}
	c, err := config.Parse("bench.yaml", []byte(text))
	if err != nil {
		return err
	}
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	setup := hosts.Setup{Config: c}
	g.host, err = hosts.Envoy(setup)
	return err
}

// pick runs a picker until the context ends.
func (g *gateway) pick(ctx context.Context, o options, text string, l net.Listener) error {
	var err error
	if g.folder, err = os.MkdirTemp("", "harmony-bench-"); err != nil {
		return errors.Join(err, l.Close())
	}
	file := filepath.Join(g.folder, "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	log := slog.New(slog.DiscardHandler)
	p := picker.New(picker.Options{BlocksPerServer: o.server.CacheBlocks - 1, Balance: o.balance})
	ended, ready := make(chan error, 1), make(chan struct{})
	g.ended = append(g.ended, ended)
	program := follow.Program{
		Follower: follow.Open(follow.Options{File: file, Needs: follow.Needs{Secret: server.PickersSecret}}),
		Parts: []follow.Part{
			follow.NewServed(func(ctx context.Context) error { return picker.NewService(p, log).Serve(ctx, l) }),
			server.NewFeed(server.FeedOptions{Picker: p, Log: log}),
		},
		Ready: func() { close(ready) }, Log: log,
	}
	go func() { ended <- program.Run(ctx) }()
	select {
	case <-ready:
		return nil
	case err := <-ended:
		ended <- nil
		return err
	}
}

func (g *gateway) close() (err error) {
	if g.host != nil {
		g.host.Stop()
	}
	g.stop()
	for _, ended := range g.ended {
		err = errors.Join(err, <-ended)
	}
	for _, s := range g.servers {
		s.Close()
	}
	if g.folder != "" {
		err = errors.Join(err, os.RemoveAll(g.folder))
	}
	return err
}

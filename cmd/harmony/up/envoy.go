package up

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/version"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
)

// runEnvoy runs the filter in an Envoy, with a control plane for that Envoy alone.
func (u *up) runEnvoy(ctx context.Context) error {
	ctx, second, stop := cli.Interrupts(ctx)
	defer stop()
	path, err := envoy.Find(u.config.Envoy.Path)
	if errors.Is(err, envoy.ErrNone) {
		return fmt.Errorf("%w; --host wazero needs none", err)
	}
	if err != nil {
		return cli.Usage(err) // a path was given, and it is not a program
	}
	if err := u.portsFree(); err != nil {
		return err
	}
	if u.stats.IsValid() {
		if err := cli.PortFree(u.stats.String(), "--stats"); err != nil {
			return err
		}
	}
	var unfit error // Envoy's version is asked beside the start of the control plane, which takes as long
	checkVersion := sync.OnceFunc(func() { _, unfit = envoy.CheckVersion(ctx, path) })
	go checkVersion()
	defer checkVersion() // what asks has ended when the run returns
	end := u.waitFor("the control plane in this program")
	controlPlane, err := u.startControlPlane(ctx)
	end()
	if err != nil || controlPlane == nil {
		return err
	}
	defer controlPlane.stop()
	end = u.waitFor("Envoy to start: " + path)
	var p *envoy.Process
	checkVersion()
	if err = unfit; err == nil {
		p, err = u.startEnvoy(ctx, path, controlPlane.socket)
	}
	end()
	if err != nil {
		if ctx.Err() != nil {
			return nil // interrupted during its start
		}
		return err
	}
	// An interrupt that comes while Envoy is asked is no failure.
	if err := u.serveEnvoy(ctx, p, controlPlane); err != nil && ctx.Err() == nil {
		return errors.Join(err, p.Stop())
	}
	// The control plane runs until Envoy has ended, so that Envoy gets changes of servers as long as streams run.
	u.service.Drain()
	if u.drain(second, proxyHost{drain: p.Drain, streams: p.Streams, ended: p.Done()}) {
		u.sight.settle()
	}
	p.PassLog(nil)
	return p.Stop()
}

// ownControlPlane is a control plane in this program, for one Envoy.
type ownControlPlane struct {
	*server.Server
	*program
	socket *privateSocket
}

func (c *ownControlPlane) stop() {
	c.program.stop()
	c.socket.folder.Remove()
}

func (u *up) startControlPlane(ctx context.Context) (*ownControlPlane, error) {
	l, err := listenPrivately()
	if err != nil {
		return nil, err
	}
	o := server.Options{
		OwnEnvoy: true, Deputy: u.service.Deputy(), CAFile: cli.SystemCAFile(), ADS: l,
		Version: version.Current().Version, Log: u.eventLog(), History: u.sight.past,
	}
	u.module.HandOut(&o)
	if cli.IsFile(u.file) {
		o.ConfigFile = u.file
	}
	traces := cli.NewTraces(cli.TracedControlPlane, o.Log)
	traces.Begin(ctx, u.config)
	o.Tracer = traces.Tracer("controlplane")
	s, err := server.New(o)
	if err != nil {
		return nil, errors.Join(err, l.discard())
	}
	// The interrupt does not end it, because Envoy must end first.
	c := &ownControlPlane{Server: s, socket: l, program: u.follow(ctx, follow.Program{Reading: s.Reading},
		[]follow.Part{s, traces}, config.PartEnvoy)}
	select {
	case <-s.Ready():
		return c, nil
	case <-ctx.Done():
		c.stop()
		return nil, nil
	case <-c.done:
		c.stop()
		return nil, cli.AsUsage(c.err)
	}
}

func (u *up) startEnvoy(ctx context.Context, path string, controlPlane *privateSocket) (*envoy.Process, error) {
	bootstrap, err := envoy.DiscoveryBootstrap(envoy.Discovery{
		ControlPlane: envoy.UnixPrefix + controlPlane.path, Node: envoy.NodeCluster,
		AdminSocket: controlPlane.folder.File(cli.AdminSocket), Stats: u.stats, Limits: u.config.Envoy,
	})
	if err != nil {
		return nil, err
	}
	return envoy.Start(ctx, envoy.Options{Path: path, VersionChecked: true, Bootstrap: bootstrap,
		Concurrency: u.config.Envoy.Concurrency, LogLevel: u.logLevel,
		Environment: []string{contract.TapKeyVariable + "=" + u.sight.key}})
}

func (u *up) serveEnvoy(ctx context.Context, p *envoy.Process, c *ownControlPlane) error {
	p.PassLog(u.stderr)
	end := u.waitFor("Envoy to load the filter and its configuration")
	err := c.accepted(ctx, p)
	end()
	if err != nil {
		return fmt.Errorf("%w; the end of its log:\n%s", err, p.Log(20))
	}
	if ctx.Err() != nil {
		return nil // interrupted
	}
	address, err := p.Listener(ctx, u.config.AllListeners()[0].Name)
	if err != nil {
		return err
	}
	about := "page and Envoy's admin interface: " + u.sight.url()
	if u.stats.IsValid() {
		stats, err := p.Listener(ctx, envoy.StatsListener)
		if err != nil {
			return err
		}
		about += "\nstatistics: http://" + stats + envoy.StatsPath
	}
	if err := u.askModelsAt(ctx, address, c.program); err != nil || ctx.Err() != nil {
		return err
	}
	if err := u.showEnvoy(ctx, p, c); err != nil {
		return err
	}
	u.printReady(address, about)
	defer u.tryServers(ctx)()
	select {
	case <-ctx.Done():
		return nil
	case <-p.Done():
		return fmt.Errorf("%w by itself; the end of its log:\n%s", p.Err(), p.Log(20))
	case <-c.done:
		return c.err
	}
}

const (
	acceptTimeout = 30 * time.Second
	acceptPause   = 10 * time.Millisecond
)

// accepted waits until Envoy has accepted everything. If Envoy refuses something, it returns an error with Envoy's
// text, because Envoy would answer every request with an error.
func (c *ownControlPlane) accepted(ctx context.Context, p *envoy.Process) error {
	ctx, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	for {
		for _, e := range c.Status().Envoys {
			if e.Current {
				return nil
			}
			if e.Refuses() {
				return errors.New("Envoy does not accept its configuration: it " + cli.EnvoyState(&e))
			}
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return errors.New("Envoy does not accept its configuration")
			}
			return nil
		case <-p.Done():
			return p.Err()
		case <-c.done:
			return c.err
		case <-time.After(acceptPause):
		}
	}
}

package up

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
)

// hostAuto is the value of --host that takes Envoy if there is one (RATIONALE.md#27).
const hostAuto = "auto"

// upHost is the host that runs the filter. cacheDir is for the host wazero only.
type upHost struct {
	name     string
	cacheDir string
}

func (h *upHost) add(flags *pflag.FlagSet) {
	flags.StringVar(&h.name, "host", hostAuto, "`HOST` of the filter: envoy, wazero (in this program, without Envoy), "+
		"or auto: envoy if there is one")
	flags.StringVar(&h.cacheDir, "wazero-cache", "", "`FOLDER` of compiled filters for the host wazero (default: "+
		"harmony-edge in the user's cache folder)")
}

// check returns an error if the name of the host is unknown.
func (h *upHost) check() error {
	switch h.name {
	case cli.HostEnvoy, cli.HostWazero, hostAuto:
		return nil
	}
	return cli.Usage(fmt.Errorf("--host %s is not known; write envoy, wazero or auto", h.name))
}

// choose resolves auto, before anything listens. It returns an error if a flag is set that the host does not have.
func (h *upHost) choose(cmd *cobra.Command, u *up) error {
	if h.name == hostAuto {
		h.name = cli.HostEnvoy
		if _, err := envoy.Find(u.config.Envoy.Path); errors.Is(err, envoy.ErrNone) {
			h.name = cli.HostWazero
			fmt.Fprintln(u.stderr, "note: no Envoy found, so the filter runs in this program (--host wazero); --host envoy "+
				"says how to get one")
		}
	}
	if h.name == cli.HostEnvoy {
		return nil
	}
	for _, flag := range []string{"envoy", "stats"} {
		if cmd.Flags().Changed(flag) {
			return cli.Usage(fmt.Errorf("--%s is for Envoy, and the filter runs in this program; leave it out, or choose "+
				"--host envoy", flag))
		}
	}
	return nil
}

// run runs u on the host that choose has resolved.
func (h *upHost) run(ctx context.Context, u *up) error {
	if h.name == cli.HostEnvoy {
		return u.runEnvoy(ctx)
	}
	return u.runWazero(ctx, h.cache(u))
}

// cache returns the folder for compiled filters, or "" if there is none. That is not an error, because the folder saves
// a second at most.
func (h *upHost) cache(u *up) string {
	if h.cacheDir != "" {
		return h.cacheDir
	}
	folder, err := wasmhost.CacheDir()
	if err == nil {
		return folder
	}
	fmt.Fprintf(u.stderr, "note: compiled filters cannot be kept (%v), so each start takes a little longer; "+
		"--wazero-cache names another folder\n", err)
	return ""
}

// runWazero runs the filter in this program, without Envoy.
func (u *up) runWazero(ctx context.Context, cacheDir string) error {
	ctx, second, stop := cli.Interrupts(ctx)
	defer stop()
	if err := u.portsFree(); err != nil {
		return err
	}
	folder, err := cli.NewRunFolder()
	if err != nil {
		return err
	}
	defer folder.Remove()
	resolved, err := u.config.Resolve()
	if err != nil {
		return cli.Usage(err)
	}
	watcher, watchErr := u.watchServers(resolved, 0)
	if watchErr == nil {
		defer watcher.Close()
		end := u.waitFor("the servers to say how long their context is")
		u.contexts = toldContexts(ctx, resolved, watcher)
		end()
	}
	r, err := u.resources()
	if err != nil {
		return err
	}
	end := u.waitFor("the filter to be compiled")
	s, err := inprocess.Start(r, inprocess.Options{
		Workers: u.config.Envoy.Concurrency, CacheDir: cacheDir, Log: u.logFrom(), Environment: u.sight.environment()})
	end()
	if err != nil {
		return err
	}
	defer s.Stop()
	following := u.follow(ctx, follow.Program{}, nil, config.PartHost)
	defer following.stop()
	if err := u.askModelsAt(ctx, s.Address(), following); err != nil {
		return err
	}
	defer u.followServers(ctx, s, resolved, watcher)()
	if err := u.showWazero(folder, s, resolved, watcher); err != nil {
		return err
	}
	u.printReady(s.Address(), fmt.Sprintf("the filter runs in this program, without Envoy, in %s\npage: %s",
		cli.Plural(len(s.Proxy().Stats()), "VM"), u.sight.url()))
	if watchErr != nil {
		fmt.Fprintln(u.stderr, "warning: the servers are not watched:", watchErr)
	}
	defer u.tryServers(ctx)()
	defer u.tryPools(ctx)()
	select {
	case <-following.done:
		return following.err
	case <-ctx.Done():
		u.service.Drain()
		clean := u.drain(second, proxyHost{
			drain:   func(context.Context) error { s.Drain(); return nil },
			streams: func(context.Context) (int, error) { return s.Proxy().Streams(), nil },
		})
		if clean {
			u.sight.settle()
		} else {
			s.Cut()
		}
		return nil
	case <-s.Done():
		return s.Err()
	}
}

// logFrom returns a function that prints the filter's log lines from --log-level on, in Envoy's format.
func (u *up) logFrom() func(wasmhost.Level, string) {
	from := wasmhost.Level(slices.Index(logLevels, u.logLevel)) // off is higher than every level
	return func(level wasmhost.Level, text string) {
		if level >= from {
			fmt.Fprintf(u.stderr, "[%s][%s] %s\n", time.Now().Format("2006-01-02 15:04:05.000"), level,
				strings.TrimRight(text, "\n"))
		}
	}
}

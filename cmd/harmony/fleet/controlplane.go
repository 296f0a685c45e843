package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/store"
	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/version"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
	"github.com/harmonyedge/harmonyedge/sight/history"
	"github.com/harmonyedge/harmonyedge/sight/page"
)

const controlplaneLong = `Programs any number of Envoys over delta ADS: listeners, routes, the filter's settings and
the servers of each pool. The file is read again whenever it changes. If the new file has an error, the error is logged
and the old configuration stays in force.

  harmony controlplane --config config.yaml
  harmony controlplane bootstrap > bootstrap.json && envoy -c bootstrap.json
  harmony status

Envoys get the filter from here too, and get another one when its file changes (--wasm).

Envoys get the secrets of the configuration. Beyond loopback, a configuration with secrets is refused unless Envoys
present certificates: --certificate and --key are this program's, and --client-ca is what Envoys' are checked against.

Exit status:

  0  after an interrupt
  1  something failed
  2  the command line is wrong; or the configuration or the filter is wrong at the start, and no earlier one was saved`

// controlplaneFlags are the flags of harmony controlplane.
type controlplaneFlags struct {
	file, listen, status, state, logFormat string
	filter                                 cli.FilterFlags
	wasmOnEnvoys                           string
	openSecrets                            bool
	maxEnvoys                              int
	gateway                                string
	pageNames                              []string
	control                                string
	drainTime                              config.Duration
	tls                                    cli.ServerTLS
}

// pushDelay is how long after an interval Envoys' metrics for it may still come: they push each 5 seconds.
const pushDelay = 6 * time.Second

func controlplaneCommand() *cobra.Command {
	f := controlplaneFlags{drainTime: config.Duration(cli.DefaultDrainTime)}
	c := &cobra.Command{
		Use:   "controlplane --config FILE",
		Short: "Program Envoys: models, pools of servers, health, over xDS",
		Long:  controlplaneLong,
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := c.Flags()
	flags.StringVar(&f.file, "config", "", "configuration `FILE` (YAML)")
	flags.StringVar(&f.listen, "listen", defaultXDS, "`ADDRESS` for Envoys")
	flags.StringVar(&f.status, "status", defaultStatus, "`ADDRESS` of the page, /status, /metrics and /ready")
	flags.StringVar(&f.gateway, "gateway", "", "`URL` of a gateway of this fleet, to which the page's playground talks "+
		"(default: no playground)")
	flags.StringSliceVar(&f.pageNames, "page-name", nil, "host `NAME` under which browsers may open the page, besides "+
		"localhost and addresses; repeat it for more")
	flags.StringVar(&f.state, "state", "", "`FOLDER` for the last good snapshot and the page's last hour (default: "+
		"harmony-edge/controlplane in the user's cache folder; none keeps none)")
	flags.StringVar(&f.control, "control", "", "`PATH` of the socket by which harmony rollout gives commands, which only "+
		"this user can open (default: control.sock in the --state folder; none serves none)")
	f.filter.Add(flags)
	flags.StringVar(&f.wasmOnEnvoys, "wasm-on-envoys", "", "the filter's `PATH` on the Envoys' machines, where you have "+
		"put it yourself (default: Envoys get the filter from here)")
	flags.StringVar(&f.logFormat, "log-format", "text", "`FORMAT` of the log: text or json")
	cli.CompleteWords(c, "log-format", "text", "json")
	f.tls.Add(flags)
	flags.IntVar(&f.maxEnvoys, "max-envoys", ads.DefaultMaxEnvoys, "Envoys that may be connected at once")
	flags.Var(&f.drainTime, "drain-time", "how long what the responses service makes may take to end after an interrupt")
	flags.BoolVar(&f.openSecrets, "secrets-without-client-certificates", false,
		"send secrets to any client, also beyond loopback: for networks that admit only Envoys, such as a mesh "+
			"with its own TLS")
	c.AddCommand(validateCommand(), schemaCommand(), bootstrapCommand())
	return c
}

func (f *controlplaneFlags) run(cmd *cobra.Command) error {
	if err := f.check(cmd); err != nil {
		return cli.Usage(err)
	}
	log, err := f.logger(cmd)
	if err != nil {
		return cli.Usage(err)
	}
	var module cli.FilterSource
	if f.wasmOnEnvoys == "" {
		if module, err = f.filter.Find(cmd.Context()); err != nil {
			return err
		}
	}
	state, err := f.stateFolder()
	if err != nil {
		return cli.Usage(err)
	}
	xds, status, err := f.listeners(log)
	if err != nil {
		return err
	}
	o := f.serverOptions(state, xds, status, log)
	if f.wasmOnEnvoys == "" {
		module.HandOut(&o)
	}
	control, err := f.controlSocket(state, log)
	if err != nil {
		return errors.Join(err, xds.Close(), status.Close())
	}
	if control != nil {
		o.Control = control
		defer control.Close() // again, for an end before the control plane has begun
	}
	ctx, second, stop := cli.Interrupts(cmd.Context())
	defer stop()
	service := store.NewPart(store.PartOptions{Program: "harmony controlplane", Runs: (*config.ResponsesService).Runs,
		DrainTime: time.Duration(f.drainTime), OwnKey: true, Log: log})
	defer context.AfterFunc(second, service.Cut)()
	traces := cli.NewTraces(cli.TracedControlPlane, log)
	if c, err := config.Load(f.file); err == nil {
		traces.Begin(cmd.Context(), c)
	}
	o.Tracer = traces.Tracer("controlplane")
	o.Collectors, o.Deputy = []prometheus.Collector{service}, service.Deputy()
	s, err := server.New(o)
	if err != nil {
		return errors.Join(err, xds.Close(), status.Close())
	}
	if cli.Reachable(xds.Addr()) && !f.tls.On() {
		log.Warn("Envoys are served in clear text; see --certificate", "listen", xds.Addr().String())
	}
	go announce(ctx, cmd, s, xds, status)
	program := follow.Program{
		Follower: follow.Open(follow.Options{File: f.file, Log: log, Needs: follow.Needs{Secret: follow.Every,
			RefuseSecrets: f.refuseSecrets(xds.Addr()), Clients: true, Files: store.HeadersFiles}}),
		Parts:   []follow.Part{s, traces, service},
		Reading: s.Reading, Without: s.Restored, Log: log,
	}
	return cli.AsUsage(program.Run(ctx))
}

// check refuses flags that are missing or wrong, or do not go together.
func (f *controlplaneFlags) check(cmd *cobra.Command) error {
	if f.file == "" {
		return fmt.Errorf("no configuration is given; write --config FILE (see examples/config.yaml), or one of the "+
			"commands in %s --help", cmd.CommandPath())
	}
	if f.maxEnvoys < 1 {
		return fmt.Errorf("--max-envoys %d is out of range; write at least 1", f.maxEnvoys)
	}
	if f.gateway != "" {
		if err := page.CheckGateway(f.gateway); err != nil {
			return fmt.Errorf("--gateway: %w", err)
		}
	}
	if f.wasmOnEnvoys != "" && f.filter.Given() {
		return errors.New("--wasm hands the filter out to Envoys, and --wasm-on-envoys lets them find it themselves; " +
			"write one of them")
	}
	return nil
}

// listeners opens the address for Envoys and the one for the status.
func (f *controlplaneFlags) listeners(log *slog.Logger) (xds, status net.Listener, err error) {
	if xds, err = cli.Listen(f.listen, "--listen"); err != nil {
		return nil, nil, err
	}
	if xds, err = f.tls.Wrap(xds, log); err != nil {
		return nil, nil, cli.Usage(err)
	}
	if status, err = cli.Listen(f.status, "--status"); err != nil {
		return nil, nil, errors.Join(err, xds.Close())
	}
	return xds, status, nil
}

// serverOptions returns the options that follow from the flags.
func (f *controlplaneFlags) serverOptions(state string, xds, status net.Listener, log *slog.Logger) server.Options {
	return server.Options{
		Certificates: []string{f.tls.Certificate, f.tls.ClientCA},
		ConfigFile:   f.file, StateDir: state, ModulePath: f.wasmOnEnvoys, CAFile: cli.SystemCAFile(),
		ADS: xds, HTTP: status, Version: version.Current().Version, Log: log,
		MaxEnvoys: f.maxEnvoys,
		Gateway:   f.gateway, TapKey: os.Getenv(contract.TapKeyVariable), PageNames: f.pageNames,
		History: history.New(history.Options{Delay: pushDelay, MaxSenders: 2 * f.maxEnvoys}),
	}
}

// refuseSecrets returns why a configuration with secrets cannot be served at an address, or "" if it can.
func (f *controlplaneFlags) refuseSecrets(at net.Addr) string {
	if !cli.Reachable(at) || f.tls.ClientCA != "" || f.openSecrets {
		return ""
	}
	return fmt.Sprintf("any client that connects to %s would get this secret, because Envoys need no certificate "+
		"there: name --client-ca with --certificate and --key, or listen on loopback; "+
		"--secrets-without-client-certificates allows it", at)
}

// announce prints the addresses once the control plane serves. Scripts can wait for these lines.
func announce(ctx context.Context, cmd *cobra.Command, s *server.Server, xds, status net.Listener) {
	select {
	case <-ctx.Done():
	case <-s.Ready():
		fmt.Fprintf(cmd.OutOrStdout(), "serving Envoys on %s\nstatus: http://%s/status\npage: http://%s/\n", xds.Addr(),
			status.Addr(), status.Addr())
	}
}

func (f *controlplaneFlags) logger(cmd *cobra.Command) (*slog.Logger, error) {
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil)), nil
	}
	return nil, fmt.Errorf("--log-format %s is not known; write text or json", f.logFormat)
}

// noState is the value of --state that saves no snapshot.
const noState = "none"

// stateFolder returns the folder of the last good snapshot, which is another one for each configuration file. It
// returns "" if none is saved.
func (f *controlplaneFlags) stateFolder() (string, error) {
	if f.state != "" {
		if f.state == noState {
			return "", nil
		}
		return f.state, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder was found for the last good snapshot (%w); name one with --state, or write "+
			"--state none", err)
	}
	file, err := filepath.Abs(f.file)
	if err != nil {
		return "", err
	}
	name := sha256.Sum256([]byte(file))
	return filepath.Join(cache, "harmony-edge", "controlplane", hex.EncodeToString(name[:8])), nil
}

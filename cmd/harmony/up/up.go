package up

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/store"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
)

const upLong = `Runs Envoy with the Harmony filter in front of inference servers, which have a gpt-oss model loaded, until
an interrupt. Clients speak OpenAI Chat Completions and Responses to it.

  harmony up http://10.0.0.7:8000

The server is asked what it is, as harmony probe does, and the configuration for it is printed as a file to keep. Several
URLs of one model are one pool. Without a server, OPENAI_BASE_URL (and OPENAI_API_KEY) of the environment name one.

The same without a question, for a server that starts later:

  harmony up --model gpt-oss-120b --backend vllm=http://10.0.0.7:8000

Several --backend of one model are one pool. With several models, each --backend names its model:

  harmony up --model gpt-oss-120b --model gpt-oss-20b \
    --backend gpt-oss-120b=vllm=http://10.0.0.7:8000 --backend gpt-oss-20b=vllm=http://10.0.0.8:8000

A server that speaks Chat Completions may have any model, and its API may have a path (docs/chat-servers.md):

  harmony up --model qwen3-32b --backend chat=https://api.groq.com/openai/v1 --server-model qwen/qwen3-32b

Without Envoy, for laptops and CI, the same filter runs in this program: --host wazero. That is the default if no Envoy
is found.

Look inside: --watch prints a line for each request, and with -v what the model writes, as it comes. --record FOLDER keeps
each request with its token ids in a file that harmony inspect explain reads. A page at --admin shows the servers, the
load and the last requests, and has a playground (docs/sight.md).

All other settings of a model (its system message, raw prompts) are in a --config file. Flags override the file: --model
replaces all its models, --backend replaces a model's servers, and --context-length and --date apply to every model.

The first interrupt (Ctrl-C, SIGTERM) begins to drain: new clients are refused, and running streams have --drain-time to
end. A second one ends the program at once. A process manager must wait that long before it kills: see docs/envoy.md.

Exit status: 0 after an interrupt, 1 when something failed, 2 when the command line or the configuration is wrong.`

// commandLine is a command line of harmony up.
type commandLine struct {
	flags          upFlags
	host           upHost
	filter         cli.FilterFlags
	sight          sightFlags
	servers        upURLs
	logLevel       string
	stats          string
	printBootstrap bool
	drainTime      config.Duration
}

// Command returns the command harmony up.
func Command() *cobra.Command {
	o := commandLine{drainTime: config.Duration(cli.DefaultDrainTime)}
	c := &cobra.Command{
		Use:        "up [URL...]",
		SuggestFor: []string{"serve", "start", "run", "gateway", "proxy"},
		Short:      "Run the Harmony filter, in Envoy or in this program, in front of your inference servers",
		Long:       upLong,
		RunE:       o.run,
	}
	o.flags.add(c.Flags())
	o.host.add(c.Flags())
	o.filter.Add(c.Flags())
	o.sight.add(c.Flags())
	o.servers.add(c.Flags())
	c.Flags().StringVar(&o.stats, "stats", "",
		"`ADDRESS` for Prometheus: GET "+envoy.StatsPath+
			" and nothing else (default: only at --admin)")
	c.Flags().StringVar(&o.logLevel, "log-level", "warning", "`LEVEL` of the proxy's log: "+strings.Join(logLevels, ", "))
	c.Flags().Var(&o.drainTime, "drain-time",
		"how long running streams may take to end after an interrupt; 0s cuts them at once")
	c.Flags().BoolVar(&o.printBootstrap, "print-bootstrap", false, "print Envoy's configuration and exit")
	cli.CompleteWords(c, "host", hostAuto, cli.HostEnvoy, cli.HostWazero)
	cli.CompleteWords(c, "mode", contract.ModeFull, contract.ModeReduced)
	cli.CompleteWords(c, "log-level", logLevels...)
	var kinds []string
	for _, kind := range contract.ServerKinds() {
		kinds = append(kinds, kind+"=http://")
	}
	cli.CompleteStarts(c, "backend", kinds...)
	cli.CompleteWords(c, "date", contract.DateUTC, contract.DateOmit)
	return c
}

func (o *commandLine) run(cmd *cobra.Command, args []string) error {
	if !slices.Contains(logLevels, o.logLevel) {
		return cli.Usage(fmt.Errorf("--log-level %s is not known; write one of %s", o.logLevel,
			strings.Join(logLevels, ", ")))
	}
	if err := o.host.check(); err != nil {
		return err
	}
	if err := o.sight.check(o.printBootstrap); err != nil {
		return cli.Usage(err)
	}
	u := up{started: time.Now(), file: o.flags.file, logLevel: o.logLevel, drainTime: time.Duration(o.drainTime),
		stdout: cmd.OutOrStdout(), stderr: &lockedWriter{writer: cmd.ErrOrStderr()}}
	u.events = hold(u.stderr, holdTime)
	defer u.events.release()
	err := o.configure(cmd, args, &u)
	if err != nil {
		return err
	}
	if u.stats, err = cli.StatsAddress(o.stats); err != nil {
		return cli.Usage(err)
	}
	if u.module, err = o.filter.Find(cmd.Context()); err != nil {
		return err
	}
	if o.printBootstrap {
		return u.printBootstrap()
	}
	if err := o.host.choose(cmd, &u); err != nil {
		return err
	}
	cli.RemoveDeadRuns()
	if err := u.newService(); err != nil {
		return err
	}
	defer u.service.Close()
	if u.sight, err = u.startSight(&o.sight); err != nil {
		return err
	}
	defer u.sight.stop()
	return o.host.run(cmd.Context(), &u)
}

// configure gives the run the configuration of the file, or of the servers that the command line names by URL, and of
// the flags.
func (o *commandLine) configure(cmd *cobra.Command, urls []string, u *up) (err error) {
	if err := o.servers.take(urls, &o.flags); err != nil {
		return cli.Usage(err)
	}
	if len(o.servers.urls) > 0 {
		if err := o.servers.ask(cmd.Context(), &o.flags, u.stderr); err != nil {
			return err
		}
	}
	u.adjust = o.flags.adjust(cmd.Flags())
	if u.config, err = o.flags.config(cmd.Flags()); err != nil {
		return cli.Usage(err)
	}
	return nil
}

var logLevels = []string{"trace", "debug", "info", "warning", "error", "critical", "off"}

// up is one run of harmony up. When the run has returned, nothing that it has started is left.
type up struct {
	started time.Time
	config  *config.Config
	// file is the path of the configuration, or "". adjust applies the flags to a configuration.
	file      string
	adjust    func(*config.Config) error
	module    cli.FilterSource
	logLevel  string
	stats     netip.AddrPort // where Envoy serves its statistics; invalid: only at its admin interface
	drainTime time.Duration
	service   *store.Part // nil only for --print-bootstrap
	// contexts are the contexts of models by their servers, in tokens, which the filter in this program has got at its
	// start. With the host envoy the map is nil: the control plane follows the servers.
	contexts map[string]int
	// structures are the values of structured_outputs that the filter in this program has by its servers.
	structures     lockedStructures
	clients        *clients.File // of the filter in this program
	sight          *upSight
	stdout, stderr io.Writer
	// events gets the log's lines. If it is nil, they go to stderr.
	events *heldWriter
}

// resources returns all resources of the configuration, for hosts that discover none.
func (u *up) resources() (*xds.Resources, error) {
	c, err := u.config.Resolve()
	if err != nil {
		return nil, cli.Usage(err)
	}
	module, err := u.module.Path()
	if err != nil {
		return nil, err
	}
	known, err := follow.ReadClients(u.config)
	if err != nil {
		return nil, cli.Usage(err)
	}
	u.clients = known
	return u.build(c, module)
}

// build returns the resources of a configuration with what is known now.
func (u *up) build(c *config.Resolved, module string) (*xds.Resources, error) {
	r, err := xds.Build(c, xds.Options{ModulePath: module, CAFile: cli.SystemCAFile(), Clients: u.clients,
		Deputy: u.deputy(), Contexts: u.contexts, Structures: u.structures.get()})
	if err != nil {
		return nil, cli.Usage(err)
	}
	return r, nil
}

// printBootstrap prints the complete configuration of an Envoy without a control plane.
func (u *up) printBootstrap() error {
	r, err := u.resources()
	if err != nil {
		return err
	}
	admin, err := config.ParseListen(u.config.Admin)
	if err != nil {
		return cli.Usage(err)
	}
	if err := envoy.CheckStats(u.stats, admin); err != nil {
		return cli.Usage(err)
	}
	bootstrap, err := envoy.Bootstrap(r, admin, u.stats)
	if err != nil {
		return err
	}
	_, err = u.stdout.Write(bootstrap)
	return err
}

// lockedWriter serialises the output of Envoy and of this program.
type lockedWriter struct {
	mu     sync.Mutex
	writer io.Writer
}

// Write implements [io.Writer].
func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writer.Write(p)
}

// waitNotice is how long a step of the start may take without a word.
const waitNotice = 500 * time.Millisecond

// waitFor says what the start waits for, if that takes long. The caller calls end when the step has ended.
func (u *up) waitFor(what string) (end func()) { return waitFor(u.stderr, what) }

func waitFor(stderr io.Writer, what string) (end func()) {
	notice := time.AfterFunc(waitNotice, func() { fmt.Fprintf(stderr, "note: waiting for %s\n", what) })
	return func() { notice.Stop() }
}

// printReady prints where clients connect. about is a line on the host that serves them.
func (u *up) printReady(address, about string) {
	fmt.Fprintf(u.stdout, `listening on http://%s
%s
try:
  curl -N http://%s/v1/chat/completions -H 'content-type: application/json' \
    -d '{"model":"%s","stream":true,"messages":[{"role":"user","content":"Say hello."}]}'
`, address, about, localAddress(address), u.config.Models[0].Name)
	if u.events != nil {
		u.events.release()
	}
}

// portsFree checks the port of every listener.
func (u *up) portsFree() error {
	for _, l := range u.config.AllListeners() {
		if err := cli.PortFree(l.Address, "--listen"); err != nil {
			return err
		}
	}
	return nil
}

package fleet

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
	"github.com/harmonyedge/harmonyedge/services/limits"
	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
	"github.com/harmonyedge/harmonyedge/services/limits/redisledger"
)

const limitsLong = `Runs the rate limit service: it counts the requests and the tokens of each client, for Envoys of
one configuration with limits.url. Envoys reserve a request's tokens here before a server is chosen, and settle them
when the stream has ended.

  harmony limits --keys keys.yaml
  harmony limits --keys keys.yaml --listen 0.0.0.0:9005 --redis redis://10.0.0.7:6379/0

Without --redis the numbers are in this program alone: run one, and all begin at zero when it starts again. Any number
of these may share one Redis. Its password comes from the environment variable ` + redisledger.PasswordVariable + `.

The keys file is read again whenever it changes. The service trusts what it is told: only Envoys may reach it.

--status serves /ready, /healthz, /metrics, and /books: what each client has reserved and used, in JSON.

Exit status: 0 after an interrupt, 1 when something failed, 2 when the command line or the keys file is wrong.`

const (
	// defaultLimits is where harmony limits serves Envoys, and defaultLimitsStatus where it serves its status.
	defaultLimits       = "127.0.0.1:9005"
	defaultLimitsStatus = "127.0.0.1:9006"
	// drainOfLimits is how long what was asked before an interrupt may take.
	drainOfLimits = 5 * time.Second
)

// limitsFlags are the flags of harmony limits.
type limitsFlags struct {
	keys, listen, status, redis string
	slot                        config.Duration
	tls                         cli.ServerTLS
}

func limitsCommand() *cobra.Command {
	f := limitsFlags{slot: config.Duration(ledger.DefaultSlotLifetime)}
	c := &cobra.Command{
		Use:   "limits --keys FILE",
		Short: "Count the requests and tokens of clients, for Envoys that hold them to limits",
		Long:  limitsLong,
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := c.Flags()
	flags.StringVar(&f.keys, "keys", "", "keys `FILE` with the clients and their limits (YAML)")
	flags.StringVar(&f.listen, "listen", defaultLimits, "`ADDRESS` for Envoys")
	flags.StringVar(&f.status, "status", defaultLimitsStatus, "`ADDRESS` of /ready, /healthz, /metrics and /books")
	flags.StringVar(&f.redis, "redis", "", "`URL` of a Redis that several of these share (default: none)")
	flags.Var(&f.slot, "slot-lifetime", "how long a request counts as running whose end is never heard of")
	f.tls.Add(flags)
	return c
}

func (f *limitsFlags) run(cmd *cobra.Command) error {
	if f.keys == "" {
		return cli.Usage(errors.New("no keys file is given; write --keys FILE (docs/keys.md)"))
	}
	if f.slot < config.Duration(time.Second) || time.Duration(f.slot) > ledger.OpenLifetime {
		return cli.Usage(fmt.Errorf("--slot-lifetime is out of range; write 1s to %s", ledger.OpenLifetime))
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	books, closeBooks, err := f.openLedger(log)
	if err != nil {
		return cli.Usage(err)
	}
	defer closeBooks()
	if _, err := clients.Load(f.keys); err != nil { // what is wrong with the file comes before a port in use
		return cli.Usage(err)
	}
	l, status, err := cli.ListenTwice(f.listen, f.status, &f.tls, log)
	if err != nil {
		return err
	}
	service := limits.New(limits.Options{Ledger: books, Listener: l, DrainTime: drainOfLimits, Log: log})
	if cli.Reachable(l.Addr()) && f.tls.ClientCA == "" {
		log.Warn("any client that connects may take from the limits of others; see --client-ca", "listen",
			l.Addr().String())
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	mux := cli.StatusMux(service.Metrics())
	service.AddStatus(mux)
	defer cli.ServeStatus(status, mux, log).Close()
	program := follow.Program{
		Follower: follow.Open(follow.Options{KeysFile: f.keys, Log: log}), Parts: []follow.Part{service}, Log: log,
		Ready: func() {
			fmt.Fprintf(cmd.OutOrStdout(), "serving Envoys on %s\nready: http://%s/ready\nmetrics: http://%[2]s/metrics\nbooks: "+
				"http://%[2]s/books\n", l.Addr(), status.Addr())
		},
	}
	return cli.AsUsage(program.Run(ctx))
}

// openLedger returns where the numbers are kept.
func (f *limitsFlags) openLedger(log *slog.Logger) (l ledger.Ledger, done func(), err error) {
	o := ledger.Options{SlotLifetime: time.Duration(f.slot)}
	if f.redis == "" {
		return ledger.NewMemory(o), func() {}, nil
	}
	r, err := redisledger.Open(f.redis, os.Getenv(redisledger.PasswordVariable), o)
	if err != nil {
		return nil, nil, fmt.Errorf("--redis: %w", err)
	}
	redisledger.LogTo(log)
	return r, func() { _ = r.Close() }, nil // the program ends
}

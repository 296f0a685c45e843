package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/operator/follow"
)

const pickerLong = `Chooses the server of each request, for Envoys of one configuration: the one that has most of the
prompt in its cache, if it is not too busy. Pools say where it is:

  pools:
    - name: h100
      policy: picker
      picker: { url: http://10.0.0.5:9002 }

  harmony picker --config config.yaml --listen 10.0.0.5:9002

It asks the servers for their models and their load, as the control plane does. The file is read again whenever it
changes. When no picker answers, Envoys choose by themselves: see picker.on_failure in docs/routing.md.

Envoys send the requests' headers, without credentials. They do so in clear text, unless the URL is https: --certificate
and --key are then this program's.

--status serves /ready, /metrics, and /status: the servers with their load, in JSON.

Exit status: 0 after an interrupt, 1 when something failed, 2 when the command line or the configuration is wrong.`

const (
	// defaultPicker is where harmony picker serves Envoys, and defaultPickerStatus where it serves its status.
	defaultPicker       = "127.0.0.1:9002"
	defaultPickerStatus = "127.0.0.1:18005"
)

// pickerFlags are the flags of harmony picker.
type pickerFlags struct {
	file, listen, status string
	o                    picker.Options
	tls                  cli.ServerTLS
}

func pickerCommand() *cobra.Command {
	var f pickerFlags
	c := &cobra.Command{
		Use:   "picker --config FILE",
		Short: "Choose servers for Envoys, by the blocks of prompts and by load",
		Long:  pickerLong,
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := c.Flags()
	flags.StringVar(&f.file, "config", "", "configuration `FILE` (YAML)")
	flags.StringVar(&f.listen, "listen", defaultPicker, "`ADDRESS` for Envoys")
	flags.StringVar(&f.status, "status", defaultPickerStatus, "`ADDRESS` of /ready, /metrics and /status")
	flags.IntVar(&f.o.BlocksPerServer, "blocks-per-server", picker.DefaultBlocksPerServer,
		"blocks that the cache of a server has")
	flags.IntVar(&f.o.MaxBlocks, "max-blocks", picker.DefaultMaxBlocks, "blocks that are kept for all servers together")
	flags.IntVar(&f.o.Balance, "max-load", picker.DefaultBalance,
		"requests that a server may have at once, in percent of the average of its pool")
	f.tls.Add(flags)
	return c
}

func (f *pickerFlags) run(cmd *cobra.Command) error {
	switch {
	case f.file == "":
		return cli.Usage(errors.New("no configuration is given; write --config FILE (see examples/config.yaml)"))
	case f.o.BlocksPerServer < 1 || f.o.BlocksPerServer > 1<<24:
		return cli.Usage(fmt.Errorf("--blocks-per-server %d is out of range; write 1 to %d", f.o.BlocksPerServer, 1<<24))
	case f.o.MaxBlocks < 1 || f.o.MaxBlocks > 1<<30:
		return cli.Usage(fmt.Errorf("--max-blocks %d is out of range; write 1 to %d", f.o.MaxBlocks, 1<<30))
	case f.o.Balance < 100 || f.o.Balance > 1000:
		return cli.Usage(fmt.Errorf("--max-load %d is out of range; write 100 to 1000", f.o.Balance))
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	l, status, err := cli.ListenTwice(f.listen, f.status, &f.tls, log)
	if err != nil {
		return err
	}
	if cli.Reachable(l.Addr()) && !f.tls.On() {
		log.Warn("Envoys are served in clear text; see --certificate", "listen", l.Addr().String())
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := picker.New(f.o)
	s := picker.NewService(p, log)
	ready := make(chan struct{})
	defer cli.ServeStatus(status, pickerStatus(s, ready), log).Close()
	program := follow.Program{
		Follower: follow.Open(follow.Options{File: f.file, Needs: follow.Needs{Secret: server.PickersSecret,
			ClientsFor: server.PickersClients}, Log: log}),
		// Envoys may come only when there are servers: without them they would choose by themselves.
		Parts: []follow.Part{
			follow.NewServed(func(ctx context.Context) error { return s.Serve(ctx, l) }),
			server.NewFeed(server.FeedOptions{Picker: p, Log: log}),
		},
		Ready: func() {
			close(ready)
			fmt.Fprintf(cmd.OutOrStdout(), "serving Envoys on %s\nstatus: http://%s/status\nmetrics: http://%[2]s/metrics\n",
				l.Addr(), status.Addr())
		},
		Log: log,
	}
	return cli.AsUsage(program.Run(ctx))
}

// pickerStatus serves the metrics and the servers of a picker, and whether it knows servers yet.
func pickerStatus(s *picker.Service, ready <-chan struct{}) http.Handler {
	mux := cli.StatusMux(s.Collector())
	mux.Handle("GET /status", s.StatusHandler())
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-ready:
			_, _ = w.Write([]byte("ready\n"))
		default:
			http.Error(w, "no servers are known yet", http.StatusServiceUnavailable)
		}
	})
	return mux
}

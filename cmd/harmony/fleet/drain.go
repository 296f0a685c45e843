package fleet

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const drainLong = `Drains an Envoy of yours, so that the SIGTERM after it cuts no stream:

  harmony drain --admin 127.0.0.1:9901 --drain-time 5m

It makes the gateway's /health and Envoy's /ready answer 503, waits for --stay while load balancers see that, closes the
listeners, and returns when no request runs any more. Envoy itself goes on to run. In Kubernetes this is a preStop hook.
harmony up drains its own Envoy when it gets SIGTERM, and needs no such command.

Exit status: 0 when no request is left, 1 when some still run after --drain-time, or when Envoy does not answer.`

// defaultStay is how long load balancers have to see that an Envoy is not ready.
const defaultStay = 5 * time.Second

// drainFlags are the flags of harmony drain.
type drainFlags struct {
	admin           string
	drainTime, stay time.Duration
}

func drainCommand() *cobra.Command {
	var f drainFlags
	c := &cobra.Command{
		Use:   "drain",
		Short: "Drain an Envoy before it is stopped",
		Long:  drainLong,
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	c.Flags().StringVar(&f.admin, "admin", defaultEnvoyAdmin, "`ADDRESS` of Envoy's admin interface")
	c.Flags().DurationVar(&f.drainTime, "drain-time", 5*time.Minute, "how `LONG` running requests may take to end")
	c.Flags().DurationVar(&f.stay, "stay", defaultStay, "how `LONG` new connections are still taken")
	return c
}

func (f *drainFlags) run(cmd *cobra.Command) error {
	address, err := config.ParseAdmin(f.admin)
	if err != nil {
		return cli.Usage(fmt.Errorf("--admin: %w", err))
	}
	ctx, admin := cmd.Context(), envoy.AdminInterface(address.String())
	if err := admin.Drain(ctx, f.stay); err != nil {
		return err
	}
	end := time.After(f.drainTime)
	tick := time.NewTicker(cli.DrainPoll)
	defer tick.Stop()
	for {
		left, err := admin.Streams(ctx)
		if err != nil || left == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-end:
			return fmt.Errorf("%s still running after %s; --drain-time gives them longer", cli.Plural(left, "stream"),
				cli.FormatDuration(f.drainTime))
		}
	}
}

package mesh

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/envoy/mesh/check"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const checkLong = `Asks a running gateway whether the filter is there and can work. A mesh may drop what it does not know
without a word, and this finds out what is missing. One of the requests makes a model write one token.

  harmony mesh check http://gateway.example.com
  kubectl port-forward -n istio-system deploy/istio-ingressgateway 15000 &
  harmony mesh check http://gateway.example.com --admin http://127.0.0.1:15000

With --admin the configuration of the gateway's Envoy is checked too: the mode, whether headers are held, what happens
when a VM dies, and what Envoy has refused.

Exit status: 0 if every check passed, 1 if a check failed or the gateway did not answer, 2 if the command line is wrong.`

// checkFlags are the flags of harmony mesh check.
type checkFlags struct {
	admin, host, model, keyVariable string
	timeout                         time.Duration
}

func checkMeshCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check URL",
		Short: "Check a running gateway: is the filter there, and can it work?",
		Long:  checkLong,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage(fmt.Errorf("one URL is expected, such as http://127.0.0.1:8080; see %s --help",
					c.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	c.Flags().StringVar(&f.admin, "admin", "", "`URL` of the admin interface of the gateway's Envoy (default: not read)")
	c.Flags().StringVar(&f.host, "host", "", "`HOST` header of the requests, for a gateway that is reached by another name "+
		"than clients use (default: the URL's)")
	c.Flags().StringVar(&f.model, "model", "", "`NAME` of the model that is asked (default: the first of the list)")
	c.Flags().StringVar(&f.keyVariable, "key-env", "", "`VARIABLE` of the environment that has the gateway's API key")
	c.Flags().DurationVar(&f.timeout, "timeout", 20*time.Second, "how `LONG` one request may take")
	return c
}

func (f *checkFlags) run(cmd *cobra.Command, url string) error {
	gateway, err := config.ParseURL(url)
	if err != nil {
		return cli.Usage(err)
	}
	o := check.Options{URL: gateway.String(), Host: f.host, Model: f.model, Timeout: f.timeout}
	if f.timeout <= 0 {
		return cli.Usage(fmt.Errorf("--timeout %s is out of range; write for example 20s", f.timeout))
	}
	if f.admin != "" {
		admin, err := config.ParseURL(f.admin)
		if err != nil {
			return cli.Usage(fmt.Errorf("--admin: %w", err))
		}
		o.Admin = admin.String()
	}
	if f.keyVariable != "" {
		key := os.Getenv(f.keyVariable)
		if key == "" {
			return cli.Usage(fmt.Errorf("--key-env: the environment has no %s; export it", f.keyVariable))
		}
		o.Authorization = "Bearer " + key
	}
	checks, err := check.Gateway(cmd.Context(), o)
	if err != nil {
		return fmt.Errorf("%s does not answer: %s; check that the gateway is started, and its address", gateway,
			pools.Cause(err, err.Error()))
	}
	failed := 0
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, c := range checks {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.Result, c.Name, c.Detail)
		if c.Result == check.Fail {
			failed++
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch failed {
	case 0:
		return nil
	case 1:
		return errors.New("1 check has failed")
	default:
		return fmt.Errorf("%d checks have failed", failed)
	}
}

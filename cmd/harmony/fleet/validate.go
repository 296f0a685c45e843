package fleet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const validateLong = `Checks configuration files as harmony up and harmony controlplane read them, with the servers
files that they name. The filter's part is checked as the filter reads it. Nothing is started, no server is asked, and
secrets need not exist. Each mistake is printed with its file, line and setting. Settings that only harmony up uses are
noted, and are not mistakes.

Exit status: 0 when all files are right, 2 when one is wrong.`

func validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check configuration files",
		Long:  validateLong,
		Args: func(c *cobra.Command, files []string) error {
			if len(files) == 0 {
				return cli.Usage(fmt.Errorf("no FILE is given; see %s --help", c.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			var wrong []error
			for _, file := range files {
				c, err := Validate(file)
				if err != nil {
					wrong = append(wrong, err)
					continue
				}
				total := 0
				for _, servers := range c.Servers {
					total += len(servers)
				}
				for _, field := range c.OnlyUp() {
					only := &config.Error{Field: field, Reason: "is for harmony up only; harmony controlplane does not use it"}
					fmt.Fprintln(cmd.ErrOrStderr(), "note:", config.Locate(only, file))
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: right; models: %d, pools: %d, servers: %d\n", file, len(c.Models),
					len(c.Servers), total)
			}
			if wrong != nil {
				return cli.Usage(errors.Join(wrong...))
			}
			return nil
		},
	}
}

// Validated is a configuration with the servers of each pool, from the configuration and from servers files.
type Validated struct {
	*config.Config
	Servers map[string][]xds.Server
}

// Validate reads a file and its servers files, and builds the resources that Envoys would get.
func Validate(file string) (*Validated, error) {
	c, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	all := map[string][]xds.Server{}
	resolved, err := c.Resolve()
	if err != nil {
		return nil, config.Locate(err, file)
	}
	for i := range resolved.Pools {
		p := &resolved.Pools[i]
		endpoints := p.Endpoints
		if p.ServersFile != "" {
			more, err := pools.ReadFile(p.ServersFile)
			if err != nil {
				return nil, config.Locate(&config.Error{Field: fmt.Sprintf("pools[%d].servers_file", i), Reason: err.Error()}, file)
			}
			endpoints = slices.Concat(endpoints, more)
		}
		all[p.Name] = nil
		for _, e := range endpoints {
			all[p.Name] = append(all[p.Name], xds.Server{Endpoint: e})
		}
	}
	known, err := server.ReadClients(c)
	if err != nil {
		return nil, config.Locate(err, file)
	}
	// The module and the certificates depend on the machine of the Envoy, so any names do.
	if _, err = xds.Build(resolved, xds.Options{
		ModulePath: "harmony-filter.wasm", CAFile: "ca.pem", Servers: all, Clients: known}); err != nil {
		var wrong *config.Error
		if errors.As(err, &wrong) {
			return nil, config.Locate(err, file)
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &Validated{c, all}, nil
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.Schema)
			return err
		},
	}
}

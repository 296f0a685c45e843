package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

const validateLong = `Checks configuration files as harmony up --config reads them, and as the filter reads what it gets of them. Nothing is started,
and no server is asked. Each mistake is told by its file, line and setting.

Exit status: 0 when all files are right, 2 when one is wrong.`

func validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check configuration files",
		Long:  validateLong,
		Args: func(c *cobra.Command, files []string) error {
			if len(files) == 0 {
				return usageError{fmt.Errorf("no FILE is given; see %s --help", c.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			var wrong []error
			for _, file := range files {
				c, err := validate(file)
				if err != nil {
					wrong = append(wrong, err)
					continue
				}
				pools, servers := c.AllPools(), 0
				for i := range pools {
					servers += len(pools[i].Servers)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: right; models: %d, pools: %d, servers: %d\n", file, len(c.Models), len(pools), servers)
			}
			if wrong != nil {
				return usageError{errors.Join(wrong...)}
			}
			return nil
		},
	}
}

// validate reads a file, and makes of it all that Envoy would get.
func validate(file string) (*config.Config, error) {
	c, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	// Which module and which certificates there are is the machine's that runs it.
	if _, err = xds.Build(c, xds.Options{ModulePath: "harmony-filter.wasm", CAFile: "ca.pem", Servers: map[string][]xds.Server{}}); err != nil {
		var wrong *config.Error
		if errors.As(err, &wrong) {
			wrong.File = file
			return nil, wrong
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.Schema)
			return err
		},
	}
}

package mesh

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/envoy/mesh/ownenvoy"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
)

const meshEnvoyLong = `Prints the pieces that an envoy.yaml of your own needs to serve models, each with its place:

  harmony mesh envoy envoy.yaml --config config.yaml --module file:///etc/envoy/harmony-filter.wasm \
    --domain models.example.com

They are the filter, the routes of the models' virtual host, the clusters, and settings of the listener and of its
connection manager. A host of that domain that is there gets the routes before its own. Without one a new host is added.
The filter is disabled in all other hosts. What you should know of the file stands in comments above the pieces.

With --merge the whole file is printed, with the pieces in their places. It has no comments of yours, and no anchors.
Look at it as Envoy does: envoy --mode validate -c merged.yaml.

The file is a static one: listeners, clusters and routes of a control plane are not in it. It keeps its own addresses,
certificates, access log, tracing and limits of clients: listen, listeners, admin, access_log, tracing, request_timeout
and envoy of the configuration do nothing here.

Exit status: 0, or 2 when the command line, the configuration or the file is not understood.`

// meshEnvoyFlags are the flags of harmony mesh envoy.
type meshEnvoyFlags struct {
	meshFlags
	ownenvoy.Options
	merge bool
}

func meshEnvoyCommand() *cobra.Command {
	var f meshEnvoyFlags
	c := &cobra.Command{
		Use:   "envoy FILE --config FILE --module URL",
		Short: "Print what an envoy.yaml of your own needs",
		Long:  meshEnvoyLong,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage(fmt.Errorf("name one envoy.yaml; see %s --help", cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := c.Flags()
	f.add(flags)
	flags.Lookup("module").Usage = "`URL` of the filter on Envoy's machine: file:///PATH"
	_ = flags.MarkHidden("module-sha256") // a file has none
	flags.StringVar(&f.Listener, "listener", "", "`NAME` of the listener (default: the only one for HTTP)")
	flags.StringVar(&f.Domain, "domain", "", "`DOMAIN` of the models, of a host in the file or of a new one "+
		"(default: the only host)")
	flags.BoolVar(&f.merge, "merge", false, "print the whole file, with the pieces in their places")
	return c
}

func (f *meshEnvoyFlags) run(cmd *cobra.Command, file string) error {
	c, servers, err := f.configuration(cmd)
	if err != nil {
		return cli.Usage(err)
	}
	r, err := f.resources(c, servers)
	if err != nil {
		return cli.Usage(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return cli.Usage(err)
	}
	merged, err := ownenvoy.Merge(r, text, f.Options)
	if err != nil {
		return cli.Usage(fmt.Errorf("%s: %w", file, err))
	}
	write, comment := merged.WritePieces, "What "+file+" needs for the Harmony filter"
	if f.merge {
		write, comment = merged.WriteFile, file+" with the Harmony filter"
	}
	if err := write(cmd.OutOrStdout(), comment+", by harmony mesh envoy. Why: docs/envoy.md.\n"+needsOfFiles(c)); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// resources builds what Envoy gets.
func (f *meshEnvoyFlags) resources(c *config.Resolved, servers map[string][]xds.Server) (*xds.Resources, error) {
	if err := f.module.Check(); err != nil {
		return nil, fmt.Errorf("--module: %w", err)
	}
	path, ok := f.module.File()
	if !ok {
		return nil, errors.New("--module: an Envoy of your own reads a file; write file:///PATH on its machine")
	}
	for i := range c.Pools {
		if p := &c.Pools[i]; p.FollowedSetting() != "" {
			return nil, fmt.Errorf("%s: the pool %s has %s, which only a control plane follows; write servers", f.file,
				p.Name, p.FollowedSetting())
		}
	}
	known, err := follow.ReadClients(c.Config)
	if err != nil {
		return nil, config.Locate(err, f.file)
	}
	if c, err = mesh.Plain(c); err != nil {
		return nil, err
	}
	// The file has its own. Their certificates and the collector's cluster would have no use.
	c.Config.Listeners, c.Config.Listen, c.Config.Tracing = nil, config.Default().Listen, config.Tracing{}
	return xds.Build(c, xds.Options{ModulePath: path, CAFile: cli.SystemCAFile(), Servers: servers, Clients: known})
}

// needsOfFiles returns what does not follow its file by itself.
func needsOfFiles(c *config.Resolved) string {
	var b strings.Builder
	for i := range c.Pools {
		if p := &c.Pools[i]; p.ServersFile != "" {
			fmt.Fprintf(&b, "The servers of the pool %s are those in %s now. Run the command again when they change.\n", p.Name,
				p.ServersFile)
		}
	}
	if c.Config.Clients.KeysFile != "" {
		fmt.Fprintf(&b, "The clients are those in %s now. Run the command again when they change.\n", c.Config.Clients.KeysFile)
	}
	return b.String()
}

package mesh

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/envoy/mesh/envoygateway"
)

const envoyGatewayLong = `Prints the objects with which Envoy Gateway serves the models of a configuration:

  harmony mesh envoy-gateway --config config.yaml --module oci://registry.example.com/harmony/filter:0.1.0 > harmony.yaml
  kubectl apply -f harmony.yaml
  harmony mesh check http://GATEWAY

They are Gateway, HTTPRoute, Backend and policies, with the routes and servers that harmony controlplane would give an
Envoy. An EnvoyExtensionPolicy fetches the filter, and patches of an EnvoyPatchPolicy let it hold headers, in full mode.
With --module file:///PATH in the gateway's pods a patch brings the whole filter. Nothing is applied, and no cluster is
asked.

Exit status: 0, or 2 when the command line or the configuration is wrong.`

// envoyGatewayFlags are the flags of harmony mesh envoy-gateway.
type envoyGatewayFlags struct {
	meshFlags
	envoygateway.Options
}

func envoyGatewayCommand() *cobra.Command {
	var f envoyGatewayFlags
	c := &cobra.Command{
		Use:   "envoy-gateway --config FILE --module URL",
		Short: "Print the objects for Envoy Gateway",
		Long:  envoyGatewayLong,
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := c.Flags()
	f.add(flags)
	flags.StringVar(&f.Name, "name", "harmony", "`NAME` of the Gateway, which begins the other objects' names")
	flags.StringVarP(&f.Namespace, "namespace", "n", "default", "`NAMESPACE` of all objects")
	flags.StringVar(&f.Class, "class", "eg", "`NAME` of the GatewayClass")
	return c
}

func (f *envoyGatewayFlags) run(cmd *cobra.Command) error {
	c, servers, err := f.configuration(cmd)
	if err != nil {
		return cli.Usage(err)
	}
	o := f.Options
	o.Servers, o.Module = servers, f.module
	objects, err := envoygateway.Objects(c, o)
	if err != nil {
		return cli.Usage(fmt.Errorf("%s: %w", f.file, err))
	}
	return mesh.Write(cmd.OutOrStdout(), envoygateway.Comment(c.Config, o), objects)
}

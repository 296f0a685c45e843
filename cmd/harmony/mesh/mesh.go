package mesh

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/fleet"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/envoy/mesh/istio"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Command returns the command harmony mesh.
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "mesh",
		Short: "Put the filter into what is there already: Istio, Envoy Gateway, an Envoy of your own",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Usage(fmt.Errorf("name one of the commands in %s --help", cmd.CommandPath()))
		},
	}
	c.AddCommand(istioCommand(), envoyGatewayCommand(), meshEnvoyCommand(), checkMeshCommand())
	return c
}

const istioLong = `Prints the objects with which Istio serves the models of a configuration on one of its gateways:

  harmony mesh istio --config config.yaml --module oci://registry.example.com/harmony/filter:0.1.0 > harmony.yaml
  kubectl apply -f harmony.yaml
  harmony mesh check http://GATEWAY

They are Gateway, VirtualService, ServiceEntry and DestinationRule, with the routes and servers that harmony
controlplane would give an Envoy, and an EnvoyFilter for what these cannot say. In full mode the EnvoyFilter has the
filter too. In reduced mode a WasmPlugin has it. Nothing is applied, and no cluster is asked.

Exit status: 0, or 2 when the command line or the configuration is wrong.`

// meshFlags are the flags of all commands that write objects.
type meshFlags struct {
	file, mode string
	module     mesh.Module
}

func (f *meshFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "config", "", "configuration `FILE` (YAML)")
	flags.StringVar(&f.mode, "mode", "", "`MODE` of the filter: full or reduced (default: that of the configuration)")
	flags.StringVar(&f.module.URL, "module", "", "`URL` of the filter: oci://REGISTRY/IMAGE:TAG, https://…, or file:///PATH "+
		"in the gateway's pods")
	flags.StringVar(&f.module.SHA256, "module-sha256", "", "SHA-256 of what is fetched from --module: `DIGITS`")
}

// configuration reads the configuration, with the servers of its pools.
func (f *meshFlags) configuration(cmd *cobra.Command) (*config.Resolved, map[string][]xds.Server, error) {
	if f.file == "" {
		return nil, nil, fmt.Errorf("no configuration is given; write --config FILE (see %s --help)", cmd.CommandPath())
	}
	if f.module.URL == "" {
		return nil, nil, errors.New("no filter is given; write --module URL, such as --module file:///etc/harmony/" +
			cli.ModuleName)
	}
	v, err := fleet.Validate(f.file)
	if err != nil {
		return nil, nil, err
	}
	switch f.mode {
	case "":
	case contract.ModeFull, contract.ModeReduced:
		v.Mode = f.mode
	default:
		return nil, nil, fmt.Errorf("--mode %s is not known; write full or reduced", f.mode)
	}
	c, err := v.Resolve()
	if err != nil {
		return nil, nil, config.Locate(err, f.file)
	}
	return c, v.Servers, nil
}

// istioFlags are the flags of harmony mesh istio.
type istioFlags struct {
	meshFlags
	istio.Options
	selector map[string]string
}

func istioCommand() *cobra.Command {
	var f istioFlags
	c := &cobra.Command{
		Use:   "istio --config FILE --module URL",
		Short: "Print the objects for a gateway of Istio",
		Long:  istioLong,
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := c.Flags()
	f.add(flags)
	flags.BoolVar(&f.Inline, "inline", false, "put the filter into its place in the listener, without extension "+
		"configuration; --module is then a file")
	flags.StringVar(&f.API, "api", istio.WasmPlugin, "`KIND` that brings the filter in reduced mode: "+istio.WasmPlugin+
		", or "+istio.TrafficExtension+" (Istio 1.31)")
	flags.StringVar(&f.PullSecret, "pull-secret", "", "`NAME` of the Secret for an image, in reduced mode")
	flags.StringVar(&f.Name, "name", "harmony", "`NAME` of the objects")
	flags.StringVarP(&f.Namespace, "namespace", "n", "istio-system", "`NAMESPACE` of the gateway's pods")
	flags.StringToStringVar(&f.selector, "selector", map[string]string{"istio": "ingressgateway"},
		"labels of the gateway's pods: `KEY=VALUE,…`")
	flags.Uint32Var(&f.Port, "port", 0, "`PORT` of the gateway's Service (default: that of the configuration)")
	flags.Uint32Var(&f.TargetPort, "target-port", 0, "the same `PORT` in the pods (default: --port)")
	flags.StringVar(&f.Bind, "bind", "", "`ADDRESS` on which the pods listen (default: all)")
	flags.StringSliceVar(&f.Hosts, "host", []string{"*"}, "host `NAME` that is served; can be repeated")
	return c
}

func (f *istioFlags) run(cmd *cobra.Command) error {
	c, servers, err := f.configuration(cmd)
	if err != nil {
		return cli.Usage(err)
	}
	o := f.Options
	o.Selector, o.Servers, o.Module = f.selector, servers, f.module
	objects, err := istio.Objects(c, o)
	if err != nil {
		return cli.Usage(fmt.Errorf("%s: %w", f.file, err))
	}
	return mesh.Write(cmd.OutOrStdout(), istio.Comment(c.Config, o), objects)
}

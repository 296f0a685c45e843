package fleet

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	// defaultXDS is the address at which harmony controlplane serves Envoys.
	defaultXDS = "127.0.0.1:18000"
	// defaultStatus is the address at which it serves status and metrics.
	defaultStatus = "127.0.0.1:18001"
	// defaultEnvoyAdmin is the address that Envoy's own examples use.
	defaultEnvoyAdmin = "127.0.0.1:9901"
)

const bootstrapLong = `Prints the bootstrap of an Envoy that is configured by a control plane, over delta ADS:

  harmony controlplane bootstrap --control-plane 10.0.0.5:18000 > bootstrap.json
  envoy -c bootstrap.json

With -o FILE, Envoy also takes renewed certificates without a restart: files beside FILE tell it to watch their folder.
In Kubernetes, an init container writes them for Envoy's container. With --program it puts this program beside them,
whose command drain is then Envoy's preStop hook.

Envoy gets the filter from the control plane, unless that has a path for it (--wasm-on-envoys).`

func bootstrapCommand() *cobra.Command {
	var d envoy.Discovery
	var admin, stats, out, program string
	c := &cobra.Command{
		Use:   "bootstrap",
		Short: "Print the bootstrap of an Envoy of this control plane",
		Long:  bootstrapLong,
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			address, err := config.ParseAdmin(admin)
			if err != nil {
				return cli.Usage(fmt.Errorf("--admin: %w", err))
			}
			d.Admin, d.PushMetrics, d.CollectorCAFile = address, true, cli.SystemCAFile()
			if d.Stats, err = cli.StatsAddress(stats); err != nil {
				return cli.Usage(err)
			}
			for _, file := range []*string{&d.CAFile, &d.CertificateFile, &d.KeyFile} {
				if *file == "" {
					continue
				}
				// Envoy may start in another folder.
				if *file, err = filepath.Abs(*file); err != nil {
					return err
				}
			}
			if out != cli.ToStdout {
				if d.SecretsFolder, err = filepath.Abs(filepath.Dir(out)); err != nil {
					return err
				}
			}
			bootstrap, err := envoy.DiscoveryBootstrap(d)
			if err != nil {
				return cli.Usage(err)
			}
			if program != "" {
				if err := copyProgram(program); err != nil {
					return fmt.Errorf("--program: %w", err)
				}
			}
			if out != cli.ToStdout {
				return writeBootstrap(out, bootstrap, d)
			}
			_, err = cmd.OutOrStdout().Write(bootstrap)
			return err
		},
	}
	hostname, _ := os.Hostname() // without a host name the default is empty, and --node is required
	c.Flags().StringVar(&d.ControlPlane, "control-plane", defaultXDS,
		"`ADDRESS` of harmony controlplane, as Envoy reaches it")
	c.Flags().StringVar(&d.Node, "node", hostname, "`NAME` of this Envoy, as the control plane's status shows it")
	c.Flags().StringVar(&d.Group, "group", "",
		"`NAME` of the group of Envoys that this one belongs to, for harmony rollout")
	c.Flags().StringVar(&d.CAFile, "ca", "", "`FILE` of the certificates that the control plane is checked against, "+
		"for TLS (default: clear text)")
	c.Flags().StringVar(&d.CertificateFile, "certificate", "",
		"`FILE` of the certificate that Envoy presents to the control plane")
	c.Flags().StringVar(&d.KeyFile, "key", "", "`FILE` of its key")
	c.Flags().StringVar(&admin, "admin", defaultEnvoyAdmin,
		"`ADDRESS` of Envoy's admin interface, which has no password: on loopback")
	c.Flags().StringVar(&stats, "stats", "",
		"`ADDRESS` for Prometheus: GET "+envoy.StatsPath+" and nothing else (default: only at --admin)")
	c.Flags().StringVar(&d.Collector, "metrics-otlp", "",
		"`URL` of an OpenTelemetry collector that gets all metrics of this Envoy, by gRPC: http://HOST:4317")
	d.Limits = config.Default().Envoy
	c.Flags().Var(&d.Limits.MaxHeap, "max-heap",
		"memory that Envoy may have in use itself, the filter's VMs aside: `SIZE` such as 2GiB")
	c.Flags().IntVar(&d.Limits.MaxConnections, "max-connections", d.Limits.MaxConnections,
		"clients' connections that there may be at once: `NUMBER`")
	c.Flags().StringVarP(&out, "output", "o", cli.ToStdout, "`FILE` to write; - is standard output")
	c.Flags().StringVar(&program, "program", "", "`FILE` to which this program is copied, for a container that lacks it")
	return c
}

// writeBootstrap writes the bootstrap, and beside it the files by which Envoy notices renewed certificates.
func writeBootstrap(out string, bootstrap []byte, d envoy.Discovery) error {
	secrets, err := envoy.DiscoverySecrets(d)
	if err != nil {
		return err
	}
	for name, text := range secrets {
		if err := cli.WriteOutput(filepath.Join(d.SecretsFolder, name), text); err != nil {
			return err
		}
	}
	return cli.WriteOutput(out, bootstrap)
}

// copyProgram copies this program to a file that can be run.
func copyProgram(to string) error {
	from, err := os.Executable()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := cli.WriteOutput(to, content); err != nil {
		return err
	}
	return os.Chmod(to, 0o755)
}

// Program istio-server is Istio's control plane for tests. It reads Istio's objects from a folder instead of a Kubernetes
// API server and serves what it makes of them to Envoys over ADS.
//
// The stock pilot-discovery does not start without Kubernetes. This program starts the same server
// (istio.io/istio/pilot/pkg/bootstrap) with Istio's own fake of a Kubernetes client. The server's validation of objects
// is on: a wrong object ends the program with its error.
//
// With -kubeconfig it reads all objects from a real API server, as the stock program does in a cluster.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"syscall"
	"time"
	"unsafe"

	"istio.io/istio/pilot/pkg/bootstrap"
	"istio.io/istio/pilot/pkg/config/kube/extensions"
	"istio.io/istio/pilot/pkg/config/kube/file"
	kubecontroller "istio.io/istio/pilot/pkg/serviceregistry/kube/controller"
	"istio.io/istio/pilot/pkg/serviceregistry/provider"
	"istio.io/istio/pkg/config/schema/collections"
	"istio.io/istio/pkg/ctrlz"
	"istio.io/istio/pkg/kube"
)

const domain = "cluster.local"

func main() {
	var objects, kubeconfig, mesh, xds, http string
	flag.StringVar(&objects, "objects", "", "folder of the YAML files with Istio's objects")
	flag.StringVar(&kubeconfig, "kubeconfig", "", "file that names an API server with the objects, in place of a folder")
	flag.StringVar(&mesh, "mesh-config", "", "file with the MeshConfig")
	flag.StringVar(&xds, "xds", "127.0.0.1:0", "address on which Envoys are served, without TLS")
	flag.StringVar(&http, "http", "127.0.0.1:0", "address of /ready and /debug/")
	flag.Parse()
	args := options(mesh, xds, http)
	start := func() (*bootstrap.Server, error) { return fromFolder(args, objects) }
	if kubeconfig != "" {
		start = func() (*bootstrap.Server, error) { return fromCluster(args, kubeconfig) }
	}
	if err := run(start); err != nil {
		fmt.Fprintln(os.Stderr, "istio-server:", err)
		os.Exit(1)
	}
}

// options returns what both ways to start have in common.
func options(mesh, xds, http string) *bootstrap.PilotArgs {
	return bootstrap.NewPilotArgs(func(p *bootstrap.PilotArgs) {
		p.CtrlZOptions = ctrlz.DefaultOptions()
		p.CtrlZOptions.Port = 0
		p.RegistryOptions.KubeOptions.DomainSuffix = domain
		p.RegistryOptions.KubeOptions.ClusterID = "Kubernetes"
		p.MeshConfigFile = mesh
		p.ServerOptions.GRPCAddr = xds
		p.ServerOptions.HTTPAddr = http
		p.ServerOptions.MonitoringAddr = "127.0.0.1:0"
		p.ShutdownDuration = 100 * time.Millisecond
	})
}

// fromFolder returns a server that reads the objects of a folder.
func fromFolder(args *bootstrap.PilotArgs, objects string) (*bootstrap.Server, error) {
	args.RegistryOptions.Registries = nil
	args.RegistryOptions.FileDir = objects
	var readErr error
	server, err := bootstrap.NewServer(args, func(s *bootstrap.Server) {
		setKubeClient(s, kube.NewFakeClient())
		// The server reads WasmPlugin objects only from Kubernetes. So this store of them is added to it.
		files, err := file.NewController(objects, domain, collections.Pilot, kubecontroller.Options{})
		if err != nil {
			readErr = err
			return
		}
		s.ConfigStores = append(s.ConfigStores, extensions.NewController(files, nil, nil))
	})
	if readErr != nil {
		return nil, readErr
	}
	return server, err
}

// fromCluster returns a server that reads the objects of an API server, with the limits of the stock program.
func fromCluster(args *bootstrap.PilotArgs, kubeconfig string) (*bootstrap.Server, error) {
	args.PodName = "istiod" // elections need a name
	args.RegistryOptions.Registries = []string{string(provider.Kubernetes)}
	args.RegistryOptions.KubeConfig = kubeconfig
	args.RegistryOptions.KubeOptions.KubernetesAPIQPS = 80
	args.RegistryOptions.KubeOptions.KubernetesAPIBurst = 160
	return bootstrap.NewServer(args)
}

// run serves until the process is told to stop.
func run(start func() (*bootstrap.Server, error)) error {
	server, err := start()
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	if err := server.Start(stop); err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	<-signals
	close(stop)
	server.WaitUntilCompletion()
	return nil
}

// setKubeClient gives the server its client. Istio's own tests set this unexported field too.
func setKubeClient(s *bootstrap.Server, client kube.Client) {
	field := reflect.ValueOf(s).Elem().FieldByName("kubeClient")
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(client))
}

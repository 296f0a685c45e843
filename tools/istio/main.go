// Program istio-server is Istio's control plane for tests. It reads Istio's objects from a folder instead of a Kubernetes
// API server and serves what it makes of them to Envoys over ADS.
//
// The stock pilot-discovery does not start without Kubernetes. This program starts the same server
// (istio.io/istio/pilot/pkg/bootstrap) with Istio's own fake of a Kubernetes client. The server's validation of objects
// is on: a wrong object ends the program with its error.
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
	"istio.io/istio/pkg/config/schema/collections"
	"istio.io/istio/pkg/ctrlz"
	"istio.io/istio/pkg/kube"
)

const domain = "cluster.local"

func main() {
	var objects, mesh, xds, http string
	flag.StringVar(&objects, "objects", "", "folder of the YAML files with Istio's objects")
	flag.StringVar(&mesh, "mesh-config", "", "file with the MeshConfig")
	flag.StringVar(&xds, "xds", "127.0.0.1:0", "address on which Envoys are served, without TLS")
	flag.StringVar(&http, "http", "127.0.0.1:0", "address of /ready and /debug/")
	flag.Parse()
	if err := run(objects, mesh, xds, http); err != nil {
		fmt.Fprintln(os.Stderr, "istio-server:", err)
		os.Exit(1)
	}
}

// run serves until the process is told to stop.
func run(objects, mesh, xds, http string) error {
	args := bootstrap.NewPilotArgs(func(p *bootstrap.PilotArgs) {
		p.CtrlZOptions = ctrlz.DefaultOptions()
		p.CtrlZOptions.Port = 0
		p.RegistryOptions.Registries = nil
		p.RegistryOptions.FileDir = objects
		p.RegistryOptions.KubeOptions.DomainSuffix = domain
		p.RegistryOptions.KubeOptions.ClusterID = "Kubernetes"
		p.MeshConfigFile = mesh
		p.ServerOptions.GRPCAddr = xds
		p.ServerOptions.HTTPAddr = http
		p.ServerOptions.MonitoringAddr = "127.0.0.1:0"
		p.ShutdownDuration = 100 * time.Millisecond
	})
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
		return readErr
	}
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

// Program kubernetes-server is etcd and kube-apiserver in one process, for tests.
//
//	kubernetes-server DIRECTORY [FLAG OF KUBE-APISERVER]...
//
// etcd keeps its data in the directory, so that the objects are there again after a restart. There are no controllers
// and no nodes: what an object is to cause beyond the API server does not happen.
package main

import (
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: kubernetes-server DIRECTORY [FLAG OF KUBE-APISERVER]...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "kubernetes-server:", err)
		os.Exit(1)
	}
}

// run serves until the process is told to stop.
func run(directory string, flags []string) error {
	etcd, err := startEtcd(directory)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer etcd.Close()
	command := app.NewAPIServerCommand()
	command.SetArgs(append([]string{"--etcd-servers=http://" + etcd.Clients[0].Addr().String()}, flags...))
	return command.Execute()
}

// startEtcd starts etcd on free ports of the loopback interface and waits until it is ready.
func startEtcd(directory string) (*embed.Etcd, error) {
	c := embed.NewConfig()
	c.Dir = directory
	c.LogLevel = "error"
	c.EnableGRPCGateway = false // it would dial the port 0 of the advertised address
	// Processes that are killed lose nothing by it: only a machine that loses its power does.
	c.UnsafeNoFsync = true
	free := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	c.ListenClientUrls, c.AdvertiseClientUrls = free, free
	c.ListenPeerUrls, c.AdvertisePeerUrls = free, free
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	etcd, err := embed.StartEtcd(c)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err := <-etcd.Err():
		etcd.Close()
		return nil, err
	}
}

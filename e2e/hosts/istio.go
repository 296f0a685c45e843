package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/envoy/mesh/istio"
)

// Istio is how a gateway is served by Istio's own control plane, $HARMONY_ISTIO, without a cluster.
type Istio struct {
	// Variables are added to the control plane's environment.
	Variables []string
	// Edit changes the options of the objects. It may be nil.
	Edit func(*istio.Options)
	// Objects are applied instead of the configuration's, if there are any. %d in them is the gateway's port.
	Objects string
}

// istioNamespace is where a gateway of these tests is. istioLabel is its pods' label.
const (
	istioNamespace = "default"
	istioLabel     = "harmony-gateway"
)

// The listeners of the gateway and of Istio are on these addresses. A gateway that is at the address of a server would
// be taken for that server, so its node has one of its own.
const (
	loopbackIP = "127.0.0.1"
	nodeIP     = "10.0.0.1"
)

// IstioPod is a pod of a gateway. Its Envoy has no agent, and listens on all addresses of this machine.
type IstioPod struct {
	Name, Namespace, Address string
	Labels                   map[string]string
}

// Run runs a plain Envoy in the place of the pod's, with what a running Istio has for it. xds is Istio's address for
// Envoys, and port the gateway's.
func (p *IstioPod) Run(s Setup, xds string, port int) (*Host, error) {
	bootstrap, err := p.bootstrap(xds)
	if err != nil {
		return nil, err
	}
	return startEnvoyAt(s, bootstrap, "0.0.0.0_"+strconv.Itoa(port))
}

// Run runs a plain Envoy with what Istio makes of a configuration's objects.
func (i *Istio) Run(s Setup) (*Host, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	objects, err := i.objects(s, port)
	if err != nil {
		return nil, err
	}
	server, err := i.start(objects)
	if err != nil {
		return nil, err
	}
	pod := IstioPod{Name: istioLabel, Namespace: istioNamespace, Address: nodeIP, Labels: map[string]string{"app": istioLabel}}
	bootstrap, err := pod.bootstrap(server.xds)
	if err != nil {
		server.stop()
		return nil, err
	}
	h, err := startEnvoyAt(s, bootstrap, loopbackIP+"_"+strconv.Itoa(port))
	if err != nil {
		err = fmt.Errorf("%w; Istio's log:\n%s", err, &server.log)
		server.stop()
		return nil, err
	}
	stopEnvoy := h.stop
	h.stop = func() {
		stopEnvoy()
		server.stop()
	}
	return h, nil
}

// objects returns the YAML that is applied.
func (i *Istio) objects(s Setup, port int) ([]byte, error) {
	if i.Objects != "" {
		return fmt.Appendf(nil, i.Objects, port), nil
	}
	module := os.Getenv("HARMONY_WASM")
	if module == "" {
		return nil, errors.New("HARMONY_WASM is not set: run the tests by `make mesh`")
	}
	c, err := s.Config.Resolve()
	if err != nil {
		return nil, err
	}
	o := istio.Options{
		Name: "harmony", Namespace: istioNamespace, Selector: map[string]string{"app": istioLabel}, Hosts: []string{"*"},
		Port: uint32(port), Bind: loopbackIP, Module: mesh.Module{URL: "file://" + module}, API: istio.WasmPlugin,
	}
	if i.Edit != nil {
		i.Edit(&o)
	}
	objects, err := istio.Objects(c, o)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = mesh.Write(&out, istio.Comment(c.Config, o), objects)
	return out.Bytes(), err
}

// istioServer is a running control plane of Istio's.
type istioServer struct {
	xds  string
	log  syncBuffer
	stop func()
}

// meshConfig turns off what a plain Envoy does not have.
const meshConfig = `{enableAutoMtls: false, enablePrometheusMerge: false, enableTracing: false, ingressControllerMode: "OFF",
  defaultProviders: {}}`

func (i *Istio) start(objects []byte) (*istioServer, error) {
	program := os.Getenv("HARMONY_ISTIO")
	if program == "" {
		return nil, errors.New("HARMONY_ISTIO is not set: run the tests by `make mesh`")
	}
	folder, err := os.MkdirTemp("", "harmony-istio-")
	if err != nil {
		return nil, err
	}
	s := &istioServer{stop: func() { _ = os.RemoveAll(folder) }}
	all, config := filepath.Join(folder, "objects"), filepath.Join(folder, "mesh.yaml")
	xdsPort, err1 := freePort()
	httpPort, err2 := freePort()
	if err := errors.Join(err1, err2, os.Mkdir(all, 0o700), os.WriteFile(config, []byte(meshConfig), 0o600),
		os.WriteFile(filepath.Join(all, "harmony.yaml"), objects, 0o600)); err != nil {
		s.stop()
		return nil, err
	}
	s.xds = net.JoinHostPort(loopbackIP, strconv.Itoa(xdsPort))
	ready := net.JoinHostPort(loopbackIP, strconv.Itoa(httpPort))
	cmd := exec.Command(program, "-objects", all, "-mesh-config", config, "-xds", s.xds, "-http", ready)
	// Without these, gateways have filters of Istio's own Envoy.
	cmd.Env = append(os.Environ(), "PILOT_ENABLE_METADATA_EXCHANGE=false", "PILOT_ENABLE_ALPN_FILTER=false")
	cmd.Env = append(cmd.Env, i.Variables...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = folder, &s.log, &s.log, time.Second
	ended, err := startProcess(cmd)
	if err != nil {
		s.stop()
		return nil, err
	}
	s.stop = func() {
		endProcess(cmd, ended)
		_ = os.RemoveAll(folder)
	}
	if err := awaitOK("http://"+ready+"/ready", ended); err != nil {
		s.stop()
		return nil, fmt.Errorf("Istio does not start: %w; its log:\n%s", err, &s.log)
	}
	return s, nil
}

// bootstrap returns the bootstrap of a plain Envoy that Istio takes for a gateway. An agent of Istio's would add the
// statistics by the EnvoyFilter for the bootstrap.
func (p *IstioPod) bootstrap(xdsAddress string) ([]byte, error) {
	nodeID := "router~" + p.Address + "~" + p.Name + "." + p.Namespace + "~" + p.Namespace + ".svc.cluster.local"
	plain, err := envoy.DiscoveryBootstrap(envoy.Discovery{ControlPlane: xdsAddress, Node: nodeID, Admin: anyPort})
	if err != nil {
		return nil, err
	}
	var b map[string]any
	if err := json.Unmarshal(plain, &b); err != nil {
		return nil, err
	}
	b["node"] = map[string]any{"id": nodeID, "cluster": p.Name + "." + p.Namespace, "metadata": map[string]any{
		"NAMESPACE": p.Namespace, "ISTIO_VERSION": "1.31.0", "CLUSTER_ID": "Kubernetes", "LABELS": p.Labels,
	}}
	// Istio has no health discovery and no runtime.
	delete(b, "hds_config")
	delete(b, "layered_runtime")
	return json.Marshal(b)
}

// freePort returns a port that nothing listens on. Istio can listen only on a port that is known.
func freePort() (int, error) {
	l, err := net.Listen("tcp", loopbackIP+":0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// startProcess starts a program in a process group of its own. ended is closed when it has ended.
func startProcess(cmd *exec.Cmd) (ended chan struct{}, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended = make(chan struct{})
	go func() {
		_ = cmd.Wait() // its log says why it has ended
		close(ended)
	}()
	return ended, nil
}

// endProcess ends a program, and kills it if it does not end by itself.
func endProcess(cmd *exec.Cmd, ended chan struct{}) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(startLimit):
		_ = cmd.Process.Kill()
		<-ended
	}
}

// awaitOK waits until a URL answers 200.
func awaitOK(url string, ended chan struct{}) error {
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	tooLate := time.After(startLimit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if response, err := client.Get(url); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ended:
			return errors.New("it has ended")
		case <-tooLate:
			return fmt.Errorf("%s does not answer 200 after %s", url, startLimit)
		case <-tick.C:
		}
	}
}

// syncBuffer is a buffer that a program writes to while a test reads it.
type syncBuffer struct {
	mutex sync.Mutex
	text  strings.Builder
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(p)
}

// String returns what has been written so far.
func (b *syncBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

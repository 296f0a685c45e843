package hosts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/envoy/mesh/envoygateway"
)

// EnvoyGateway is how a gateway is served by Envoy Gateway, $HARMONY_ENVOY_GATEWAY, without a cluster. It listens on
// fixed ports of all addresses, so one of them at a time can run, in a network namespace of the test's own.
type EnvoyGateway struct {
	// Fetched reports whether an EnvoyExtensionPolicy fetches the module. Otherwise a patch names its file.
	Fetched bool
	// Module is where it is fetched. The zero value is a server of the host's own, over HTTP.
	Module mesh.Module
	// Edit changes the YAML of the objects. It may be nil.
	Edit func(string) string
}

// gatewaySettings are of the program itself, with its folder.
const gatewaySettings = `apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyGateway
gateway: { controllerName: gateway.envoyproxy.io/gatewayclass-controller }
provider:
  type: Custom
  custom:
    resource: { type: File, file: { paths: [%[1]s/objects] } }
    infrastructure:
      type: Host
      host: { configHome: %[1]s/config, dataHome: %[1]s/data, stateHome: %[1]s/state, runtimeDir: %[1]s/run }
extensionApis: { enableBackend: true, enableEnvoyPatchPolicy: true }
`

// GatewayClass is the class of the gateway, with the version of Envoy in place of %s. Without a version the program would
// ask the internet for one.
const GatewayClass = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: eg }
spec:
  controllerName: gateway.envoyproxy.io/gatewayclass-controller
  parametersRef: { group: gateway.envoyproxy.io, kind: EnvoyProxy, name: proxy, namespace: envoy-gateway-system }
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyProxy
metadata: { name: proxy, namespace: envoy-gateway-system }
spec:
  provider: { type: Host, host: { envoyVersion: %s } }
`

// wasmCluster mends, for a gateway without a cluster, how Envoy reaches the modules that the program has fetched.
const wasmCluster = `---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyPatchPolicy
metadata: { name: without-a-cluster, namespace: default }
spec:
  targetRef: { group: gateway.networking.k8s.io, kind: Gateway, name: harmony }
  type: JSONPatch
  jsonPatches:
    - type: type.googleapis.com/envoy.config.cluster.v3.Cluster
      name: wasm_cluster
      operation:
        op: replace
        path: /load_assignment/endpoints/0/lb_endpoints/0/endpoint/address/socket_address/address
        value: 127.0.0.1
    - type: type.googleapis.com/envoy.config.cluster.v3.Cluster
      name: wasm_cluster
      operation:
        op: replace
        path: /transport_socket/typed_config/common_tls_context
        value:
          alpn_protocols: [h2]
          tls_params: { tls_minimum_protocol_version: TLSv1_3, tls_maximum_protocol_version: TLSv1_3 }
          tls_certificates:
            - certificate_chain: { filename: %[1]s/config/certs/envoy/tls.crt }
              private_key: { filename: %[1]s/config/certs/envoy/tls.key }
          validation_context: { trusted_ca: { filename: %[1]s/config/certs/envoy/ca.crt } }
`

// Run runs the Envoy that Envoy Gateway starts for a configuration's objects.
func (g *EnvoyGateway) Run(s Setup) (*Host, error) {
	program, module := os.Getenv("HARMONY_ENVOY_GATEWAY"), os.Getenv("HARMONY_WASM")
	if program == "" || module == "" {
		return nil, errors.New("HARMONY_ENVOY_GATEWAY or HARMONY_WASM is not set: run the tests by `make mesh`")
	}
	if err := onlyLoopback(); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "harmony-gateway-")
	if err != nil {
		return nil, err
	}
	stop := func() { _ = os.RemoveAll(folder) }
	from := g.Module
	switch {
	case !g.Fetched:
		from.URL = "file://" + module
	case from.URL == "":
		server, address, sum, err := serveModule(module)
		if err != nil {
			stop()
			return nil, err
		}
		from = mesh.Module{URL: "http://" + address + "/filter.wasm", SHA256: sum}
		stop = func() {
			_ = server.Close()
			_ = os.RemoveAll(folder)
		}
	}
	h, err := g.start(s, program, folder, from)
	if err != nil {
		stop()
		return nil, err
	}
	stopGateway := h.stop
	h.stop = func() {
		stopGateway()
		stop()
	}
	return h, nil
}

// onlyLoopback returns an error outside a network namespace of the test's own.
func onlyLoopback() error {
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return errors.New("Envoy Gateway listens on fixed ports of all addresses: run the tests by `make mesh`, which " +
				"gives them a network namespace of their own")
		}
	}
	return nil
}

// serveModule serves the filter's module over HTTP.
func serveModule(file string) (server *http.Server, address, sum string, err error) {
	module, err := os.ReadFile(file)
	if err != nil {
		return nil, "", "", err
	}
	hash := sha256.Sum256(module)
	l, err := net.Listen("tcp", loopbackIP+":0")
	if err != nil {
		return nil, "", "", err
	}
	server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(module) })}
	go func() { _ = server.Serve(l) }() // ends with Close
	return server, l.Addr().String(), hex.EncodeToString(hash[:]), nil
}

func (g *EnvoyGateway) start(s Setup, program, folder string, module mesh.Module) (*Host, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s.Config.Listen = net.JoinHostPort(loopbackIP, strconv.Itoa(port))
	objects, err := gatewayObjects(s, module)
	if err != nil {
		return nil, err
	}
	if g.Edit != nil {
		objects = g.Edit(objects)
	}
	if g.Fetched {
		objects += fmt.Sprintf(wasmCluster, folder)
	}
	version, err := linkEnvoy(folder)
	if err != nil {
		return nil, err
	}
	settings := filepath.Join(folder, "gateway.yaml")
	all := filepath.Join(folder, "objects")
	if err := errors.Join(os.Mkdir(all, 0o700),
		os.WriteFile(settings, fmt.Appendf(nil, gatewaySettings, folder), 0o600),
		os.WriteFile(filepath.Join(all, "class.yaml"), fmt.Appendf(nil, GatewayClass, version), 0o600),
		os.WriteFile(filepath.Join(all, "harmony.yaml"), []byte(objects), 0o600)); err != nil {
		return nil, err
	}
	var log syncBuffer
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "HOME="+folder)
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = folder, &log, &log, time.Second
		return cmd
	}
	if err := run("certgen", "--local", "--config-home", filepath.Join(folder, "config")).Run(); err != nil {
		return nil, fmt.Errorf("Envoy Gateway makes no certificates: %w\n%s", err, &log)
	}
	cmd := run("server", "-c", settings)
	ended, err := startProcess(cmd)
	if err != nil {
		return nil, err
	}
	h := &Host{Name: "envoy-gateway", URL: "http://" + s.Config.Listen, stop: func() { endProcess(cmd, ended) }}
	// The route for this path is there when the listener is, and the listener when the filter's module is.
	if err := awaitOK(h.URL+"/health", ended); err != nil {
		h.stop()
		return nil, fmt.Errorf("Envoy Gateway does not serve: %w; its log:\n%s", err, &log)
	}
	return h, nil
}

func gatewayObjects(s Setup, module mesh.Module) (string, error) {
	c, err := s.Config.Resolve()
	if err != nil {
		return "", err
	}
	o := envoygateway.Options{Name: "harmony", Namespace: "default", Class: "eg", Module: module}
	objects, err := envoygateway.Objects(c, o)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = mesh.Write(&out, envoygateway.Comment(c.Config, o), objects)
	return out.String(), err
}

// linkEnvoy puts $ENVOY where Envoy Gateway looks for the version that it is told, and returns that version.
func linkEnvoy(folder string) (version string, err error) {
	program := os.Getenv("ENVOY")
	if program == "" {
		return "", errors.New("ENVOY is not set: run the tests by `make mesh`")
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	v, err := envoy.CheckVersion(ctx, program)
	if err != nil {
		return "", err
	}
	at := filepath.Join(folder, "data", "envoy-versions", v.String(), "bin")
	return v.String(), errors.Join(os.MkdirAll(at, 0o700), os.Symlink(program, filepath.Join(at, "envoy")))
}

package istio

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// The kinds of object that bring the filter in reduced mode.
const (
	WasmPlugin       = "WasmPlugin"
	TrafficExtension = "TrafficExtension"
)

// Options are the inputs of [Objects] besides the configuration.
type Options struct {
	// Name is the name of most objects, and begins the others' names.
	Name string
	// Namespace is the namespace of the gateway's pods: an EnvoyFilter of another one would not reach them.
	Namespace string
	// Selector has labels of the gateway's pods.
	Selector map[string]string
	// Port is the gateway's port, as its Service has it. TargetPort is the same port in the pods; 0 is Port. Both are 0
	// for the ports of the configuration's listeners.
	Port, TargetPort uint32
	// Bind is the address on which the pods listen. Empty: all.
	Bind string
	// Hosts are the host names that are served.
	Hosts []string
	// Module is where the filter is. In full mode with Inline it must be a file, and no extension configuration is used.
	Module mesh.Module
	Inline bool
	// PullSecret is the name of the Secret with which Istio's agent pulls an image, in reduced mode.
	PullSecret string
	// API is [WasmPlugin] or [TrafficExtension], in reduced mode.
	API string
	// Servers are the servers of each pool, also from servers files.
	Servers map[string][]xds.Server
}

// builder builds objects. It keeps the first error.
type builder struct {
	config  *config.Resolved
	options *Options
	parts   *mesh.Parts
	objects []mesh.Object
	err     error
}

// Objects returns what Istio needs to serve a configuration on a gateway, in the order in which it is applied.
func Objects(c *config.Resolved, o Options) ([]mesh.Object, error) {
	if err := o.check(c.Config); err != nil {
		return nil, err
	}
	if err := o.checkInference(c.Config); err != nil {
		return nil, err
	}
	c, err := mesh.Plain(c)
	if err != nil {
		return nil, err
	}
	parts, err := mesh.Split(c, o.Servers)
	if err != nil {
		return nil, err
	}
	b := &builder{config: c, options: &o, parts: parts}
	b.servers()
	if c.Config.Mode == contract.ModeReduced {
		b.plugin()
	}
	b.envoyFilters()
	if b.inference() {
		b.apiGateway()
		b.apiRoutes()
		return b.objects, b.err
	}
	b.gateway()
	b.routes()
	return b.objects, b.err
}

func (o *Options) check(c *config.Config) error {
	if err := o.Module.Check(); err != nil {
		return err
	}
	_, local := o.Module.File()
	switch reduced := c.Mode == contract.ModeReduced; {
	case o.Inline && reduced:
		return errors.New("only full mode has a filter inline; leave that out, or write mode: full")
	case o.Inline && !local:
		return fmt.Errorf("Istio's agent fetches no module for a filter inline; leave that out, or write the path of "+
			"the file in the pods, file:///…, in place of %s", o.Module.URL)
	case o.PullSecret != "" && !reduced:
		return errors.New("in full mode Istio's agent pulls the image with the credentials of the gateway's pods; put " +
			"them into the pods' service account, or write mode: reduced")
	case reduced && o.API != WasmPlugin && o.API != TrafficExtension:
		return fmt.Errorf("%q is not an API for filters; write %s or %s", o.API, WasmPlugin, TrafficExtension)
	case len(o.Selector) == 0:
		return errors.New("the objects need the labels of the gateway's pods, such as istio=ingressgateway")
	case len(c.AllListeners()) > 1 && o.Port != 0:
		return errors.New("the configuration has several listeners, so their ports are used; leave the port out")
	case o.Port == 0 && o.TargetPort != 0:
		return errors.New("the port in the pods is known, and the port of their Service is not; write both")
	}
	return nil
}

func (b *builder) fail(err error) {
	if b.err == nil && err != nil {
		b.err = err
	}
}

func (b *builder) add(apiVersion, kind, name string, spec any) {
	b.objects = append(b.objects, mesh.NewObject(apiVersion, kind, b.options.Namespace, b.options.Name, name, spec))
}

const (
	networking = "networking.istio.io/v1"
	filters    = "networking.istio.io/v1alpha3"
	extensions = "extensions.istio.io/v1alpha1"
)

// listener is a port of the gateway.
type listener struct {
	name, secret string
	// service is the port as the gateway's Service has it, and pod as the pods have it.
	service, pod uint32
}

func (b *builder) listeners() []listener {
	var all []listener
	for _, l := range b.config.Config.AllListeners() {
		address, err := config.ParseListen(l.Address)
		b.fail(err)
		one := listener{name: l.Name, secret: l.TLS, service: uint32(address.Port()), pod: uint32(address.Port())}
		if b.options.Port != 0 {
			one.service, one.pod = b.options.Port, b.options.Port
		}
		if b.options.TargetPort != 0 {
			one.pod = b.options.TargetPort
		}
		if one.service == 0 {
			b.fail(errors.New("port 0 takes a free port, and a gateway needs one that is known; write its number"))
		}
		all = append(all, one)
	}
	return all
}

// gateway adds the gateway with its ports.
func (b *builder) gateway() {
	spec := gatewaySpec{Selector: b.options.Selector}
	for _, l := range b.listeners() {
		server := gatewayServer{
			Port: port{Number: l.service, Name: mesh.Name("http", l.name), Protocol: "HTTP"},
			Bind: b.options.Bind, Hosts: b.options.Hosts,
		}
		if l.secret != "" {
			server.Port.Name, server.Port.Protocol = mesh.Name("https", l.name), "HTTPS"
			server.TLS = &gatewayTLS{Mode: "SIMPLE", CredentialName: mesh.Name(b.options.Name, l.secret),
				MinProtocol: "TLSV1_2"}
		}
		spec.Servers = append(spec.Servers, server)
	}
	b.add(networking, "Gateway", b.options.Name, spec)
}

// plugin adds the filter in reduced mode. It says what the control plane's own resources say.
func (b *builder) plugin() {
	p := b.parts.Plugin
	settings, err := b.filterSettings()
	b.fail(err)
	w := wasmConfig{
		URL: b.options.Module.URL, SHA256: b.options.Module.SHA256, ImagePullSecret: b.options.PullSecret,
		PluginName: p.GetName(), FailStrategy: p.GetFailurePolicy().String(), PluginConfig: settings,
	}
	env := p.GetVmConfig().GetEnvironmentVariables()
	for _, name := range env.GetHostEnvKeys() {
		w.VMConfig.Env = append(w.VMConfig.Env, envVar{Name: name, ValueFrom: "HOST"})
	}
	for _, name := range slices.Sorted(maps.Keys(env.GetKeyValues())) {
		w.VMConfig.Env = append(w.VMConfig.Env, envVar{Name: name, Value: env.GetKeyValues()[name]})
	}
	selector := &podSelector{MatchLabels: b.options.Selector}
	// After Istio's authorization: policies match paths, and the filter changes them.
	const phase = "STATS"
	if b.options.API == TrafficExtension {
		b.add(extensions, TrafficExtension, b.options.Name, trafficExtensionSpec{selector, phase, w})
		return
	}
	b.add(extensions, WasmPlugin, b.options.Name, wasmPluginSpec{selector, phase, w})
}

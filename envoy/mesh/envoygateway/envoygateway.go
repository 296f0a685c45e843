package envoygateway

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Options are the inputs of [Objects] besides the configuration.
type Options struct {
	// Name is the name of the Gateway and begins the others' names. Namespace is the namespace of all objects.
	Name, Namespace string
	// Class is the GatewayClass.
	Class string
	// Module is where the filter is. A file can only be used in full mode.
	Module mesh.Module
	// Servers are the servers of each pool, also from servers files.
	Servers map[string][]xds.Server
}

const (
	gatewayGroup = "gateway.networking.k8s.io"
	envoyGroup   = "gateway.envoyproxy.io"
	gatewayAPI   = gatewayGroup + "/v1"
	envoyAPI     = envoyGroup + "/v1alpha1"
)

// object is a part of a spec, with its members in order.
type object = yaml.MapSlice

// list is a list in a spec.
type list = []any

// builder builds objects. It keeps the first error.
type builder struct {
	config  *config.Resolved
	options *Options
	parts   *mesh.Parts
	objects []mesh.Object
	err     error
}

// Objects returns what Envoy Gateway needs to serve a configuration, in the order in which it is applied.
func Objects(c *config.Resolved, o Options) ([]mesh.Object, error) {
	if err := o.check(c.Config); err != nil {
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
	b.backends()
	b.gateway()
	b.clientPolicy()
	if _, file := o.Module.File(); !file {
		b.extensionPolicy()
	}
	b.patchPolicy()
	b.corsPolicy()
	b.routes()
	return b.objects, b.err
}

func (o *Options) check(c *config.Config) error {
	if err := o.Module.Check(); err != nil {
		return err
	}
	if _, file := o.Module.File(); file && c.Mode == contract.ModeReduced {
		return errors.New("an EnvoyExtensionPolicy fetches its module; write an oci or https URL, or mode: full")
	}
	if o.Class == "" {
		return errors.New("a Gateway needs a GatewayClass; write its name")
	}
	if err := mesh.CheckNamespace(c, o.Namespace); err != nil {
		return err
	}
	for i := range c.Pools {
		p := &c.Pools[i]
		at := fmt.Sprintf("pools[%d] (%s)", i, p.Name)
		switch {
		case p.Authorization != "":
			return errors.New(at + ": authorization has no form here that reaches only the pool's own servers; leave it out")
		case p.Session.Cookie != "":
			return errors.New(at + ": sessions by cookie have no form here; write session: { header: NAME }")
		}
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

// gatewayRef is the target of policies for the whole gateway.
func (b *builder) gatewayRef() object {
	return reference(gatewayGroup, "Gateway", b.options.Name)
}

// reference returns a reference to an object of the same namespace.
func reference(group, kind, name string) object {
	return object{{Key: "group", Value: group}, {Key: "kind", Value: kind}, {Key: "name", Value: name}}
}

// listenerName returns the name of a listener, which is part of the names of Envoy's resources.
func listenerName(l *config.Listener) string {
	return strings.ToLower(strings.ReplaceAll(l.Name, "_", "-"))
}

// gateway adds the gateway with its listeners.
func (b *builder) gateway() {
	var listeners list
	for _, l := range b.config.Config.AllListeners() {
		address, err := config.ParseListen(l.Address)
		b.fail(err)
		if address.Port() == 0 {
			b.fail(errors.New("port 0 takes a free port, and a gateway needs one that is known; write its number"))
		}
		one := object{{Key: "name", Value: listenerName(&l)}, {Key: "protocol", Value: "HTTP"},
			{Key: "port", Value: address.Port()}}
		if l.TLS != "" {
			one[1].Value = "HTTPS"
			one = append(one, yaml.MapItem{Key: "tls", Value: object{{Key: "mode", Value: "Terminate"},
				{Key: "certificateRefs", Value: list{object{{Key: "name", Value: mesh.Name(b.options.Name, l.TLS)}}}}}})
		}
		listeners = append(listeners, one)
	}
	b.add(gatewayAPI, "Gateway", b.options.Name, object{
		{Key: "gatewayClassName", Value: b.options.Class}, {Key: "listeners", Value: listeners}})
}

// clientPolicy adds what a client may do. All of it would be missing if a patch did not fit, so it is no patch.
func (b *builder) clientPolicy() {
	manager := b.parts.Manager
	h2 := manager.GetHttp2ProtocolOptions()
	b.add(envoyAPI, "ClientTrafficPolicy", b.options.Name, object{
		{Key: "targetRefs", Value: list{b.gatewayRef()}},
		{Key: "headers", Value: object{
			{Key: "requestID", Value: "PreserveOrGenerate"},
			{Key: "earlyRequestHeaders", Value: object{{Key: "removeOnMatch", Value: list{
				object{{Key: "type", Value: "Prefix"}, {Key: "value", Value: contract.InternalHeaderPrefix}}}}}},
		}},
		{Key: "connection", Value: object{{Key: "bufferLimit",
			Value: fmt.Sprint(b.parts.Listener.GetPerConnectionBufferLimitBytes().GetValue())}}},
		{Key: "http2", Value: object{
			{Key: "initialStreamWindowSize", Value: fmt.Sprint(h2.GetInitialStreamWindowSize().GetValue())},
			{Key: "initialConnectionWindowSize", Value: fmt.Sprint(h2.GetInitialConnectionWindowSize().GetValue())},
			{Key: "maxConcurrentStreams", Value: h2.GetMaxConcurrentStreams().GetValue()},
		}},
		{Key: "timeout", Value: object{{Key: "http", Value: object{
			{Key: "requestReceivedTimeout", Value: duration(manager.GetRequestTimeout())},
			{Key: "idleTimeout", Value: duration(manager.GetCommonHttpProtocolOptions().GetIdleTimeout())},
			{Key: "streamIdleTimeout", Value: duration(manager.GetStreamIdleTimeout())},
		}}}},
	})
}

// extensionPolicy adds the policy that fetches the module and puts the filter before all routes.
func (b *builder) extensionPolicy() {
	settings, err := mesh.JSONValue(b.config.FilterJSON)
	b.fail(err)
	module, p := &b.options.Module, b.parts.Plugin
	source := object{}
	code := object{{Key: "type", Value: "HTTP"}}
	if image, ok := strings.CutPrefix(module.URL, "oci://"); ok {
		code[0].Value = "Image"
		source = append(source, yaml.MapItem{Key: "url", Value: image})
	} else {
		source = append(source, yaml.MapItem{Key: "url", Value: module.URL})
	}
	if module.SHA256 != "" {
		source = append(source, yaml.MapItem{Key: "sha256", Value: module.SHA256})
	}
	code = append(code, yaml.MapItem{Key: strings.ToLower(code[0].Value.(string)), Value: source})
	// The variable's value is not among what can be set here, so it comes from the pods' environment.
	keys := append([]string{}, p.GetVmConfig().GetEnvironmentVariables().GetHostEnvKeys()...)
	b.add(envoyAPI, "EnvoyExtensionPolicy", b.options.Name, object{
		{Key: "targetRefs", Value: list{b.gatewayRef()}},
		{Key: "wasm", Value: list{object{
			{Key: "name", Value: p.GetName()}, {Key: "rootID", Value: p.GetRootId()}, {Key: "code", Value: code},
			{Key: "config", Value: settings},
			{Key: "env", Value: object{{Key: "hostKeys", Value: append(keys, contract.ErrorVariable)}}},
		}}},
	})
}

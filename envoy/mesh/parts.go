package mesh

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	healthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/health_check/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Module is the filter's module, as the gateways' machines or their mesh get it.
type Module struct {
	// URL is file:///PATH on the gateways' machines, or http, https or oci.
	URL string
	// SHA256 is the hash of a module that is fetched, in hexadecimal digits, or empty.
	SHA256 string
}

// Check returns an error if the module cannot be found by its URL, or may be a wrong one.
func (m *Module) Check() error {
	scheme, rest, ok := strings.Cut(m.URL, "://")
	switch {
	case !ok || rest == "":
		return fmt.Errorf("%q is not the URL of a module; write file:///PATH, https://HOST/PATH or "+
			"oci://REGISTRY/IMAGE:TAG", m.URL)
	case scheme == "file" && !strings.HasPrefix(rest, "/"):
		return fmt.Errorf("%s has a relative path; write file:// and the whole path on the gateways' machines", m.URL)
	case scheme == "file" && m.SHA256 != "":
		return errors.New("a file on the gateways' machines is not fetched, so its hash is not checked; leave the hash out")
	case scheme != "file" && scheme != "http" && scheme != "https" && scheme != "oci":
		return fmt.Errorf("%s has the scheme %s; write file, http, https or oci", m.URL, scheme)
	case scheme == "http" && m.SHA256 == "":
		return errors.New("a module that comes over http can be replaced on its way; write its SHA-256 too")
	}
	if m.SHA256 != "" && (len(m.SHA256) != 64 || strings.Trim(m.SHA256, "0123456789abcdef") != "") {
		return fmt.Errorf("%q is not a SHA-256; write its 64 lower-case digits, as sha256sum prints them", m.SHA256)
	}
	return nil
}

// File returns the module's path on the gateways' machines, and whether it has one.
func (m *Module) File() (path string, ok bool) { return strings.CutPrefix(m.URL, "file://") }

// Parts are the parts of the resources that the control plane itself would give an Envoy.
type Parts struct {
	Listener *listenerv3.Listener
	// Manager has no routes and no filters.
	Manager *hcmv3.HttpConnectionManager
	// Before and After are the filters around the one of this project, without CORS, which every mesh has. Router is the
	// last filter.
	Before, After []*hcmv3.HttpFilter
	Router        *routerv3.Router
	// Plugin is this project's filter. Its module is not set: see [Module].
	Plugin *wasmv3.PluginConfig
	// Host is the virtual host with all routes.
	Host     *routev3.VirtualHost
	Clusters []*clusterv3.Cluster
	// MaxRequests are the limits of clusters whose servers have a capacity, by the cluster's name.
	MaxRequests map[string]uint32
}

// corsFilter is the filter that every gateway of a mesh has already.
const corsFilter = "envoy.filters.http.cors"

// Plain returns a configuration without what the router's own filters do. A mesh, like every foreign Envoy, has a
// router of its own.
func Plain(c *config.Resolved) (*config.Resolved, error) {
	plain := *c.Config
	plain.HeadersOnly = true
	return plain.Resolve()
}

// Split builds the resources of a configuration, and divides them. servers has the servers of each pool, also from
// its servers file, but not from its Service. nil means that no pool has a servers file.
func Split(c *config.Resolved, servers map[string][]xds.Server) (*Parts, error) {
	if c.Config.Tap.URL != "" {
		return nil, errors.New("tap: a mesh names clusters itself, and the filter would not find the recorder; leave tap out")
	}
	if c.Config.Clients.KeysFile != "" {
		return nil, errors.New("clients.keys_file: a mesh's objects would have the clients' keys, and nobody would read the file " +
			"again when it changes; let the mesh check who the client is (JWT), and write clients.header")
	}
	for i := range c.Pools {
		if p := &c.Pools[i]; p.Policy == config.PolicyPrefix || p.Policy == config.PolicyPicker {
			return nil, errors.New("the policy " + p.Policy + " of the pool " + p.Name + ": a mesh chooses servers itself; " +
				"write another policy, such as session")
		} else if p.ServerKind().Renders {
			return nil, errors.New("the kind " + p.Kind + " of the pool " + p.Name + ": a mesh names clusters itself, and the " +
				"filter would not find the one that renders; use another kind")
		} else if p.Prefill.Pool != "" {
			return nil, errors.New("the prefill of the pool " + p.Name + ": a mesh names clusters itself, and the filter would " +
				"not find that of " + p.Prefill.Pool + "; leave prefill out")
		}
	}
	servers, err := withServices(c, servers)
	if err != nil {
		return nil, err
	}
	// The module's place is the mesh's own. Pools' certificates are named in the mesh's objects.
	const unused = "unused"
	r, err := xds.Build(c, xds.Options{ModulePath: unused, CAFile: unused, Servers: servers})
	if err != nil {
		return nil, err
	}
	manager, err := r.ConnectionManager()
	if err != nil {
		return nil, err
	}
	p := &Parts{Listener: r.Listeners[0], Clusters: r.Clusters, MaxRequests: map[string]uint32{}}
	for _, f := range manager.GetHttpFilters() {
		if err := p.addFilter(f); err != nil {
			return nil, err
		}
	}
	p.Host = proto.CloneOf(manager.GetRouteConfig().GetVirtualHosts()[0])
	if err := p.enableHealth(); err != nil {
		return nil, err
	}
	p.Manager = proto.CloneOf(manager)
	p.Manager.RouteSpecifier, p.Manager.HttpFilters, p.Manager.StatPrefix = nil, nil, ""
	for key, limit := range r.Runtime.GetFields() {
		name, isLimit := strings.CutSuffix(strings.TrimPrefix(key, "circuit_breakers."), ".default.max_requests")
		if isLimit {
			p.MaxRequests[name] = uint32(limit.GetNumberValue())
		}
	}
	return p, nil
}

func (p *Parts) addFilter(f *hcmv3.HttpFilter) error {
	typed, wasm, router := f.GetTypedConfig(), &wasmfilterv3.Wasm{}, &routerv3.Router{}
	switch {
	case typed.MessageIs(wasm):
		if err := typed.UnmarshalTo(wasm); err != nil {
			return err
		}
		p.Plugin = wasm.GetConfig()
		p.Plugin.GetVmConfig().Code = nil
	case typed.MessageIs(router):
		p.Router = router
		err := typed.UnmarshalTo(router)
		router.UpstreamHttpFilters = nil
		return err
	case f.GetName() == corsFilter, f.GetName() == xds.LimitsFilterName:
	case f.GetName() == xds.AffinityFilter, f.GetName() == xds.PickerFilterName: // of policies that no mesh has
	case p.Plugin == nil:
		p.Before = append(p.Before, f)
	default:
		p.After = append(p.After, f)
	}
	return nil
}

// enableHealth makes the filter of the gateway's own health check choose its path by itself. In the control plane's
// resources the path's route turns it on, with an empty google.protobuf.Any, which Istio refuses to read.
func (p *Parts) enableHealth() error {
	path := ""
	for _, r := range p.Host.GetRoutes() {
		if _, ok := r.GetTypedPerFilterConfig()[xds.HealthFilter]; ok {
			path = r.GetMatch().GetPath()
			delete(r.TypedPerFilterConfig, xds.HealthFilter)
		}
	}
	i := slices.IndexFunc(p.Before, func(f *hcmv3.HttpFilter) bool { return f.GetName() == xds.HealthFilter })
	if i < 0 {
		return nil
	}
	if path == "" { // another server answers it
		p.Before = slices.Delete(p.Before, i, i+1)
		return nil
	}
	packed := &anypb.Any{}
	err := anypb.MarshalFrom(packed, &healthv3.HealthCheck{
		PassThroughMode: wrapperspb.Bool(true),
		Headers: []*routev3.HeaderMatcher{{Name: ":path", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
			StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: path}}}}},
	}, proto.MarshalOptions{Deterministic: true})
	p.Before[i] = &hcmv3.HttpFilter{
		Name: xds.HealthFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed}}
	return err
}

// Wasm returns the filter with its module. remote names the cluster by which Envoy itself would fetch it; a mesh's
// agent replaces it.
func (p *Parts) Wasm(m *Module, remote *corev3.RemoteDataSource) *wasmfilterv3.Wasm {
	plugin := proto.CloneOf(p.Plugin)
	if path, ok := m.File(); ok {
		plugin.GetVmConfig().Code = &corev3.AsyncDataSource{Specifier: &corev3.AsyncDataSource_Local{
			Local: &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: path}}}}
	} else {
		plugin.GetVmConfig().Code = &corev3.AsyncDataSource{Specifier: &corev3.AsyncDataSource_Remote{Remote: remote}}
	}
	return &wasmfilterv3.Wasm{Config: plugin}
}

// Endpoint is a server of a cluster.
type Endpoint struct {
	// Host is a name or an address. Authority is the name that the server knows itself by.
	Host      string
	Port      uint32
	Authority string
	// Priority is 0 for a pool's own servers. The servers of its first spare have 1.
	Priority uint32
}

// Endpoints returns a cluster's servers, without those that are drained: meshes have no word for them.
func Endpoints(c *clusterv3.Cluster) []Endpoint {
	var all []Endpoint
	for _, locality := range c.GetLoadAssignment().GetEndpoints() {
		for _, e := range locality.GetLbEndpoints() {
			if e.GetHealthStatus() == corev3.HealthStatus_DRAINING {
				continue
			}
			at := e.GetEndpoint().GetAddress().GetSocketAddress()
			all = append(all, Endpoint{Host: at.GetAddress(), Port: at.GetPortValue(),
				Authority: e.GetEndpoint().GetHostname(), Priority: locality.GetPriority()})
		}
	}
	return all
}

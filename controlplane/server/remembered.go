package server

import (
	"net"
	"net/netip"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/load"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// remembered is what the last snapshot of an earlier run shows of the servers. It is used for what this run does not
// know yet: a restart while the name server is away removes no servers, and a server that was not ready gets no
// requests before it has been asked.
type remembered struct {
	addresses map[string][]netip.AddrPort // by name
	notReady  map[netip.AddrPort]bool
}

func remember(r ads.Resources) remembered {
	m := remembered{addresses: map[string][]netip.AddrPort{}, notReady: map[netip.AddrPort]bool{}}
	for _, one := range r[resource.EndpointType] {
		assignment, ok := one.(*endpointv3.ClusterLoadAssignment)
		if !ok {
			continue
		}
		for _, locality := range assignment.GetEndpoints() {
			for _, e := range locality.GetLbEndpoints() {
				m.add(e)
			}
		}
	}
	return m
}

// rememberContexts returns the contexts of models that a snapshot has, as if their servers had just gone.
func rememberContexts(r ads.Resources) contexts {
	all := contexts{}
	for name, tokens := range config.ContextsIn(rememberFilter(r)) {
		all[name] = heldContext{tokens: tokens, seen: time.Now()}
	}
	return all
}

// rememberStructures returns structured_outputs of models that a snapshot has, as if their servers had just gone.
func rememberStructures(r ads.Resources) structures { return config.StructuresIn(rememberFilter(r)) }

// rememberFilter returns the filter's JSON that a snapshot has, or nil.
func rememberFilter(r ads.Resources) []byte {
	for _, one := range r[resource.ExtensionConfigType] {
		if typed, ok := one.(*corev3.TypedExtensionConfig); ok && typed.GetName() == xds.FilterName {
			return xds.FilterJSON(typed)
		}
	}
	return nil
}

func (m remembered) add(e *endpointv3.LbEndpoint) {
	socket := e.GetEndpoint().GetAddress().GetSocketAddress()
	ip, err := netip.ParseAddr(socket.GetAddress())
	if err != nil {
		return
	}
	name := e.GetEndpoint().GetHostname() // it has the port unless that is the default port
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	address := netip.AddrPortFrom(ip, uint16(socket.GetPortValue()))
	if !slices.Contains(m.addresses[name], address) {
		m.addresses[name] = append(m.addresses[name], address)
	}
	if e.GetHealthStatus() == corev3.HealthStatus_UNHEALTHY {
		m.notReady[address] = true
	}
}

// servers returns the servers of a pool as the watcher knows them, completed by what was known before the start. It
// changes the state's.
func (m remembered) servers(p *config.ResolvedPool, state pools.PoolState) []pools.Server {
	all := state.Servers
	for i := range all {
		if s := &all[i]; s.State == pools.Unknown && s.Reason == pools.NotAsked && m.notReady[s.Address] {
			s.State, s.Reason = pools.NotReady, "not ready before the restart; not asked yet"
		}
	}
	if more := slices.Concat(m.unresolved(p, state), m.unlisted(p, state)); len(more) > 0 {
		all = append(all, more...)
		slices.SortFunc(all, func(a, b pools.Server) int { return a.Address.Compare(b.Address) })
	}
	return all
}

// unresolved returns the servers that a pool had for names without an address so far.
func (m remembered) unresolved(p *config.ResolvedPool, state pools.PoolState) []pools.Server {
	var all []pools.Server
	for _, name := range state.Unresolved {
		for _, address := range m.addresses[name] {
			e := config.Endpoint{TLS: p.TLS, Host: name, Port: address.Port()}
			// The ports in a servers file are not known here.
			known := p.ServersFile != "" || slices.Contains(p.Endpoints, e)
			if known && !present(state, address) {
				all = append(all, earlier(p, e, address, "its name has no address yet; this address is from before the restart"))
			}
		}
	}
	return all
}

// unlisted returns the servers that a pool had for its Service or its InferencePool if that has not been listed so far.
func (m remembered) unlisted(p *config.ResolvedPool, state pools.PoolState) []pools.Server {
	var all []pools.Server
	for _, host := range state.Unlisted {
		for _, address := range m.addresses[host] {
			e := config.Endpoint{TLS: p.TLS, Host: host, Port: address.Port()}
			known := slices.ContainsFunc(all, func(s pools.Server) bool { return s.Address == address })
			if !known && !present(state, address) {
				all = append(all, earlier(p, e, address,
					host+" has not been listed yet; this address is from before the restart"))
			}
		}
	}
	return all
}

func present(state pools.PoolState, address netip.AddrPort) bool {
	return slices.ContainsFunc(state.Servers, func(s pools.Server) bool { return s.Address == address })
}

// earlier returns a server of an earlier run.
func earlier(p *config.ResolvedPool, e config.Endpoint, address netip.AddrPort, reason string) pools.Server {
	s := pools.Server{Endpoint: e, Address: address, State: pools.Unknown, Vocabulary: pools.VocabularyNotAsked,
		Reason: reason, Load: load.None()}
	if config.IsDrained(p.Drained, e, address) {
		s.Draining = time.Now()
	}
	return s
}

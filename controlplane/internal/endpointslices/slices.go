package endpointslices

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/harmonyedge/harmonyedge/controlplane/internal/apiserver"
)

// digest is what counts of an EndpointSlice.
type digest struct {
	ipv6      bool
	endpoints int // ready or not
	ready     []netip.AddrPort
	problem   string
}

// digestOf reads an EndpointSlice. port is a [Service]'s.
func digestOf(s *discoveryv1.EndpointSlice, port string) digest {
	d := digest{ipv6: s.AddressType == discoveryv1.AddressTypeIPv6, endpoints: len(s.Endpoints)}
	if !d.ipv6 && s.AddressType != discoveryv1.AddressTypeIPv4 {
		return digest{problem: fmt.Sprintf("the EndpointSlice %s is left out: its addresses are of the type %.16s", s.Name,
			s.AddressType)}
	}
	if d.endpoints == 0 {
		return d // it need not have ports
	}
	number, problem := portOf(s, port)
	if problem != "" {
		d.problem = fmt.Sprintf("the EndpointSlice %s is left out: %s", s.Name, problem)
		return d
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if !ready(&e.Conditions) || len(e.Addresses) == 0 {
			continue
		}
		// Further addresses have no meaning (EndpointSlice v1).
		ip, err := netip.ParseAddr(e.Addresses[0])
		if err != nil || ip.Is6() != d.ipv6 || ip.Zone() != "" {
			d.problem = fmt.Sprintf("the EndpointSlice %s has the address %.64q, which is left out", s.Name, e.Addresses[0])
			continue
		}
		d.ready = append(d.ready, netip.AddrPortFrom(ip, number))
	}
	return d
}

// ready reports whether an endpoint gets new requests. Without a value it is ready, and does not terminate.
func ready(c *discoveryv1.EndpointConditions) bool {
	return (c.Ready == nil || *c.Ready) && (c.Terminating == nil || !*c.Terminating)
}

// portOf returns the number of the wanted port in an EndpointSlice, or what is wrong.
func portOf(s *discoveryv1.EndpointSlice, wanted string) (number uint16, problem string) {
	var found []uint16
	var names []string
	fixed, err := strconv.ParseUint(wanted, 10, 16)
	isNumber := err == nil && fixed > 0
	open := true // no port has a number
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP || p.Port == nil || *p.Port < 1 || *p.Port > 65535 {
			continue
		}
		open = false
		name := ""
		if p.Name != nil {
			name = *p.Name
		}
		names = append(names, strings.TrimSpace(fmt.Sprintf("%d %s", *p.Port, name)))
		if wanted == "" || isNumber && uint64(*p.Port) == fixed || !isNumber && name == wanted {
			found = append(found, uint16(*p.Port))
		}
	}
	list := "none"
	if len(names) > 0 {
		list = strings.Join(names[:min(len(names), apiserver.MaxListed)], ", ")
	}
	switch {
	case len(found) == 1 || len(found) > 1 && isNumber:
		return found[0], ""
	case open && isNumber:
		return uint16(fixed), ""
	case wanted == "" && len(found) > 1:
		return 0, "it has several ports; write one of them as the service's port: " + list
	case wanted == "":
		return 0, "it has no TCP port; write the number of the servers' port as the service's port"
	}
	return 0, fmt.Sprintf("it has no TCP port %s; its ports: %s", wanted, list)
}

// merge puts the addresses of all EndpointSlices into a state, and what is wrong with them.
//
// A Service with two families has each endpoint in an EndpointSlice of each. The IPv4 address is the one that counts,
// as it is of a name.
func merge(all map[string]digest, state *apiserver.State) {
	if len(all) == 0 { // one with a selector has an EndpointSlice even without pods
		state.SetEndpoints(nil, 0, "there is no EndpointSlice of it; check its name and its namespace")
		return
	}
	endpoints := 0
	var v4, v6 []netip.AddrPort
	hasIPv4 := false
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		endpoints += d.endpoints
		if d.problem != "" {
			problems = append(problems, d.problem)
		}
		if d.ipv6 {
			v6 = append(v6, d.ready...)
		} else {
			v4, hasIPv4 = append(v4, d.ready...), hasIPv4 || d.endpoints > 0
		}
	}
	addresses := v4
	if !hasIPv4 {
		addresses = v6
	}
	state.SetEndpoints(addresses, endpoints, apiserver.Join(problems))
}

package config

import (
	"fmt"
	"net/netip"
	"slices"
)

// takeDrain reads the URLs in [Pool.Drain]. Where the configuration lists all of the pool's servers by their addresses,
// each must be one of them.
func (p *ResolvedPool) takeDrain(fail failure) {
	all := p.ServersFile == "" && p.Service == (PoolService{}) && p.InferencePool == (InferencePool{}) &&
		!slices.ContainsFunc(p.Endpoints, func(e Endpoint) bool { return !e.IsIP() })
	for i, text := range p.Drain {
		e, _, err := parseServerURL(p.ServerKind(), text)
		reason := ""
		switch {
		case err != nil:
			reason = err.Error()
		case slices.Contains(p.Drained, e):
			reason = text + " is listed twice"
		case all && !p.wrong && !slices.Contains(p.Endpoints, e):
			reason = text + " is no server of the pool; write it as servers has it"
		}
		if reason != "" {
			fail(fmt.Sprintf(".drain[%d]", i), "%s", reason)
			continue
		}
		p.Drained = append(p.Drained, e)
	}
}

// IsDrained reports whether one of the endpoints in drained is a server: by its name, or by its address.
func IsDrained(drained []Endpoint, e Endpoint, address netip.AddrPort) bool {
	return slices.ContainsFunc(drained, func(one Endpoint) bool {
		if one == e {
			return true
		}
		ip, err := netip.ParseAddr(one.Host)
		return err == nil && netip.AddrPortFrom(ip, one.Port) == address
	})
}

package egress

import "net/netip"

// unicast are the IPv6 addresses that are handed out for the public internet. All others are loopback,
// link-local, unique local, IPv4-mapped, NAT64, multicast or not handed out.
var unicast = netip.MustParsePrefix("2000::/3")

// special are the addresses that are not one host of the public internet, by IANA's registries of special-purpose
// addresses, and the one of Azure's metadata.
var special = prefixes(
	"0.0.0.0/8",         // this host
	"10.0.0.0/8",        // private
	"100.64.0.0/10",     // carriers' NAT; Alibaba's metadata
	"127.0.0.0/8",       // loopback
	"168.63.129.16/32",  // Azure's metadata
	"169.254.0.0/16",    // link-local; metadata of most clouds
	"172.16.0.0/12",     // private
	"192.0.0.0/24",      // protocols; Oracle's metadata
	"192.0.2.0/24",      // documentation
	"192.31.196.0/24",   // AS112
	"192.52.193.0/24",   // multicast tunnels
	"192.88.99.0/24",    // 6to4
	"192.168.0.0/16",    // private
	"192.175.48.0/24",   // AS112
	"198.18.0.0/15",     // benchmarks
	"198.51.100.0/24",   // documentation
	"203.0.113.0/24",    // documentation
	"224.0.0.0/4",       // multicast
	"240.0.0.0/4",       // reserved, broadcast
	"2001::/23",         // protocols: Teredo, benchmarks, ORCHID
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4, which has an IPv4 address inside
	"2620:4f:8000::/48", // AS112
	"3fff::/20",         // documentation
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		all[i] = netip.MustParsePrefix(t)
	}
	return all
}

// public reports whether an address is one of the public internet.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || a.Is6() && !unicast.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

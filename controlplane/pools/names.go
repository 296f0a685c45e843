package pools

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// lookupTimeout is how long a lookup may take.
const lookupTimeout = 5 * time.Second

// name is a host name that is looked up.
type name struct {
	addresses []netip.Addr  // of the last lookup that found any
	problem   string        // the error of the last lookup; "" if it succeeded
	lookedUp  chan struct{} // closed after the first lookup, or when the name is no longer needed
}

func (n *name) setLookedUp() {
	select {
	case <-n.lookedUp:
	default:
		close(n.lookedUp)
	}
}

// refreshNames makes w.lookups look up exactly the names of the pools. The caller holds w.mu.
func (w *Watcher) refreshNames() {
	before := w.names
	w.names = make(map[string]*name, len(before))
	var hosts []string
	for _, p := range w.pools {
		for _, host := range w.hosts(p) {
			if w.names[host] != nil {
				continue
			}
			n := before[host]
			if n == nil {
				n = &name{lookedUp: make(chan struct{})}
			}
			w.names[host] = n
			hosts = append(hosts, host)
		}
	}
	for host, n := range before {
		if w.names[host] == nil {
			n.setLookedUp()
		}
	}
	w.lookups.set(hosts)
}

// addresses returns the addresses of a host, which may itself be an address. The caller holds w.mu.
func (w *Watcher) addresses(host string) []netip.Addr {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip.Unmap()}
	}
	return w.names[host].addresses
}

// resolve looks a name up. If the lookup finds no address, the name keeps those that it had.
func (w *Watcher) resolve(ctx context.Context, host string) {
	lookup, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := w.lookup(lookup, "ip", host)
	if ctx.Err() != nil {
		return // the lookup may have ended because ctx ended
	}
	addresses := preferIPv4(found)
	problem := ""
	if err != nil {
		problem = Cause(err, "it cannot be looked up")
	} else if len(addresses) == 0 {
		problem = "it has no address"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.names[host]
	if n == nil {
		return // no longer needed
	}
	defer n.setLookedUp()
	before := n.problem
	n.problem = problem
	if problem != "" {
		if kept := len(n.addresses); kept > 0 {
			n.problem += fmt.Sprintf("; known addresses that stay in use: %d", kept)
		}
		if before == "" {
			w.log.Warn("a name cannot be looked up", "name", host, "error", n.problem)
			notify(w.changed) // a pool without servers may be down now
		}
		return
	}
	if before != "" {
		w.log.Info("a name can be looked up again", "name", host, "addresses", len(addresses))
	}
	if !slices.Equal(addresses, n.addresses) {
		n.addresses = addresses
		w.refresh()
	}
}

// preferIPv4 returns the IPv4 addresses or, if there are none, the others, sorted. A machine with addresses of both
// kinds is one server, and engines listen on IPv4.
func preferIPv4(found []netip.Addr) []netip.Addr {
	var v4, v6 []netip.Addr
	for _, ip := range found {
		if ip = ip.Unmap(); ip.Is4() {
			v4 = append(v4, ip)
		} else {
			v6 = append(v6, ip.WithZone(""))
		}
	}
	if len(v4) > 0 {
		v6 = v4
	}
	slices.SortFunc(v6, netip.Addr.Compare)
	return slices.Compact(v6)
}

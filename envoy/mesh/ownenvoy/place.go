package ownenvoy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// manager is a connection manager of the file, with the places for errors.
type manager struct {
	listener, object *object
	listenerAt, at   string
}

// named returns a place in the file with the name of what is there.
func named(at string, o *object) string {
	if name := o.text("name"); name != "" {
		return at + " (" + name + ")"
	}
	return at
}

// findManager returns the connection manager of the listener with this name, or the only one if the name is empty.
func findManager(root *object, name string) (*manager, error) {
	static, err := root.object("", "static_resources")
	if err != nil {
		return nil, err
	}
	if static == nil || static.get("listeners") == nil {
		return nil, errors.New("static_resources.listeners: they are not there, and those of a control plane are not in " +
			"this file; put the pieces into what the control plane sends")
	}
	listeners, err := static.list("static_resources", "listeners")
	if err != nil {
		return nil, err
	}
	var found []*manager
	var names []string
	for i, l := range listeners {
		if name != "" && l.text("name") != name {
			names = append(names, l.text("name"))
			continue
		}
		all, err := managersOf(l, named(fmt.Sprintf("static_resources.listeners[%d]", i), l))
		if err != nil {
			return nil, err
		}
		if len(all) > 1 {
			return nil, fmt.Errorf("%s and %s: two connection managers in one listener are not understood", all[0].at, all[1].at)
		}
		if len(all) == 1 {
			found, names = append(found, all[0]), append(names, l.text("name"))
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && name != "":
		return nil, fmt.Errorf("static_resources.listeners: none has the name %s and a connection manager; there are %s",
			name, strings.Join(names, ", "))
	case len(found) == 0:
		return nil, errors.New("static_resources.listeners: none has an HTTP connection manager")
	}
	return nil, fmt.Errorf("static_resources.listeners: several have a connection manager (%s); name one by --listener",
		strings.Join(names, ", "))
}

func managersOf(l *object, at string) ([]*manager, error) {
	chains, err := l.list(at, "filter_chains")
	if err != nil {
		return nil, err
	}
	places := make([]string, len(chains))
	for i := range chains {
		places[i] = fmt.Sprintf("%s.filter_chains[%d]", at, i)
	}
	other, err := l.object(at, "default_filter_chain")
	if err != nil {
		return nil, err
	}
	if other != nil {
		chains, places = append(chains, other), append(places, at+".default_filter_chain")
	}
	var found []*manager
	for i, chain := range chains {
		filters, err := chain.list(places[i], "filters")
		if err != nil {
			return nil, err
		}
		for j, f := range filters {
			inner := fmt.Sprintf("%s.filters[%d]", places[i], j)
			typed, err := f.object(inner, "typed_config")
			if err != nil {
				return nil, err
			}
			if typed != nil && typed.isType("HttpConnectionManager") {
				found = append(found, &manager{l, typed, at, inner + ".typed_config"})
			}
		}
	}
	return found, nil
}

// hosts returns the virtual hosts, and the route table that has them.
func (m *manager) hosts() (table *object, at string, hosts []*object, err error) {
	for _, name := range []string{"rds", "scoped_routes"} {
		if m.object.get(name) != nil {
			return nil, "", nil, fmt.Errorf("%s.%s: these routes are not in the file; a static route_config is understood",
				m.at, name)
		}
	}
	at = m.at + ".route_config"
	table, err = m.object.object(m.at, "route_config")
	if err == nil && table == nil {
		err = fmt.Errorf("%s: it is not there", at)
	}
	if err != nil {
		return nil, "", nil, err
	}
	hosts, err = table.list(at, "virtual_hosts")
	return table, at, hosts, err
}

// domains returns a virtual host's domains.
func domains(host *object) []string {
	var all []string
	items, _ := host.get("domains").([]any)
	for _, item := range items {
		all = append(all, fmt.Sprint(item))
	}
	return all
}

// hostOf returns the index of the virtual host with this domain, or of the only one if the domain is empty. It is -1
// for a domain that no host has.
func hostOf(hosts []*object, at, domain string) (int, error) {
	if domain != "" {
		return slices.IndexFunc(hosts, func(h *object) bool { return slices.Contains(domains(h), domain) }), nil
	}
	if len(hosts) == 1 {
		return 0, nil
	}
	var names []string
	for _, h := range hosts {
		names = append(names, strings.Join(domains(h), " "))
	}
	return 0, fmt.Errorf("%s.virtual_hosts: there are %d (%s); name the domain of the models by --domain, "+
		"one of these or a new one", at, len(hosts), strings.Join(names, ", "))
}

package ownenvoy

import (
	"fmt"
	"strings"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

const (
	perFilter   = "typed_per_filter_config"
	bufferLimit = "request_body_buffer_limit"
	hostsName   = "virtual_hosts"
	routesName  = "routes"
)

// hosts puts the routes into the models' virtual host, and disables the filter in the others.
func (m *merger) hosts(*xds.Resources) error {
	table, at, hosts, err := m.manager.hosts()
	if err != nil {
		return err
	}
	at = join(at, hostsName)
	chosen, err := hostOf(hosts, strings.TrimSuffix(at, "."+hostsName), m.options.Domain)
	if err != nil {
		return err
	}
	own, err := ofMessage(m.own.GetRouteConfig().GetVirtualHosts()[0])
	if err != nil {
		return err
	}
	name := own.text("name")
	if chosen >= 0 {
		name = hosts[chosen].text("name")
		err = m.intoHost(hosts[chosen], own, named(fmt.Sprintf("%s[%d]", at, chosen), hosts[chosen]))
	} else {
		err = m.newHost(table, own, at, hosts)
	}
	if err != nil {
		return err
	}
	for i, h := range hosts {
		if i == chosen {
			continue
		}
		if err := m.disable(h, named(fmt.Sprintf("%s[%d]", at, i), h)); err != nil {
			return err
		}
	}
	return m.replies(name)
}

// newHost adds a virtual host for the models alone.
func (m *merger) newHost(table, own *object, at string, hosts []*object) error {
	for i, h := range hosts {
		if h.text("name") == own.text("name") {
			return fmt.Errorf("%s[%d]: another virtual host has the name %s", at, i, own.text("name"))
		}
	}
	own.set("domains", []any{m.options.Domain})
	routes, err := own.list("", routesName)
	if err != nil {
		return err
	}
	for _, r := range routes { // the gateway's health is answered without the filter for it
		r.drop(perFilter, xds.HealthFilter)
	}
	table.insert(hostsName, len(hosts), own)
	m.put(at, "add", []any{own})
	return nil
}

// intoHost puts the routes before a host's own.
func (m *merger) intoHost(host, own *object, at string) error {
	if limit := own.get(bufferLimit); !notLess(host.get(bufferLimit), limit) {
		host.set(bufferLimit, limit)
		m.put(at, "set", of(bufferLimit, limit))
	}
	if err := m.hostFilters(host, own, at); err != nil {
		return err
	}
	theirs, err := host.list(at, routesName)
	if err != nil {
		return err
	}
	routes, err := own.list("", routesName)
	if err != nil {
		return err
	}
	var mine []any
	for _, r := range routes {
		if r.get("direct_response") == nil { // health and "not found" are the host's own matter
			mine = append(mine, r)
		}
	}
	host.insert(routesName, 0, mine...)
	m.put(at, "add before all other routes", mine)
	if len(theirs) > 0 {
		m.note("%s.%s: they stay after those of the models. None of them may lead to a server of the models: "+
			"docs/envoy.md#on-routes.", at, routesName)
	}
	return nil
}

// hostFilters adds what filters are told for all routes of the models.
func (m *merger) hostFilters(host, own *object, at string) error {
	filters, err := own.object("", perFilter)
	if err != nil || filters == nil {
		return err
	}
	if filters.get(corsFilter) != nil {
		return fmt.Errorf("%s: cors_origins of the configuration would change all paths of this host; leave them out, or "+
			"name a new domain", at)
	}
	to, err := host.made(at, perFilter)
	if err != nil {
		return err
	}
	for _, item := range filters.members {
		to.set(fmt.Sprint(item.Key), item.Value) // filters of this project, whose names the file does not have
	}
	m.put(at, "add to "+perFilter, filters)
	return nil
}

// drop removes a member of a member, and that if nothing else is in it.
func (o *object) drop(name, inner string) {
	from, _ := o.get(name).(*object)
	if from == nil {
		return
	}
	if i := from.index(inner); i >= 0 {
		from.members = append(from.members[:i:i], from.members[i+1:]...)
	}
	if i := o.index(name); len(from.members) == 0 {
		o.members = append(o.members[:i:i], o.members[i+1:]...)
	}
}

// disable disables the filter in a virtual host that does not serve models.
func (m *merger) disable(host *object, at string) error {
	filters, err := host.made(at, perFilter)
	if err != nil {
		return err
	}
	off := of("@type", "type.googleapis.com/envoy.config.route.v3.FilterConfig")
	off.set("disabled", true)
	filters.set(xds.FilterName, off)
	m.put(at, "add to "+perFilter+", because no models are served there", of(xds.FilterName, off))
	return nil
}

// replies gives Envoy's own errors OpenAI's shape, in the models' virtual host alone.
func (m *merger) replies(host string) error {
	const name, list = "local_reply_config", "mappers"
	own, err := m.ownTree.object("", name)
	if err != nil {
		return err
	}
	mappers, err := own.list("", list)
	if err != nil {
		return err
	}
	only := of("@type", "type.googleapis.com/envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter")
	only.set("expression", fmt.Sprintf("xds.virtual_host_name == %q", host))
	here := of("name", "envoy.access_loggers.extension_filters.cel")
	here.set("typed_config", only)
	var mine []any
	for _, mapper := range mappers {
		both := []any{of("extension_filter", here), mapper.get("filter")}
		mapper.set("filter", of("and_filter", of("filters", both)))
		mine = append(mine, mapper)
	}
	to, err := m.manager.object.made(m.manager.at, name)
	if err != nil {
		return err
	}
	at := join(m.manager.at, name)
	if _, err := to.list(at, list); err != nil {
		return err
	}
	to.insert(list, 0, mine...)
	m.put(at, "add first to "+list, mine)
	return nil
}

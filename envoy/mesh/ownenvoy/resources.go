package ownenvoy

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

// resources adds the clusters and the secrets.
func (m *merger) resources(r *xds.Resources) error {
	const at = "static_resources"
	static, err := m.root.object("", at)
	if err != nil {
		return err
	}
	var clusters, secrets []proto.Message
	for _, c := range r.Clusters {
		clusters = append(clusters, c)
	}
	for _, s := range r.Secrets {
		secrets = append(secrets, s)
	}
	if err := m.checkServers(static, r); err != nil {
		return err
	}
	for _, kind := range []struct {
		name     string
		messages []proto.Message
	}{{"clusters", clusters}, {"secrets", secrets}} {
		if err := m.add(static, at, kind.name, kind.messages); err != nil {
			return err
		}
	}
	return nil
}

// add adds messages to a list whose members have names.
func (m *merger) add(to *object, at, list string, messages []proto.Message) error {
	theirs, err := to.list(at, list)
	if err != nil || len(messages) == 0 {
		return err
	}
	var mine []any
	for _, message := range messages {
		own, err := ofMessage(message)
		if err != nil {
			return err
		}
		for i, other := range theirs {
			if other.text("name") == own.text("name") {
				return fmt.Errorf("%s.%s[%d]: the name %s is taken; take the old pieces out first", at, list, i, own.text("name"))
			}
		}
		mine = append(mine, own)
	}
	to.insert(list, len(theirs), mine...)
	m.put(join(at, list), "add", mine)
	return nil
}

// checkServers notes clusters of the file that have a server of the models.
func (m *merger) checkServers(static *object, r *xds.Resources) error {
	var servers []string
	for _, c := range r.Clusters {
		own, err := ofMessage(c)
		if err != nil {
			return err
		}
		servers = append(servers, addresses(own)...)
	}
	theirs, err := static.list("static_resources", "clusters")
	if err != nil {
		return err
	}
	for i, c := range theirs {
		for _, address := range addresses(c) {
			if slices.Contains(servers, address) {
				m.note("%s: it has %s, a server of the models. A route that leads there passes the filter by: "+
					"docs/envoy.md#several-hosts.", named(fmt.Sprintf("static_resources.clusters[%d]", i), c), address)
			}
		}
	}
	return nil
}

// addresses returns all socket addresses within a value.
func addresses(value any) []string {
	var all []string
	switch v := value.(type) {
	case *object:
		if host := v.text("address"); host != "" {
			return []string{fmt.Sprintf("%s:%v", host, v.get("port_value"))}
		}
		for _, item := range v.members {
			all = append(all, addresses(item.Value)...)
		}
	case []any:
		for _, item := range v {
			all = append(all, addresses(item)...)
		}
	}
	return all
}

// statistics adds the labels and buckets of the filter's metrics.
func (m *merger) statistics(*xds.Resources) error {
	const name = "stats_config"
	own, err := ofMessage(xds.Stats())
	if err != nil {
		return err
	}
	to, err := m.root.made("", name)
	if err != nil {
		return err
	}
	for _, item := range own.members {
		list := fmt.Sprint(item.Key)
		theirs, err := to.list(name, list)
		if err != nil {
			return err
		}
		mine, _ := item.Value.([]any)
		to.insert(list, len(theirs), mine...)
	}
	m.put(name, "add", own)
	return nil
}

// runtime adds the limits of the clusters' circuit breakers.
func (m *merger) runtime(r *xds.Resources) error {
	const name, list = "layered_runtime", "layers"
	if len(r.Runtime.GetFields()) == 0 {
		return nil
	}
	values, err := ofMessage(r.Runtime)
	if err != nil {
		return err
	}
	layer := of("name", xds.RuntimeName)
	layer.set("static_layer", values)
	mine := []any{layer}
	if m.root.get(name) == nil { // without any, Envoy has one that the admin interface writes
		admin := of("name", "admin")
		admin.set("admin_layer", &object{})
		mine = append(mine, admin)
	}
	to, err := m.root.made("", name)
	if err != nil {
		return err
	}
	if _, err := to.list(name, list); err != nil {
		return err
	}
	to.insert(list, 0, mine...)
	m.put(join(name, list), "add first", mine)
	return nil
}

package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy"
)

// EnvoyOfAll runs one real Envoy with the resources of several configurations, and returns a host for each. Each has
// listeners, routes and clusters of its own. They share the process with its statistics, and the filter's VMs, which
// the filter shares between its configurations. Stopping one of them stops all.
func EnvoyOfAll(s Setup, all []*xds.Resources) ([]*Host, error) {
	together := &xds.Resources{Runtime: &structpb.Struct{Fields: map[string]*structpb.Value{}}}
	for i, r := range all {
		if err := add(together, r, fmt.Sprintf("-%d", i)); err != nil {
			return nil, fmt.Errorf("configuration %d: %w", i, err)
		}
	}
	bootstrap, err := envoy.Bootstrap(together, anyPort, netip.AddrPort{})
	if err != nil {
		return nil, err
	}
	var hosts []*Host
	for i, r := range all {
		name := fmt.Sprintf("%s-%d", r.Listeners[0].GetName(), i)
		if i == 0 {
			h, err := startEnvoyAt(s, bootstrap, name)
			if err != nil {
				return nil, err
			}
			hosts = append(hosts, h)
			continue
		}
		h := *hosts[0]
		if err := h.findListener(name); err != nil {
			hosts[0].Stop()
			return nil, err
		}
		hosts = append(hosts, &h)
	}
	return hosts, nil
}

// add adds resources, whose listeners and clusters get names that end with suffix.
func add(together, r *xds.Resources, suffix string) error {
	if len(r.Secrets) > 0 {
		return errors.New("secrets are not renamed")
	}
	if together.Overload == nil {
		together.Overload = r.Overload
	} else if !proto.Equal(together.Overload, r.Overload) {
		return errors.New("the overload manager is the process's, and differs")
	}
	for key, value := range r.Runtime.GetFields() {
		for _, c := range r.Clusters {
			key = strings.ReplaceAll(key, "."+c.GetName()+".", "."+c.GetName()+suffix+".")
		}
		together.Runtime.Fields[key] = value
	}
	for _, l := range r.Listeners {
		renamed := proto.CloneOf(l)
		if err := rename(renamed, r, suffix); err != nil {
			return err
		}
		renamed.Name += suffix
		together.Listeners = append(together.Listeners, renamed)
	}
	for _, c := range r.Clusters {
		renamed := proto.CloneOf(c)
		if err := rename(renamed, r, suffix); err != nil {
			return err
		}
		together.Clusters = append(together.Clusters, renamed)
	}
	return nil
}

// rename gives the clusters that a message names other names, in messages within it and in the filter's JSON too.
func rename(m proto.Message, r *xds.Resources, suffix string) error {
	text, err := protojson.Marshal(m)
	if err != nil {
		return err
	}
	for _, c := range r.Clusters {
		for _, quote := range []string{`"`, `\"`} {
			text = bytes.ReplaceAll(text, []byte(quote+c.GetName()+quote), []byte(quote+c.GetName()+suffix+quote))
		}
	}
	return protojson.Unmarshal(text, m)
}

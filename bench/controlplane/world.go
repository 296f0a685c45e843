package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// world is a configuration of a certain size. Its addresses have no servers, and no server's health is checked.
type world struct {
	models, servers int
	// moved, identity and more count the changes: of the address of one server, of a setting of one model, and of the
	// number of models and pools.
	moved, identity, more int
	// list is the path of the servers file of all pools. If it is empty, the servers are in the configuration.
	list string
	// told is the port at which all servers tell their loads. If it is not 0, their addresses are loopback addresses, and
	// weights reports whether the loads are followed.
	told    int
	weights bool
}

// yaml returns the operator's file.
func (w *world) yaml() string {
	var text strings.Builder
	text.WriteString("listen: 127.0.0.1:0\nmodels:\n")
	for i := range w.models + w.more {
		fmt.Fprintf(&text, "- name: model-%d\n  pool: pool-%d\n", i, i)
		if i == 0 {
			fmt.Fprintf(&text, "  system: {identity: \"You are number %d.\"}\n", w.identity)
		}
	}
	text.WriteString("pools:\n")
	for i := range w.models + w.more {
		fmt.Fprintf(&text, "- name: pool-%d\n  capacity: 64\n", i)
		if w.list != "" {
			// The Envoys connect to each server all the same, to report whether they reach it: not while it is measured.
			fmt.Fprintf(&text, "  health: {path: none, interval: 1h}\n  servers_file: %s\n", w.list)
			continue
		}
		if w.told != 0 {
			text.WriteString("  health: {path: none, interval: 1h}\n")
			if w.weights {
				text.WriteString("  load: {weights: true}\n")
			}
			text.WriteString("  servers:\n")
			for j := range w.servers {
				fmt.Fprintf(&text, "  - http://127.%d.%d.%d:%d\n", 1+i/200, i%200, j+1, w.told)
			}
			continue
		}
		text.WriteString("  health: {path: none}\n  servers:\n")
		for j := range w.servers {
			port := 8000
			if i == 0 && j == 0 {
				port += w.moved
			}
			fmt.Fprintf(&text, "  - http://10.%d.%d.%d:%d\n", i/200, i%200, j+1, port)
		}
	}
	return text.String()
}

// enough is how long a measurement in this process repeats the same work.
const enough = 2 * time.Second

// inProcess measures the work of a control plane at each change of a server: it builds all resources and sets them.
func (w *world) inProcess() (build, set time.Duration, err error) {
	var builds, sets []time.Duration
	server := ads.New(ads.Options{})
	changing := *w
	for begin := time.Now(); time.Since(begin) < enough; {
		changing.moved++
		c, err := config.Parse("bench", []byte(changing.yaml()))
		if err != nil {
			return 0, 0, err
		}
		began := time.Now()
		resolved, err := c.Resolve()
		if err != nil {
			return 0, 0, err
		}
		r, err := xds.Build(resolved, xds.Options{ModulePath: "/filter.wasm"})
		if err != nil {
			return 0, 0, err
		}
		all, err := r.Discovered()
		if err != nil {
			return 0, 0, err
		}
		builds = append(builds, time.Since(began))
		began = time.Now()
		if changed, err := server.Set(all); err != nil || !changed {
			return 0, 0, fmt.Errorf("set: changed %t: %w", changed, err)
		}
		sets = append(sets, time.Since(began))
	}
	return median(builds), median(sets), nil
}

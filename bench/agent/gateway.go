package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/agents"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/rustfrontend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// variant is what a session passes through.
type variant string

const (
	plain    variant = "plain Envoy"
	older    variant = "older build"
	this     variant = "this build"
	frontEnd variant = "vllm-rs, its render"
)

// manyWorkers is how many workers an Envoy has in the loads of many.
const manyWorkers = 8

// gateway is a process that sessions pass through.
type gateway struct {
	url  string
	pid  int
	stop func()
}

// gateways are the processes, by variant and workers.
type gateways struct {
	running map[variant]map[int]*gateway
	modules map[variant]string
	server  *server
	// memory is the prefix_memory of this build.
	memory config.Size
}

// startGateways starts an Envoy of each variant, with each number of workers that a load needs.
func startGateways(s *server, selected []load, o options) (*gateways, error) {
	g := &gateways{running: map[variant]map[int]*gateway{}, server: s, memory: o.memory,
		modules: map[variant]string{plain: os.Getenv("HARMONY_WASM"), this: os.Getenv("HARMONY_WASM")}}
	if o.beside != "" {
		g.modules[older] = o.beside
		if info, err := os.Stat(o.beside); err == nil && info.IsDir() {
			g.modules[older] = filepath.Join(o.beside, "harmony-filter.wasm")
		}
	}
	if err := os.Setenv(contract.SealKeysVariable, agents.SealKeys); err != nil {
		return nil, err
	}
	for v := range g.modules {
		g.running[v] = map[int]*gateway{}
		for _, l := range selected {
			if g.running[v][l.workers] != nil {
				continue
			}
			command.Progress("starts %s, workers: %d", v, l.workers)
			running, err := g.startEnvoy(v, l.workers)
			if err != nil {
				g.stop()
				return nil, err
			}
			g.running[v][l.workers] = running
		}
	}
	if _, err := os.Stat(o.frontEnd); err != nil {
		command.Progress("without vllm-rs: %v", err)
	} else if err := g.startFrontEnd(o.frontEnd); err != nil {
		g.stop()
		return nil, err
	}
	if err := g.first(selected[0].workers); err != nil {
		g.stop()
		return nil, err
	}
	return g, nil
}

func (g *gateways) stop() {
	for _, byWorkers := range g.running {
		for _, running := range byWorkers {
			running.stop()
		}
	}
}

// variants returns the variants that a load is played on.
func (g *gateways) variants(l load) []variant {
	var all []variant
	for v := range g.running {
		if v == frontEnd && !l.rendered || v == older && l.form == agents.Messages {
			continue // the front end does not render it, or the older build has no such API
		}
		all = append(all, v)
	}
	return all
}

func (g *gateways) startEnvoy(v variant, workers int) (*gateway, error) {
	setup := hosts.Setup{Config: config.Default()}
	c := setup.Config
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", workers
	// Under another name the server is not one of a model.
	c.Passthrough = strings.Replace(g.server.url, "127.0.0.1", "localhost", 1)
	switch v {
	case this:
		c.PrefixMemory = g.memory
	case plain:
		c.PassthroughPaths = []string{contract.ChatPath, contract.ResponsesPath, contract.MessagesPath}
	}
	m := config.DefaultModel(model, contract.VLLM+"="+g.server.url)
	m.ContextLength = contextLength
	c.Models = append(c.Models, m)
	resolved, err := c.Resolve()
	if err != nil {
		return nil, err
	}
	r, err := xds.Build(resolved, xds.Options{ModulePath: g.modules[v]})
	if err != nil {
		return nil, err
	}
	if v == plain {
		if err := hosts.WithoutFilter(r); err != nil {
			return nil, err
		}
	}
	host, err := hosts.EnvoyWith(setup, r)
	if err != nil {
		return nil, err
	}
	return &gateway{url: host.URL, pid: host.Process.PID(), stop: host.Stop}, nil
}

// startFrontEnd starts vLLM's Rust front end, which renders Chat itself, and nothing else.
func (g *gateways) startFrontEnd(path string) error {
	f, err := rustfrontend.Start(context.Background(), rustfrontend.Options{
		Path: path, Models: []string{model}, ContextLength: contextLength,
		ReadyTimeout: 2 * time.Minute, RendersOnly: true,
	})
	if err != nil {
		return err
	}
	g.running[frontEnd] = map[int]*gateway{1: {url: f.URL, pid: f.PID(), stop: f.Stop}}
	return nil
}

// first sends the request whose answer all others get.
func (g *gateways) first(workers int) error {
	c := newClient(true)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	to := g.running[this][workers]
	body := `{"model":"` + model + `","stream":true,"messages":[{"role":"user","content":"` + question + `"}]}`
	if err := c.send(ctx, to.url+contract.ChatPath, body, true); err != nil {
		return errors.Join(errors.New("the first request"), err)
	}
	return nil
}

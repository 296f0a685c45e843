package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/rustfrontend"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// gateway is a process between clients and servers.
type gateway struct {
	url  string
	pid  int
	stop func()
	// process is nil for what is no Envoy.
	process *envoy.Process
}

// gateways are the processes under test, by what their variants pass through.
type gateways struct {
	running map[string]*gateway
	// modules are the filters' files. There is none for [plain].
	modules map[string]string
	servers *servers
	// engine generates the tokens behind vLLM's front end.
	engine atomic.Pointer[sim.Server]
	// recorder is nil if nothing is tapped.
	recorder *recorder
	folder   string
}

// startGateways starts a process for each of these names.
func startGateways(s *servers, names []string, o options) (*gateways, error) {
	folder, err := os.MkdirTemp("", "bench-edge-")
	if err != nil {
		return nil, err
	}
	g := &gateways{running: map[string]*gateway{}, servers: s, folder: folder, modules: map[string]string{
		constant: filepath.Join(folder, "constant.wasm"), ours: os.Getenv("HARMONY_WASM"), besides: o.beside,
	}}
	if err := os.WriteFile(g.modules[constant], constantFilter(), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	for _, through := range []string{tapUnused, tapSummary, tapEverything} {
		g.modules[through] = g.modules[ours]
	}
	if o.tap {
		if g.recorder, err = startRecorder(); err != nil {
			return nil, errors.Join(err, os.RemoveAll(folder))
		}
	}
	for _, name := range names {
		command.Progress("starts %s", name)
		if name == rustFrontEnd {
			g.running[name], err = g.startFrontEnd(o.frontEnd)
		} else {
			g.running[name], err = g.startEnvoy(name, 1)
		}
		if err != nil {
			g.stop()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return g, nil
}

func (g *gateways) stop() {
	for _, running := range g.running {
		if running != nil {
			running.stop()
		}
	}
	if g.recorder != nil {
		_ = g.recorder.server.Close()
	}
	_ = os.RemoveAll(g.folder)
}

// startEnvoy starts an Envoy with so many workers, and what the name says in it.
func (g *gateways) startEnvoy(name string, workers int) (*gateway, error) {
	setup := hosts.Setup{Config: config.Default()}
	c := setup.Config
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", workers
	c.Passthrough = strings.Replace(g.servers.passthrough, "127.0.0.1", "localhost", 1)
	for _, kind := range contract.ServerKinds() {
		if name == besides && kind != contract.VLLM {
			continue // an older build may not know it
		}
		if name == plain || name == constant {
			if path := contract.KindNamed(kind).Path; !slices.Contains(c.PassthroughPaths, path) {
				c.PassthroughPaths = append(c.PassthroughPaths, path)
			}
		}
		m := config.DefaultModel(modelOf(kind), kind+"="+g.servers.urls[kind])
		m.AcceptTextPrompts = contract.KindNamed(kind).TextPrompts
		c.Models = append(c.Models, m)
	}
	if g.recorder != nil {
		g.recorder.setTap(c, name)
	}
	resolved, err := c.Resolve()
	if err != nil {
		return nil, err
	}
	module := g.modules[name]
	if name == plain {
		module = g.modules[constant] // is taken out again
	}
	r, err := xds.Build(resolved, xds.Options{ModulePath: module})
	if err != nil {
		return nil, err
	}
	if name == plain {
		if err := hosts.WithoutFilter(r); err != nil {
			return nil, err
		}
	}
	host, err := hosts.EnvoyWith(setup, r)
	if err != nil {
		return nil, err
	}
	return &gateway{url: host.URL, pid: host.Process.PID(), stop: host.Stop, process: host.Process}, nil
}

// frontEndReady is how long vLLM's front end may take to serve on a busy machine.
const frontEndReady = 2 * time.Minute

// startFrontEnd starts vLLM's Rust front end, which renders Chat itself.
func (g *gateways) startFrontEnd(path string) (*gateway, error) {
	f, err := rustfrontend.Start(context.Background(), rustfrontend.Options{
		Path: path, Models: []string{modelOf(contract.VLLM)}, Model: g.engine.Load, ReadyTimeout: frontEndReady,
	})
	if err != nil {
		return nil, err
	}
	return &gateway{url: f.URL, pid: f.PID(), stop: f.Stop}, nil
}

// setEngine makes vLLM's front end generate answers of n words, at a rate. A rate of 0 is as fast as it can.
func (g *gateways) setEngine(n int, rate float64) {
	text := "<|channel|>final<|message|>" + strings.Repeat(word, n) + "<|return|>"
	g.engine.Store(sim.New(sim.Options{
		Models: []string{modelOf(contract.VLLM)}, AnyPrompt: true, TokensPerSecond: rate, Keep: -1,
		Script: sim.NewScript(sim.Line{Match: question(n), Tokens: o200k.Tokenizer().AppendEncodeSpecial(nil, text)}),
	}))
}

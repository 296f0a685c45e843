package wasmhost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// memoryPages is the largest memory that Envoy allows a VM: 1 GiB, in pages of 64 KiB.
const memoryPages = 1 << 14

// defaultReload is Envoy's default of reload_config.backoff.base_interval.
const defaultReload = time.Second

// Host is one filter, compiled and configured, with everything that its VMs share.
type Host struct {
	plugin  Plugin
	options Options
	runtime wazero.Runtime
	module  wazero.CompiledModule
	cache   wazero.CompilationCache
	ctx     context.Context //nolint:containedctx // wazero wants one for every call, and nothing here ends by it

	shared  shared
	metrics metrics

	mu      sync.Mutex // guards plugin.Configuration too
	workers []*Worker
	// running counts the goroutines that [Host.Close] waits for.
	running sync.WaitGroup
}

// New compiles a filter. It returns an error if the module is not a proxy-wasm 0.2 filter or imports functions that no
// host offers.
func New(wasm []byte, plugin Plugin, options Options) (*Host, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	if plugin.ReloadInterval == 0 {
		plugin.ReloadInterval = defaultReload
	}
	if options.Context == nil {
		options.Context = context.Background()
	}
	h := &Host{plugin: plugin, options: options, ctx: options.Context, metrics: metrics{bounds: options.Buckets}}
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(memoryPages)
	if options.CacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(options.CacheDir)
		if err != nil {
			return nil, fmt.Errorf("wasmhost: the cache of compiled modules: %w", err)
		}
		h.cache = cache
		config = config.WithCompilationCache(cache)
	}
	h.runtime = wazero.NewRuntimeWithConfig(h.ctx, config)
	if err := h.load(wasm); err != nil {
		h.Close()
		return nil, fmt.Errorf("wasmhost: %w", err)
	}
	return h, nil
}

func (h *Host) load(wasm []byte) error {
	if _, err := wasi_snapshot_preview1.Instantiate(h.ctx, h.runtime); err != nil {
		return err
	}
	if err := instantiateABI(h.ctx, h.runtime); err != nil {
		return err
	}
	module, err := h.runtime.CompileModule(h.ctx, wasm)
	if err != nil {
		return fmt.Errorf("the module cannot be compiled: %w", err)
	}
	h.module = module
	exports := module.ExportedFunctions()
	for name := range exports {
		if name == "proxy_abi_version_0_1_0" {
			return errors.New("the module speaks proxy-wasm 0.1.0; only 0.2 is known here")
		}
	}
	_, v0 := exports["proxy_abi_version_0_2_0"]
	_, v1 := exports["proxy_abi_version_0_2_1"]
	if !v0 && !v1 {
		return errors.New("the module exports no proxy_abi_version_0_2_0 or _0_2_1: it is not a proxy-wasm filter")
	}
	return nil
}

// Close ends every worker. The filter gets no more callbacks for streams that are still open.
func (h *Host) Close() {
	h.mu.Lock()
	workers := slices.Clone(h.workers)
	h.mu.Unlock()
	for _, w := range workers {
		w.Close()
	}
	h.running.Wait()
	// Closing only frees memory of this process; its error has no consequence.
	_ = h.runtime.Close(h.ctx)
	if h.cache != nil {
		_ = h.cache.Close(h.ctx)
	}
}

// SetConfiguration sets what the VMs read that start from now on ([Plugin.Configuration]). Those that run keep what
// they have read.
func (h *Host) SetConfiguration(text []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plugin.Configuration = text
}

// Configuration returns what VMs read that start now.
func (h *Host) Configuration() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.plugin.Configuration
}

// forget takes a worker that has ended from the list.
func (h *Host) forget(w *Worker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.workers = slices.DeleteFunc(h.workers, func(one *Worker) bool { return one == w })
}

func (h *Host) log(level Level, format string, args ...any) {
	if h.options.Log != nil {
		h.options.Log(level, fmt.Sprintf(format, args...))
	}
}

func (h *Host) violation(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if h.options.Violation != nil {
		h.options.Violation(message)
		return
	}
	h.log(Critical, "%s", message)
}

// maxLine is the length in bytes at which an output line without an end is split.
const maxLine = 64 << 10

// lines turns the module's standard output into log lines.
type lines struct {
	host  *Host
	level Level
	rest  []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	if len(l.rest) > maxLine {
		l.rest = append(l.rest, '\n')
	}
	for {
		at := -1
		for i, c := range l.rest {
			if c == '\n' {
				at = i
				break
			}
		}
		if at < 0 {
			return len(p), nil
		}
		l.host.log(l.level, "%s", l.rest[:at])
		l.rest = l.rest[at+1:]
	}
}

// Count adds 1 to a counter as the filter does. It is for what a host does in the filter's place.
func (h *Host) Count(name string) { h.metrics.count(name) }

// Metrics returns the values of all counters and gauges by name. A histogram's value is the number of recorded values.
func (h *Host) Metrics() map[string]uint64 { return h.metrics.snapshot() }

// ReadMetrics returns all metrics that the filter has defined, in that order, with the buckets of histograms.
func (h *Host) ReadMetrics() []Metric { return h.metrics.read() }

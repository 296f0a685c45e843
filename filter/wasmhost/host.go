package wasmhost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// memoryPages is the most memory that Envoy gives a VM: 1 GiB, in pages of 64 KiB.
const memoryPages = 1 << 14

// defaultReload is Envoy's reload_config.backoff.base_interval when nothing is said.
const defaultReload = time.Second

// Host is one filter, compiled and configured, and what its VMs share.
type Host struct {
	plugin  Plugin
	options Options
	runtime wazero.Runtime
	module  wazero.CompiledModule
	cache   wazero.CompilationCache
	ctx     context.Context //nolint:containedctx // wazero wants one for every call, and nothing here ends by it

	shared  shared
	metrics metrics

	mu      sync.Mutex
	workers []*Worker
	// running are the calls that nobody waits for.
	running sync.WaitGroup
}

// New compiles a filter. An error means that the module is not one, or imports what no host has.
func New(wasm []byte, plugin Plugin, options Options) (*Host, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	if plugin.ReloadInterval == 0 {
		plugin.ReloadInterval = defaultReload
	}
	h := &Host{plugin: plugin, options: options, ctx: context.Background()}
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
		return errors.New("the module exports no proxy_abi_version_0_2_0 or _0_2_1: it is no proxy-wasm filter")
	}
	return nil
}

// Close ends every worker. Streams that are still open end without another word from the filter.
func (h *Host) Close() {
	h.mu.Lock()
	workers := h.workers
	h.workers = nil
	h.mu.Unlock()
	for _, w := range workers {
		w.Close()
	}
	h.running.Wait()
	// Closing frees memory of ours; there is nothing to be told about it.
	_ = h.runtime.Close(h.ctx)
	if h.cache != nil {
		_ = h.cache.Close(h.ctx)
	}
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

// longestLine is what is kept of a line that does not end, in bytes.
const longestLine = 64 << 10

// lines is the module's standard output, a log line for each.
type lines struct {
	host  *Host
	level Level
	rest  []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	if len(l.rest) > longestLine {
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

// Metrics are the values of all counters and gauges by name, and of histograms the number of values recorded.
func (h *Host) Metrics() map[string]uint64 { return h.metrics.snapshot() }

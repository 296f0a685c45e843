package hosts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/operator/clients"
)

// startLimit is how long an Envoy may take to start on a busy machine.
const startLimit = time.Minute

// Envoy runs the real Envoy, named by $ENVOY, with the shipped filter, named by $HARMONY_WASM.
func Envoy(s Setup) (*Host, error) {
	r, err := Resources(s)
	if err != nil {
		return nil, err
	}
	return EnvoyWith(s, r)
}

// Resources returns Envoy's resources for a setup. A test can change them before [EnvoyWith].
func Resources(s Setup) (*xds.Resources, error) {
	module := os.Getenv("HARMONY_WASM")
	if module == "" {
		return nil, errors.New("HARMONY_WASM is not set: run the tests by `make e2e`")
	}
	c, err := s.Config.Resolve()
	if err != nil {
		return nil, err
	}
	var known *clients.File
	if file := s.Config.Clients.KeysFile; file != "" {
		if known, err = clients.Load(file); err != nil {
			return nil, err
		}
	}
	return xds.Build(c, xds.Options{ModulePath: module, Clients: known})
}

// WithoutFilter takes the shipped filter out of the clients' listener, and nothing else.
func WithoutFilter(r *xds.Resources) error {
	m, err := r.ConnectionManager()
	if err != nil {
		return err
	}
	before := len(m.HttpFilters)
	m.HttpFilters = slices.DeleteFunc(m.HttpFilters, func(f *hcmv3.HttpFilter) bool { return f.Name == xds.FilterName })
	if len(m.HttpFilters) != before-1 {
		return fmt.Errorf("%d filters of %d are left", len(m.HttpFilters), before)
	}
	packed, err := anypb.New(m)
	if err != nil {
		return err
	}
	r.Listeners[0].FilterChains[0].Filters[0].ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: packed}
	return nil
}

// anyPort lets the system choose a port.
var anyPort = netip.MustParseAddrPort("127.0.0.1:0")

// EnvoyWith runs the real Envoy with these resources.
func EnvoyWith(s Setup, r *xds.Resources) (*Host, error) {
	bootstrap, err := envoy.Bootstrap(r, anyPort, netip.AddrPort{})
	if err != nil {
		return nil, err
	}
	return startEnvoy(s, bootstrap)
}

func startEnvoy(s Setup, bootstrap []byte) (*Host, error) {
	return startEnvoyAt(s, bootstrap, xds.ListenerName)
}

// startEnvoyAt starts an Envoy. listener is the name of the listener for clients.
func startEnvoyAt(s Setup, bootstrap []byte, listener string) (*Host, error) {
	program := os.Getenv("ENVOY")
	if program == "" {
		return nil, errors.New("ENVOY is not set: run the tests by `make e2e`")
	}
	limit := startLimit * time.Duration(max(1, s.Config.Envoy.Concurrency)) // each worker starts a VM
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	p, err := envoy.Start(ctx, envoy.Options{
		Path: program, Bootstrap: bootstrap, Concurrency: s.Config.Envoy.Concurrency, ReadyTimeout: limit,
	})
	if err != nil {
		return nil, err
	}
	h := &Host{Name: "envoy", Process: p, stop: func() { _ = p.Stop() },
		chunks: func(int) (int, error) { return envoyChunks(p) }}
	if err := h.findListener(listener); err != nil {
		h.stop() // the first error is the one that matters
		return nil, err
	}
	return h, nil
}

// findListener sets where an Envoy's clients connect, by the listener's name.
func (h *Host) findListener(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	address, err := h.Process.Listener(ctx, name)
	h.URL = "http://" + address
	return err
}

// envoyChunks reads a metric of the filter, because Envoy itself does not report its calls of a filter.
func envoyChunks(p *envoy.Process) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	stats, err := p.Get(ctx, "/stats?filter=harmony_response_chunks_total")
	if err != nil {
		return 0, err
	}
	_, value, ok := strings.Cut(strings.TrimSpace(string(stats)), ": ")
	if !ok {
		return 0, nil // the metric does not exist until it is counted
	}
	return strconv.Atoi(value)
}

// Collections returns how many collections of its VMs' heaps an Envoy has counted since its start, and how long the
// longest took. Envoy rounds the longest to about a tenth.
func Collections(p *envoy.Process) (count int, longest time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	const histogram = "harmony_vm_collection_microseconds"
	stats, err := p.Get(ctx, "/stats?filter="+histogram)
	if err != nil {
		return 0, 0, err
	}
	// P100 of the last interval, and of all
	if all := regexp.MustCompile(`P100\([^,]*,([\d.]+)\)`).FindSubmatch(stats); all != nil {
		micros, err := strconv.ParseFloat(string(all[1]), 64)
		if err != nil {
			return 0, 0, err
		}
		longest = time.Duration(micros * float64(time.Microsecond))
	}
	if stats, err = p.Get(ctx, "/stats/prometheus?filter="+histogram); err != nil {
		return 0, 0, err
	}
	if all := regexp.MustCompile(`_count\{[^}]*\} (\d+)`).FindSubmatch(stats); all != nil {
		count, err = strconv.Atoi(string(all[1]))
	}
	return count, longest, err
}

//go:build e2e

package lab

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
)

// Counter returns a counter of the filter in an Envoy.
func Counter(t *testing.T, h *hosts.Host, name string) uint64 {
	t.Helper()
	return Statistic(t, h, "wasmcustom."+name)
}

// Statistic returns a counter of Envoy, which is 0 until Envoy has it.
func Statistic(t *testing.T, h *hosts.Host, name string) uint64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	stats, err := h.Process.Get(ctx, "/stats?filter="+name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(stats)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+": "); ok {
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

// Counters returns all counters of the filter, in Envoy or without it.
func Counters(t *testing.T, h *hosts.Host) map[string]int {
	t.Helper()
	counts := map[string]int{}
	if h.Process == nil {
		for name, value := range h.Server.Proxy().Metrics() {
			counts[name] = int(value)
		}
		return counts
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	stats, err := h.Process.Get(ctx, "/stats?filter=harmony")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(stats)) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "wasmcustom."), ": ")
		if n, err := strconv.Atoi(value); err == nil {
			counts[name] = n
		}
	}
	return counts
}

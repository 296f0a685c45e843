package ownenvoy

import (
	"fmt"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

// setting is one of the connection manager. ok reports whether the file's own value, which is there, may stay beside
// this project's.
type setting struct {
	name string
	ok   func(have, own any) bool
}

func equal(have, own any) bool { return have == own }

func anything(_, _ any) bool { return true }

// notLess compares two numbers.
func notLess(have, own any) bool {
	h, ok := number(have)
	o, _ := number(own)
	return ok && h >= o
}

// notShorter compares two durations. 0s is without end, which nothing may be.
func notShorter(have, own any) bool {
	h, err := time.ParseDuration(fmt.Sprint(have))
	o, _ := time.ParseDuration(fmt.Sprint(own))
	return err == nil && h >= o
}

// resolvesSlashes reports whether no escaped slash leads out of a route's path.
func resolvesSlashes(have, _ any) bool {
	return slices.Contains([]any{"REJECT_REQUEST", "UNESCAPE_AND_REDIRECT", "UNESCAPE_AND_FORWARD"}, have)
}

// managerSettings are docs/envoy.md#on-the-connection-manager.
var managerSettings = []setting{
	{"normalize_path", equal},
	{"merge_slashes", equal},
	{"path_with_escaped_slashes_action", resolvesSlashes},
	{"stream_idle_timeout", notShorter},
	{"delayed_close_timeout", anything},
	{"preserve_external_request_id", anything},
	{"always_set_request_id_in_response", anything},
}

var windowSettings = []setting{
	{"initial_stream_window_size", notLess},
	{"initial_connection_window_size", notLess},
}

// settings sets what the connection manager must have.
func (m *merger) settings(*xds.Resources) error {
	to, at := m.manager.object, m.manager.at
	changed := m.merge(to, m.ownTree, at, managerSettings)
	const http2 = "http2_protocol_options"
	windows, err := to.made(at, http2)
	if err != nil {
		return err
	}
	own, err := m.ownTree.object("", http2)
	if err != nil {
		return err
	}
	if inner := m.merge(windows, own, join(at, http2), windowSettings); len(inner.members) > 0 {
		changed.set(http2, inner)
	}
	if len(changed.members) > 0 {
		m.put(at, "set", changed)
	}
	const early = "early_header_mutation_extensions"
	if _, err := to.list(at, early); err != nil {
		return err
	}
	extensions, _ := m.ownTree.get(early).([]any)
	to.insert(early, 0, extensions...)
	m.put(at, "add first to "+early, extensions)
	return nil
}

// merge sets what the file lacks, or has otherwise. It returns what it has set.
func (m *merger) merge(to, own *object, at string, settings []setting) *object {
	changed := &object{}
	for _, s := range settings {
		want, have := own.get(s.name), to.get(s.name)
		if want == nil || have != nil && s.ok(have, want) {
			continue
		}
		if have != nil {
			m.note("%s: it is %v, for all hosts of the listener. It must be %v: docs/envoy.md#what-must-be-there.",
				join(at, s.name), have, want)
		}
		to.set(s.name, want)
		changed.set(s.name, want)
	}
	return changed
}

// strangers notes what an Envoy lacks whose clients are strangers.
func (m *merger) strangers(*xds.Resources) error {
	if m.manager.object.get("use_remote_address") != true {
		m.note("%s.use_remote_address: it is not true. If clients reach this Envoy directly, they can set Envoy's own "+
			"x-envoy-… headers: docs/envoy.md#worth-having.", m.manager.at)
	}
	if m.root.get("overload_manager") == nil {
		m.note("overload_manager: it is not there. Where clients are strangers, take that of harmony controlplane " +
			"bootstrap: docs/envoy.md#limits.")
	}
	return nil
}

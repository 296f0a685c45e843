package ownenvoy

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/goccy/go-yaml"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy/mesh"
)

// Options say where in the file the models are served.
type Options struct {
	// Listener is the name of the listener. It may be empty if only one has a connection manager.
	Listener string
	// Domain is the domain of the models, of a virtual host that is there or of a new one. It may be empty if there is
	// only one virtual host.
	Domain string
}

// piece is what goes to one place of the file.
type piece struct {
	at, how string
	value   any
}

// Merged is a file with the pieces that were put into it.
type Merged struct {
	root   *object
	pieces []piece
	// Notes are what the operator must know of the file, each a line.
	Notes []string
}

// merger puts the pieces into a file.
type merger struct {
	Merged
	options Options
	manager *manager
	// own is this project's connection manager, and ownTree the same as a tree.
	own     *hcmv3.HttpConnectionManager
	ownTree *object
}

// Merge puts the resources into an operator's file.
func Merge(r *xds.Resources, text []byte, o Options) (*Merged, error) {
	own, err := r.ConnectionManager()
	if err != nil {
		return nil, err
	}
	m := &merger{options: o, own: own}
	if m.ownTree, err = ofMessage(own); err != nil {
		return nil, err
	}
	if m.root, err = parse(text); err != nil {
		return nil, err
	}
	if m.manager, err = findManager(m.root, o.Listener); err != nil {
		return nil, err
	}
	for _, step := range []func(*xds.Resources) error{
		m.listener, m.settings, m.filters, m.hosts, m.resources, m.statistics, m.runtime, m.strangers,
	} {
		if err := step(r); err != nil {
			return nil, err
		}
	}
	return &m.Merged, nil
}

// put records a piece.
func (m *merger) put(at, how string, value any) {
	m.pieces = append(m.pieces, piece{at, how, toYAML(value)})
}

func (m *merger) note(format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
}

// listener raises the limit of what the listener holds.
func (m *merger) listener(r *xds.Resources) error {
	const name = "per_connection_buffer_limit_bytes"
	want := r.Listeners[0].GetPerConnectionBufferLimitBytes().GetValue()
	if have, ok := number(m.manager.listener.get(name)); ok && have >= uint64(want) {
		return nil
	}
	m.manager.listener.set(name, uint64(want))
	m.put(m.manager.listenerAt, "set", of(name, uint64(want)))
	return nil
}

// filters puts the filter, and others that its routes need, before the router.
func (m *merger) filters(*xds.Resources) error {
	const name = "http_filters"
	filters, err := m.manager.object.list(m.manager.at, name)
	if err != nil {
		return err
	}
	at, last := join(m.manager.at, name), len(filters)-1
	var names []string
	for i, f := range filters {
		typed, err := f.object(fmt.Sprintf("%s[%d]", at, i), "typed_config")
		if err != nil {
			return err
		}
		if f.text("name") == xds.FilterName || isOwn(typed) {
			return fmt.Errorf("%s[%d]: the filter is there already; take the old pieces out first", at, i)
		}
		if router := typed != nil && typed.isType("Router"); router != (i == last) {
			return fmt.Errorf("%s[%d]: the last filter must be the router, and no other", at, i)
		}
		names = append(names, f.text("name"))
	}
	if last < 0 {
		return fmt.Errorf("%s: they are not there", at)
	}
	var first, before []any
	own, err := m.ownTree.list("", name)
	if err != nil {
		return err
	}
	for _, f := range own {
		switch name := f.text("name"); {
		case !m.needed(name) || slices.Contains(names, name):
		case name == corsFilter:
			first = append(first, f)
		default:
			before = append(before, f)
		}
	}
	m.manager.object.insert(name, last, before...)
	m.manager.object.insert(name, 0, first...)
	if first != nil {
		m.put(at, "add before all others", first)
	}
	m.put(at, "add before the last one, "+names[last], before)
	if last > 0 {
		m.note("%s: before the filter there are %s. They see what clients send, and answers as clients get them. What "+
			"limits or changes bodies there does so for the models too.", at, strings.Join(names[:last], ", "))
	}
	return nil
}

// isOwn reports whether a filter's configuration is for this project's filter, under whatever name.
func isOwn(typed *object) bool {
	if typed == nil || !typed.isType("Wasm") {
		return false
	}
	config, _ := typed.get("config").(*object)
	return config != nil && config.text("root_id") == xds.FilterName
}

// corsFilter is named in the configuration of hosts.
const corsFilter = "envoy.filters.http.cors"

// needed reports whether the filter of this name has something to do on the routes of the models.
func (m *merger) needed(name string) bool {
	if name == xds.FilterName {
		return true
	}
	host := m.own.GetRouteConfig().GetVirtualHosts()[0]
	if _, ok := host.GetTypedPerFilterConfig()[name]; ok {
		return true
	}
	for _, r := range host.GetRoutes() {
		_, ok := r.GetTypedPerFilterConfig()[name]
		if ok && name != xds.HealthFilter || name == xds.AffinityFilter && len(r.GetRoute().GetHashPolicy()) > 0 {
			return true
		}
	}
	return false
}

// WritePieces writes the pieces, each as a document of YAML after a comment with its place.
func (m *Merged) WritePieces(w io.Writer, comment string) error {
	var out strings.Builder
	m.comment(&out, comment)
	for i, p := range m.pieces {
		text, err := marshal(p.value)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "---\n# %d. %s: %s\n%s", i+1, p.at, p.how, text)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// WriteFile writes the whole file, with the pieces in their places.
func (m *Merged) WriteFile(w io.Writer, comment string) error {
	var out strings.Builder
	m.comment(&out, comment)
	text, err := marshal(toYAML(m.root))
	if err != nil {
		return err
	}
	out.Write(text)
	_, err = io.WriteString(w, out.String())
	return err
}

func (m *Merged) comment(out *strings.Builder, comment string) {
	for line := range strings.Lines(comment) {
		out.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	for _, note := range m.Notes {
		out.WriteString("#\n# " + note + "\n")
	}
}

// marshal writes YAML, and checks that it reads as the same.
func marshal(value any) ([]byte, error) {
	text, err := mesh.Marshal(value)
	if err != nil {
		return nil, err
	}
	var again any
	err = yaml.UnmarshalWithOptions(text, &again, yaml.UseOrderedMap())
	if err != nil || !reflect.DeepEqual(toYAML(fromYAML(again)), value) {
		return nil, errors.New("the file has a value that cannot be written again, such as .nan; leave --merge out and put the " +
			"pieces in their places")
	}
	return text, nil
}

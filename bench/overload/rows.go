package main

import (
	"fmt"
	"strings"

	"github.com/harmonyedge/harmonyedge/bench/stand"
	"github.com/harmonyedge/harmonyedge/bench/workload"
	"github.com/harmonyedge/harmonyedge/controlplane/picker"
)

const (
	model = "gpt-oss-120b"
	// clientHeader has the name of a request's client.
	clientHeader = "x-client"
)

// row is a way to treat what is too much.
type row struct {
	name string
	// about is what the page says of it.
	about string
	// note is what the page says behind the table, in lines.
	note string
	// alone leaves out the noisy client and the burst.
	alone bool
	// pool is the settings of the pool, in which {picker} is the picker's address.
	pool string
	// classes reports whether clients have classes.
	classes bool
	picker  bool
	// peer sets what starts another program: one between Envoy and the servers, or a picker.
	peer func(*bench, *stand.Options) error
	// kind is the servers' kind, if it is not the pool's default.
	kind string
	// headers returns the headers of a request. Nil: the client's name.
	headers func(*workload.Conversation) map[string]string
}

// The names of rows that the report compares.
const (
	today    = "no queue"
	least    = "least request"
	fair     = "fair queue"
	classed  = "fair queue, classes"
	alone    = "without the noisy"
	fifo     = "one client's queue"
	settings = "policy: picker\n    picker: { url: http://{picker}, timeout: 2s }\n    capacity: %d"
)

// all returns all rows.
func (b *bench) all() []row {
	o := &b.options
	picked := fmt.Sprintf(settings, o.capacity)
	queued := picked + fmt.Sprintf("\n    queue: { max_requests: 2000, deadline: %v }", o.deadline)
	rows := []row{
		{name: alone, about: "The quiet clients only, with the fair queue: the reference", alone: true, pool: queued,
			picker: true},
		{name: today, about: "`capacity` without a queue: what is too much gets 429 at once", pool: picked, picker: true},
		{name: least, about: "`policy: least_request` without `capacity`: the servers queue", pool: "policy: least_request"},
		{name: fifo, about: "`queue`, but clients are not told apart: first come, first served", pool: queued, picker: true,
			headers: func(*workload.Conversation) map[string]string { return nil }},
		{name: fair, about: "`queue`: fair by client", pool: queued, picker: true},
		{name: classed, about: "`queue`, with the noisy client and the burst in a class that goes last", pool: queued,
			picker: true, classes: true},
	}
	return append(rows, b.peers()...)
}

// options returns what is started for a row.
func (b *bench) stand(r *row) (stand.Options, error) {
	s := stand.Options{Servers: b.options.servers, Server: b.options.server,
		Files: map[string]string{"keys.yaml": b.keys(r)},
		Configuration: func(servers []string, picker string) (string, error) {
			return b.configuration(r, servers, picker), nil
		}}
	if r.picker {
		s.Picker = &picker.Options{BlocksPerServer: b.options.server.CacheBlocks - 1}
	}
	if r.peer != nil {
		return s, r.peer(b, &s)
	}
	return s, nil
}

func (b *bench) configuration(r *row, servers []string, picker string) string {
	kind, classes := "", ""
	if r.kind != "" {
		kind = "\n    kind: " + r.kind
	}
	if r.classes {
		classes = "\n  classes: [{ name: interactive }, { name: batch }]"
	}
	log := ""
	if b.options.log != "" {
		log = "access_log: " + b.options.log + "\n"
	}
	return log + fmt.Sprintf(`clients:
  header: %s
  required: false
  keys_file: "{folder}/keys.yaml"%s
models:
  - name: %s
    pool: pool
    context_length: 131072
    system: { date: "%s" }
pools:
  - name: pool%s
    servers: [%s]
    health: { path: none }
    %s
`, clientHeader, classes, model, workload.Date, kind, strings.Join(servers, ", "),
		strings.ReplaceAll(r.pool, "{picker}", picker))
}

// keys returns the keys file of a row.
func (b *bench) keys(r *row) string {
	var out strings.Builder
	out.WriteString("clients:\n")
	for _, c := range b.clients() {
		class := ""
		if r.classes {
			class = ", class: " + classOf(c.group)
		}
		fmt.Fprintf(&out, "  - { name: %s%s }\n", c.name, class)
	}
	return out.String()
}

// classOf returns the class of a group's clients.
func classOf(group string) string {
	if quiet(group) {
		return "interactive"
	}
	return "batch"
}

func quiet(group string) bool { return group == workload.Agents || group == workload.Chats }

// headersOf returns the headers of a request of a client.
func (r *row) headersOf(c *workload.Conversation) map[string]string {
	if r.headers != nil {
		return r.headers(c)
	}
	return map[string]string{clientHeader: c.Client}
}

//go:build e2e

package rules

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"golang.org/x/tools/txtar"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
)

// rule is one file of rules/: something that a host does, found out on Envoy by the probe (e2e/probe). The file is a
// txtar archive whose comment says the rule and what follows from it for a filter, with the members
//
//	settings      lines KEY VALUE, see set
//	plugin        the plugin's configuration, a script of the probe
//	request       a client's request, see message; several are "request a", "request b". The next begins when the last
//	              has ended, or says "@after EVENT"; "@pause MS" lets a timer of the host run out before
//	server        what the server answers; "server a" for the request a. Without it, 200 with the body "hello"
//	callout       what the server answers to a callout
//	seen          what every side has seen of each request, written by -update from Envoy
//	seen wazero   the same on the wazero host, written by -update; only where it differs, and then the setting wazero
//	              names the capabilities that the host lacks
type rule struct {
	name     string
	path     string
	archive  *txtar.Archive
	requests []*message
	servers  map[string]*message // by request, "" for all, "callout" for callouts
	setup    hosts.ProbeSetup
	// client is h1 or h2, and lost are the requests that the probe sees no end of.
	client string
	lost   []string
	// lacks are the capabilities that make the rule another on the wazero host, and notThere are requests that cannot be
	// made there for lack of one.
	lacks, notThere []string
	// fresh wants a host of its own, plugin shows what the probe says of no request, and refused wants the host not to
	// start at all.
	fresh, plugin, refused bool
}

// message is what one side sends: a first line (METHOD PATH, or a status, or none), lines @DIRECTIVE, headers, an empty
// line and the body. The body is cut by lines that begin with ~ :
//
//	~ data [after EVENT]         what follows is sent by itself, when the event has come
//	~ end [after EVENT]          the end of the stream is sent by itself
//	~ trailers [after EVENT]     trailers follow, one a line
//	~ reset|close [after EVENT]  the stream is torn down (HTTP/2: RST_STREAM; HTTP/1.1: TCP reset or end)
//	~ hang                       nothing more is sent, until the other side gives up
//
// A body C*N alone on its line is N times that character. An EVENT is a callback that the probe has logged of the same
// request, or client-headers, client-body, client-end, server-request, server-body, server-gone; "b:respb2" is the
// request b's.
type message struct {
	id, first string
	after     string
	pause     time.Duration
	// early answers before the request has been read; informational goes before the answer.
	early         bool
	informational []string
	header        [][2]string
	parts         []part
}

type part struct {
	kind, after, text string
	trailers          [][2]string
}

func (m *message) get(name string) string {
	for _, h := range m.header {
		if h[0] == name {
			return h[1]
		}
	}
	return ""
}

// loadRules reads every rule. Finding none is a failure.
func loadRules(t *testing.T) []*rule {
	t.Helper()
	paths, err := filepath.Glob("*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no rules found: %v", err)
	}
	var rules []*rule
	for _, path := range paths {
		r, err := loadRule(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		rules = append(rules, r)
	}
	return rules
}

func loadRule(path string) (*rule, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	r := &rule{
		name: strings.TrimSuffix(filepath.Base(path), ".txtar"), path: path, archive: archive,
		servers: map[string]*message{}, client: "h1",
		setup: hosts.ProbeSetup{
			Script: "configure: tick-period 10", Failure: wasmv3.FailurePolicy_FAIL_RELOAD,
			ReloadInterval: 10 * time.Millisecond, IdleTimeout: 20 * time.Second,
		},
	}
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		return nil, fmt.Errorf("no comment says the rule")
	}
	for _, f := range archive.Files {
		kind, id, _ := strings.Cut(f.Name, " ")
		text := string(f.Data)
		var err error
		switch kind {
		case "settings":
			for line := range strings.Lines(text) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
				if err = r.set(key, value); err != nil {
					break
				}
			}
		case "plugin":
			r.setup.Script = strings.TrimSpace(text)
		case "request":
			if id == "" {
				id = "a"
			}
			var m *message
			m, err = readMessage(id, text)
			r.requests = append(r.requests, m)
		case "server":
			r.servers[id], err = readMessage(id, text)
		case "callout":
			r.servers["callout"], err = readMessage(id, text)
		case "seen":
			if id != "" && id != "wazero" {
				err = fmt.Errorf("unknown host")
			}
		default:
			err = fmt.Errorf("unknown member")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if len(r.requests) == 0 && !r.refused {
		return nil, fmt.Errorf("no request")
	}
	return r, nil
}

// set reads one setting.
func (r *rule) set(key, value string) error {
	number, err := strconv.Atoi(value)
	millis := time.Duration(number) * time.Millisecond
	switch key {
	case "buffer_limit":
		r.setup.BufferLimit = uint32(number)
	case "cluster_limit":
		r.setup.ClusterLimit = uint32(number)
	case "route_limit":
		r.setup.RouteLimit = uint32(number)
	case "window":
		r.setup.Window = uint32(number)
	case "stream_idle_timeout_ms":
		r.setup.IdleTimeout = millis
	case "route_timeout_ms":
		r.setup.RouteTimeout = millis
	case "request_timeout_ms":
		r.setup.RequestTimeout = millis
	case "max_stream_duration_ms":
		r.setup.MaxDuration = millis
	case "per_try_idle_timeout_ms":
		r.setup.TryIdleTimeout = millis
	case "reload_interval_ms":
		r.setup.ReloadInterval = millis
	case "lost":
		r.lost, err = strings.Fields(value), nil
		return err
	case "wazero":
		r.lacks, err = strings.Fields(value), nil
		return err
	case "not_on_wazero":
		r.notThere, err = strings.Fields(value), nil
		return err
	default:
		choices := map[string]func(){
			"knob on": func() {}, "knob off": func() { r.setup.NoKnob = true },
			"edge on":      func() { r.setup.Edge = true },
			"websocket on": func() { r.setup.WebSocket = true },
			"client h1":    func() {}, "client h2": func() { r.client = "h2" },
			"server h1": func() {}, "server h2": func() { r.setup.ServerHTTP2 = true },
			"failure_policy reload": func() {},
			"failure_policy closed": func() { r.setup.Failure = wasmv3.FailurePolicy_FAIL_CLOSED },
			"failure_policy open":   func() { r.setup.Failure = wasmv3.FailurePolicy_FAIL_OPEN },
			"fresh on":              func() { r.fresh = true },
			"plugin on":             func() { r.plugin = true },
			"refused on":            func() { r.refused, r.fresh = true, true },
		}
		choose, ok := choices[key+" "+value]
		if !ok {
			return fmt.Errorf("unknown setting %s %s", key, value)
		}
		choose()
		return nil
	}
	return err
}

var (
	marker   = regexp.MustCompile(`(?m)^~ (data|end|trailers|reset|close|hang)(?: after (\S+))?\n`)
	repeated = regexp.MustCompile(`^(.)\*(\d+)$`)
)

func readMessage(id, text string) (*message, error) {
	m := &message{id: id}
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	m.first = lines[0]
	for _, line := range lines[1:] {
		directive, value, _ := strings.Cut(line, " ")
		switch {
		case directive == "@after":
			m.after = value
		case directive == "@pause":
			ms, err := strconv.Atoi(value)
			if err != nil {
				return nil, err
			}
			m.pause = time.Duration(ms) * time.Millisecond
		case line == "@early":
			m.early = true
		case directive == "@informational":
			m.informational = append(m.informational, value)
		case strings.HasPrefix(line, "@"):
			return nil, fmt.Errorf("unknown directive %s", line)
		default:
			pair, err := headerLine(line)
			if err != nil {
				return nil, err
			}
			m.header = append(m.header, pair)
		}
	}
	places := marker.FindAllStringSubmatchIndex(body, -1)
	rest := body
	if len(places) > 0 {
		rest = body[:places[0][0]]
	}
	if rest != "" {
		m.parts = append(m.parts, part{kind: "data", text: bodyText(rest)})
	}
	for i, p := range places {
		end := len(body)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		next := part{kind: body[p[2]:p[3]], text: bodyText(body[p[1]:end])}
		if p[4] >= 0 {
			next.after = body[p[4]:p[5]]
		}
		if next.kind == "trailers" {
			for line := range strings.Lines(next.text) {
				pair, err := headerLine(strings.TrimSpace(line))
				if err != nil {
					return nil, err
				}
				next.trailers = append(next.trailers, pair)
			}
		}
		m.parts = append(m.parts, next)
	}
	return m, nil
}

// headerLine reads NAME: VALUE; a name may begin with a colon. A value C*N is repeated.
func headerLine(line string) ([2]string, error) {
	at := strings.Index(strings.TrimPrefix(line, ":"), ": ")
	if at < 0 {
		return [2]string{}, fmt.Errorf("not a header: %q", line)
	}
	at += len(line) - len(strings.TrimPrefix(line, ":"))
	return [2]string{line[:at], bodyText(line[at+2:])}, nil
}

func bodyText(text string) string {
	text = strings.TrimSuffix(text, "\n")
	if m := repeated.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], n)
	}
	return text
}

// The members that say what was seen.
const (
	seenOnEnvoy  = "seen"
	seenOnWazero = "seen wazero"
)

// want is what was seen when the rule was recorded; empty if the rule does not say.
func (r *rule) want(member string) string {
	for _, f := range r.archive.Files {
		if f.Name == member {
			return string(f.Data)
		}
	}
	return ""
}

// record writes what was seen into the rule's file, or takes the member out.
func (r *rule) record(member, seen string) error {
	r.archive.Files = slices.DeleteFunc(r.archive.Files, func(f txtar.File) bool { return f.Name == member })
	if seen != "" {
		r.archive.Files = append(r.archive.Files, txtar.File{Name: member, Data: []byte(seen)})
	}
	return os.WriteFile(r.path, txtar.Format(r.archive), 0o644)
}

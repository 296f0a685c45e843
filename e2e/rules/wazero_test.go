//go:build e2e

package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// wazeroLacks are what Envoy has and the wazero host lacks, by the names that rules give in their setting wazero. The
// list is closed: a rule that differs for another reason has found a mistake. The first five and empty-bodies are
// net/http's, which is on both sides of the host in this process. A caller of wasmhost alone has them.
var wazeroLacks = map[string]string{
	"request-trailers":  "net/http hides the trailers of an HTTP/2 request that did not announce them, and sends none on",
	"wrong-lengths":     "net/http holds a message to its content-length; Envoy sends what contradicts it",
	"malformed-http":    "net/http writes no header, status or host that is not well formed; Envoy writes some",
	"client-reset":      "net/http does not tell a stream taken back from a connection that is gone",
	"undeclared-ends":   "net/http tells the end of a body after its last piece, and a client's leaving before it",
	"spare-vms":         "Envoy starts the plugin twice more than it has workers: to try it, and to copy it",
	"foreign-functions": "only clear_route_cache is built in, and what whoever runs the host adds",
	"time-limits":       "of the time limits there are a stream's idle timeout, a request's and a route's",
	"empty-bodies":      "net/http sends no content-length of a request without a body but for POST, PUT and PATCH",
	"act-after-reply":   "a resume behind a reply does nothing; Envoy sends the held request to the server for nothing",
}

// ruleEndWait is longer than an end takes that comes with the last piece, and shorter than any rule waits.
const ruleEndWait = 3 * time.Millisecond

// startRuleWazero serves the rules' resources in this process.
func startRuleWazero(r *xds.Resources, log func(line string)) (*ruleHost, error) {
	host, err := hosts.WazeroWith(r, inprocess.Options{
		Workers: 1, EndWait: ruleEndWait, Log: func(level wasmhost.Level, text string) {
			log(fmt.Sprintf("[%s] wasm: %s", level, text))
		}})
	if err != nil {
		return nil, err
	}
	return &ruleHost{address: strings.TrimPrefix(host.URL, "http://"), stop: host.Stop}, nil
}

// wazeroTries is how often a rule may be tried. Both sides of net/http run in goroutines of their own, so on a busy
// machine a request that is taken back at once may not have been sent yet, and a client that leaves may overtake its
// last words; Envoy's worker does one thing after the other. A breach of the rules fails every time.
const wazeroTries = 10

func checkOnWazero(t *testing.T, s *ruleStage, r *rule) {
	envoys := unordered(without(r.want(seenOnEnvoy), r.notThere))
	want := r.want(seenOnWazero)
	for _, name := range r.lacks {
		if wazeroLacks[name] == "" {
			t.Errorf("the setting wazero names %s, which is not in the list", name)
		}
	}
	if !*lab.Update {
		switch {
		case want == "" && len(r.lacks) > 0 && len(r.notThere) == 0:
			t.Errorf("the setting wazero names %v, and nothing differs", r.lacks)
		case (want != "" || len(r.notThere) > 0) && len(r.lacks) == 0:
			t.Error("it differs on wazero, and no setting wazero says for lack of what")
		case want != "" && want == envoys:
			t.Errorf("the member %q says the same as %q", seenOnWazero, seenOnEnvoy)
		}
	}
	if want == "" {
		want = envoys
	}
	var seen string
	for try := range wazeroTries {
		var err error
		if try > 0 && r.fresh {
			if s, err = newRuleStage(t, r.setup, startRuleWazero); err != nil {
				t.Fatal(err)
			}
		}
		if seen, err = seeOnWazero(s, r); err != nil {
			t.Errorf("%v\nseen:\n%s", err, seen)
			return
		}
		if *lab.Update || seen == want {
			break
		}
		t.Logf("try %d differs: got\n%s\nwant\n%s", try+1, seen, want)
	}
	switch {
	case *lab.Update && seen == envoys:
		seen = ""
		fallthrough
	case *lab.Update:
		if err := r.record(seenOnWazero, seen); err != nil {
			t.Error(err)
		}
	case seen != want:
		t.Errorf("got\n%s\nwant\n%s", seen, want)
	}
}

// seeOnWazero makes the requests that can be made there.
func seeOnWazero(s *ruleStage, r *rule) (string, error) {
	var requests []*message
	for _, m := range r.requests {
		if !slices.Contains(r.notThere, m.id) {
			requests = append(requests, m)
		}
	}
	seen, err := s.run(r, requests)
	return unordered(seen), err
}

// without takes the parts about some requests out.
func without(seen string, ids []string) string {
	var out strings.Builder
	drop := false
	for line := range strings.Lines(seen) {
		if id, ok := strings.CutPrefix(line, "# "); ok {
			drop = slices.Contains(ids, strings.TrimSpace(id))
		}
		if !drop {
			out.WriteString(line)
		}
	}
	return out.String()
}

var seenHeader = regexp.MustCompile(`^  [a-z][-a-zA-Z0-9]*: `)

// unordered puts headers into the order of their names: net/http does not keep another.
func unordered(seen string) string {
	var out strings.Builder
	var headers []string
	flush := func() {
		slices.Sort(headers)
		out.WriteString(strings.Join(headers, ""))
		headers = headers[:0]
	}
	for line := range strings.Lines(seen) {
		if seenHeader.MatchString(line) {
			headers = append(headers, line)
			continue
		}
		flush()
		if first, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " | "); ok {
			pairs := strings.Split(rest, " | ")
			slices.Sort(pairs)
			line = first + " | " + strings.Join(pairs, " | ") + "\n"
		}
		out.WriteString(line)
	}
	flush()
	return out.String()
}

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/stats"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Tapped variants pass through these: our filter with a recorder, by what is tapped.
const (
	tapUnused     = "tap " + contract.TapNone
	tapSummary    = "tap " + contract.TapSummary
	tapEverything = "tap " + contract.TapEverything
)

// tapVariants are [ours] with a recorder. They are compared with it too.
func tapVariants() []*variant {
	const vllm = contract.VLLM
	var all []*variant
	for _, through := range []string{tapUnused, tapSummary, tapEverything} {
		all = append(all, &variant{"chat " + through, vllm, chat, false, through},
			&variant{"responses " + through, vllm, responses, false, through})
	}
	return all
}

// isOurs reports whether a gateway has our filter.
func isOurs(through string) bool {
	return through == ours || through == besides || strings.HasPrefix(through, "tap ")
}

// recorder takes what is tapped, and counts it.
type recorder struct {
	url           string
	server        *http.Server
	calls, frames atomic.Int64
}

// startRecorder starts a recorder, and sets its key in the environment that Envoys inherit.
func startRecorder() (*recorder, error) {
	if err := os.Setenv(contract.TapKeyVariable, "a key of this benchmark"); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &recorder{url: "http://" + l.Addr().String()}
	r.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, q *http.Request) {
			n, _ := io.Copy(io.Discard, q.Body)
			r.calls.Add(1)
			r.frames.Add(n)
		})}
	go func() { _ = r.server.Serve(l) }()
	return r, nil
}

// setTap adds the recorder to the configuration of a gateway of this name.
func (r *recorder) setTap(c *config.Config, name string) {
	if all, ok := strings.CutPrefix(name, "tap "); ok {
		c.Tap = config.Tap{URL: r.url, All: all}
	}
}

// writeTapped writes how our filter with a recorder compares with the same one without.
func (b *bench) writeTapped(out io.Writer) {
	var rows [][]string
	for _, r := range b.results {
		for _, api := range []string{"chat", "responses"} {
			for _, through := range []string{tapUnused, tapSummary, tapEverything} {
				for _, m := range []metric{cpu, delay50, firstByte, resident} {
					if figures := r.compare(m, api+" "+through, api, false); len(figures) > 0 {
						rows = append(rows, []string{r.load.name, api, strings.TrimPrefix(through, "tap "), string(m),
							stats.Of(figures).Show(false)})
					}
				}
			}
		}
	}
	if len(rows) > 0 {
		fmt.Fprint(out, "## With a recorder ÷ without\n\n")
		lab.WriteTable(out, []string{"load", "API", "tapped", "figure", "ratio"}, rows)
		calls := b.gateways.recorder.calls.Load()
		fmt.Fprintf(out, "The recorder got %d calls of %.0f bytes on average.\n\n", calls,
			float64(b.gateways.recorder.frames.Load())/float64(max(calls, 1)))
	}
}

// tapPage returns a page of documentation with the tables.
func tapPage(tables string) string {
	return fmt.Sprintf("# What the tap costs\n\n"+
		"`make bench-tap` has written this page. It ran on %s, %s. Envoy had one worker, and\n"+
		"the recorder, which throws everything away, ran on the same machine. `none` is Envoy without the filter, and\n"+
		"`tap none` the filter with a recorder that nothing is tapped for. Every figure is the median of the rounds. In\n"+
		"brackets is the interval that has the median with a probability of 90 %%. Without the machine's noise:\n"+
		"[instructions](instructions.md).\n\n%s",
		time.Now().UTC().Format(time.DateOnly), lab.Machine(), strings.TrimSuffix(tables, "\n"))
}

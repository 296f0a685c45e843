package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// listInterval is how often the metrics are read while a servers file changes. With many servers it is work to answer.
const listInterval = 300 * time.Millisecond

// measureList measures what a change of one line of a servers file takes, and its parts, which the control plane's log
// shows. The Envoys reach all servers.
func measureList(o options) ([]row, error) {
	port, stop, err := acceptConnections()
	if err != nil {
		return nil, err
	}
	defer stop()
	folder, err := os.MkdirTemp("", "harmony-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "servers.yaml")
	if err := os.WriteFile(file, []byte(serversFile(o.lines, port, 0)), 0o600); err != nil {
		return nil, err
	}
	p, err := startPlane(&world{models: 1, list: file}, listInterval, o.workers)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	var all, reads, pools, builds, pushes []time.Duration
	for round := range o.rounds {
		began, push, whole, err := p.change(func() error { return p.replace(file, serversFile(o.lines, port, round+1)) })
		if err != nil {
			return nil, err
		}
		log := p.said.String()
		read, known := firstSaid(log, "a file has been read again", began), firstSaid(log, "a pool's servers have changed", began)
		if read.IsZero() || known.IsZero() {
			return nil, fmt.Errorf("the log does not show the change:\n%s", log)
		}
		all, reads, pools = append(all, whole), append(reads, read.Sub(began)), append(pools, known.Sub(read))
		builds, pushes = append(builds, whole-push-known.Sub(began)), append(pushes, push)
	}
	heap, resident, err := p.memory()
	return []row{
		milliseconds("two Envoys started until both have all of it", p.joined),
		milliseconds("a line changes: file written until both have it", median(all)),
		milliseconds("    until the file is read, of which 15 ms for its writer to end", median(reads)),
		milliseconds("    until the pool has its servers", median(pools)),
		milliseconds("    until their resources are built", median(builds)),
		milliseconds("    until they are checked, sent, and both have them", median(pushes)),
		{what: "memory: heap in use, after all that", unit: "MiB", values: [2]float64{heap}},
		{what: "memory: resident", unit: "MiB", values: [2]float64{resident}},
	}, err
}

// serversFile returns a file of so many servers, one of which moves from round to round. All are loopback
// addresses.
func serversFile(lines, port, round int) string {
	var text strings.Builder
	for i := range lines {
		n := i
		if i == lines/2 {
			n = lines + round
		}
		fmt.Fprintf(&text, "- http://127.%d.%d.%d:%d\n", 1+n/40_000, n/200%200, n%200+1, port)
	}
	return text.String()
}

// acceptConnections accepts connections to any loopback address, and closes them.
func acceptConnections() (port int, stop func(), err error) {
	listener := net.ListenConfig{Control: loopbackOnly}
	l, err := listener.Listen(context.Background(), "tcp4", "0.0.0.0:0")
	if err != nil {
		return 0, nil, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				_ = c.Close()
			}
		}
	}()
	return l.Addr().(*net.TCPAddr).Port, func() { _ = l.Close() }, nil
}

// firstSaid returns when a log of JSON lines first has a message since a time. It is zero if it has none.
func firstSaid(log, message string, since time.Time) time.Time {
	for line := range strings.Lines(log) {
		var entry struct {
			Time time.Time `json:"time"`
			Msg  string    `json:"msg"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == message && !entry.Time.Before(since) {
			return entry.Time
		}
	}
	return time.Time{}
}

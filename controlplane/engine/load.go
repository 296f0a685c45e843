package engine

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Load is what a server tells of its load. A number that it does not tell is negative.
type Load struct {
	Running, Waiting int
	// Cache is the part of the KV cache that is used, from 0 to 1.
	Cache float64
	// Preemptions, Queries and Hits are what [Gauges] says. They are counted since the server's start.
	Preemptions, Queries, Hits float64
	// QueueTime is how many seconds all of Queued requests have waited together.
	QueueTime, Queued float64
	// FirstToken is how many seconds the first tokens of all of FirstTokens requests took together.
	FirstToken, FirstTokens float64
}

// Known reports whether the server tells how many requests it has.
func (l *Load) Known() bool { return l.Running >= 0 || l.Waiting >= 0 }

func noLoad() Load {
	return Load{Running: -1, Waiting: -1, Cache: -1, Preemptions: -1, Queries: -1, Hits: -1, QueueTime: -1, Queued: -1,
		FirstToken: -1, FirstTokens: -1}
}

// Read reads a program's load out of its metrics. A server has a series for each of its engines: requests are added up,
// and the fullest cache counts.
func (g *Gauges) Read(metrics []byte) Load {
	l := noLoad()
	for line := range bytes.Lines(metrics) {
		g.add(&l, line)
	}
	return l
}

// longestLine is the longest line of metrics that is read. Others are skipped.
const longestLine = 16 << 10

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, longestLine) }}

// ReadPage reads a program's load as [Gauges.Read] does, out of metrics that are never in memory as a whole.
func (g *Gauges) ReadPage(metrics io.Reader) (Load, error) {
	l := noLoad()
	r := readers.Get().(*bufio.Reader)
	defer readers.Put(r)
	r.Reset(metrics)
	defer r.Reset(nil)
	for rest := false; ; { // rest reports whether what is read next is the rest of a long line
		line, err := r.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if !rest && !long {
			g.add(&l, line)
		}
		rest = long
		switch {
		case errors.Is(err, io.EOF):
			return l, nil
		case err != nil && !long:
			return l, err
		}
	}
}

// The bounds of values. The bounds of gauges are such as no load has. Counters may count tokens for years.
const (
	maxGauge   = 1e9
	maxCounter = 1e15
)

// add adds a line of metrics to the load.
func (g *Gauges) add(l *Load, line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' {
		return
	}
	if v, ok := value(line, g.Running, "", maxGauge); ok {
		l.Running = max(l.Running, 0) + int(v)
	} else if v, ok = value(line, g.Waiting, "", maxGauge); ok {
		l.Waiting = max(l.Waiting, 0) + int(v)
	} else if v, ok = value(line, g.Cache, "", maxGauge); ok {
		l.Cache = max(l.Cache, v)
	} else if v, ok = value(line, g.Preemptions, "", maxCounter); ok {
		l.Preemptions = max(l.Preemptions, 0) + v
	} else if v, ok = value(line, g.Queries, "", maxCounter); ok {
		l.Queries = max(l.Queries, 0) + v
	} else if v, ok = value(line, g.Hits, "", maxCounter); ok {
		l.Hits = max(l.Hits, 0) + v
	} else if v, ok = value(line, g.QueueTime, "_sum", maxCounter); ok {
		l.QueueTime = max(l.QueueTime, 0) + v
	} else if v, ok = value(line, g.QueueTime, "_count", maxCounter); ok {
		l.Queued = max(l.Queued, 0) + v
	} else if v, ok = value(line, g.FirstToken, "_sum", maxCounter); ok {
		l.FirstToken = max(l.FirstToken, 0) + v
	} else if v, ok = value(line, g.FirstToken, "_count", maxCounter); ok {
		l.FirstTokens = max(l.FirstTokens, 0) + v
	}
}

// value reads a line such as name{a="b"} 1.0 in Prometheus' text format. ok is false for lines of another name, and for
// values below 0 or beyond limit. Labels may have spaces and braces in their values.
func value(line []byte, name, suffix string, limit float64) (v float64, ok bool) {
	if name == "" || !bytes.HasPrefix(line, []byte(name)) {
		return 0, false
	}
	rest := line[len(name):]
	if !bytes.HasPrefix(rest, []byte(suffix)) {
		return 0, false
	}
	rest = rest[len(suffix):]
	switch {
	case len(rest) == 0:
		return 0, false
	case rest[0] == '{':
		labels := string(rest[:bytes.LastIndexByte(rest, '}')+1])
		if hasOther(labels, "priority", "") || hasOther(labels, "tp_rank", "0") {
			return 0, false
		}
		rest = rest[len(labels):]
	case rest[0] != ' ':
		return 0, false // a longer name
	}
	fields := bytes.Fields(rest) // a time may follow the value
	if len(fields) == 0 {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(fields[0]), 64)
	return v, err == nil && v >= 0 && v < limit
}

// hasOther reports whether a label is there with another value than this one. SGLang repeats a number that it has
// already told: for each priority, beside the sum with an empty one, and for each part of a tensor-parallel engine.
func hasOther(labels, name, value string) bool {
	_, rest, ok := strings.Cut(labels, name+`="`)
	return ok && !strings.HasPrefix(rest, value+`"`)
}

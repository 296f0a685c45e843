package engine

import (
	"bytes"
	"strconv"
	"strings"
)

// Load is what a server tells of its load. A number that it does not tell is negative.
type Load struct {
	Running, Waiting int
	// Cache is the part of the KV cache that is used, from 0 to 1.
	Cache float64
}

// Read reads a program's load out of its metrics. A server has a series for each of its engines: requests are added up,
// and the fullest cache counts.
func (g *Gauges) Read(metrics []byte) Load {
	l := Load{Running: -1, Waiting: -1, Cache: -1}
	for line := range bytes.Lines(metrics) {
		name, value, ok := sample(string(line))
		switch {
		case !ok:
		case name == g.Running:
			l.Running = max(l.Running, 0) + int(value)
		case name == g.Waiting:
			l.Waiting = max(l.Waiting, 0) + int(value)
		case name == g.Cache:
			l.Cache = max(l.Cache, value)
		}
	}
	return l
}

// sample reads a line such as name{a="b"} 1.0 in Prometheus' text format. ok is false for other lines, and for values
// that no gauge of a load has. Labels may have spaces and braces in their values.
func sample(line string) (name string, value float64, ok bool) {
	line = strings.TrimSpace(line)
	end := strings.IndexAny(line, "{ ")
	if end <= 0 || line[0] == '#' {
		return "", 0, false
	}
	name, rest := line[:end], line[end:]
	if rest[0] == '{' {
		labels := rest[:strings.LastIndexByte(rest, '}')+1]
		if hasOther(labels, "priority", "") || hasOther(labels, "tp_rank", "0") {
			return "", 0, false
		}
		rest = rest[len(labels):]
	}
	fields := strings.Fields(rest) // a time may follow the value
	if len(fields) == 0 {
		return "", 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	return name, value, err == nil && value >= 0 && value < 1e9
}

// hasOther reports whether a label is there with another value than this one. SGLang repeats a number that it has
// already told: for each priority, beside the sum with an empty one, and for each part of a tensor-parallel engine.
func hasOther(labels, name, value string) bool {
	_, rest, ok := strings.Cut(labels, name+`="`)
	return ok && !strings.HasPrefix(rest, value+`"`)
}

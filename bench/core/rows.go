package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// row is one kind of work, with the same input for every column.
type row struct {
	group, name string
	// op is the operation. ours, if set, is the operation of our own columns.
	op, ours string
	// first is a worker's first input, which is not measured. warm repeats it before each request.
	first string
	warm  bool
	// files are the inputs of the rounds: either one for all rounds, repeated as often as a request has time for, or one
	// per round, used once.
	files []string
	once  bool
	// units is the number of units of work in the first file: bytes, messages, tokens or conversations.
	units float64
	unit  unit
	// probes are two shorter inputs, the second twice as long as the first. They show which columns take quadratic time.
	probes []string
}

// repeated returns a row with one input for all rounds.
func repeated(group, name, op string, input []string, units float64, u unit) *row {
	return &row{group: group, name: name, op: op, first: input[0], files: input, units: units, unit: u}
}

// fresh returns a row with a new input in each round. The first input is the one that is not measured.
func fresh(group, name, op string, inputs []string, units float64, u unit) *row {
	return &row{group: group, name: name, op: op, first: inputs[0], files: inputs[1:], once: true, units: units, unit: u}
}

// unit is how a row's figure is printed: show converts nanoseconds per unit of work.
type unit struct {
	name string
	show func(ns float64) float64
}

var (
	megabytes    = unit{"MB/s", func(ns float64) float64 { return 1000 / ns }}
	microseconds = unit{"µs", func(ns float64) float64 { return ns / 1000 }}
	nanoseconds  = unit{"ns", func(ns float64) float64 { return ns }}
)

// Names of rows that targets refer to.
const (
	newMessages     = "new messages, " // and the text's name
	prompt          = "a 200-byte prompt"
	conversation3   = "3 messages"
	conversation41  = "41 messages, 10 tools"
	conversation201 = "201 messages, 50 tools"
)

const (
	messageSize = 200
	smallProbe  = 10_000
)

// rows writes the inputs into a folder and returns the rows that use them.
func rows(folder string, all []corpus, rounds int) ([]*row, error) {
	w := writer{folder: folder}
	prose := all[0].text
	var out []*row
	for _, c := range all {
		out = append(out, repeated("encode", c.name, "encode", w.text(c.name, c.text), float64(len(c.text)), megabytes))
	}
	for _, c := range all {
		sets := messages(c.text, messageSize, rounds+1)
		size := len(sets[rounds]) // the smallest set
		var files []string
		for i, set := range sets {
			files = append(files, w.text(fmt.Sprintf("new-%s-%d", c.name, i), strings.Join(set[:size], "\x00"))...)
		}
		r := fresh("encode", newMessages+c.name, "encode", files, float64(size), microseconds)
		r.warm = true
		out = append(out, r)
	}
	out = append(out, repeated("encode", prompt, "encode", w.text("prompt", cut(prose[300_000:], messageSize)), 1,
		microseconds))
	for _, run := range []struct{ name, text string }{
		{"1 MB of 'a'", strings.Repeat("a", corpusSize)},
		{"1 MB of spaces", strings.Repeat(" ", corpusSize)},
		{"1 MB of one Chinese character", strings.Repeat("中", corpusSize/len("中"))},
		{"1 MB of digits", strings.Repeat("0123456789", corpusSize/10)},
		{"1 MB of random letters", letters(corpusSize)},
	} {
		name := strings.ReplaceAll(strings.Trim(strings.TrimPrefix(run.name, "1 MB of "), "'"), " ", "-")
		// Each text is a little shorter than the last, so that a cache of words has not seen it.
		var files, probes []string
		for i := range rounds + 1 {
			files = append(files, w.text(fmt.Sprintf("run-%s-%d", name, i), cut(run.text, corpusSize-10*i))...)
		}
		for _, size := range []int{smallProbe, 2 * smallProbe} {
			probes = append(probes, w.text(fmt.Sprintf("probe-%s-%d", name, size), cut(run.text, size))...)
		}
		r := fresh("encode", run.name, "encode", files, corpusSize, megabytes)
		r.probes = probes
		out = append(out, r)
	}
	for _, c := range []struct {
		name        string
		size, tools int
	}{{conversation3, 3, 0}, {conversation41, 41, 10}, {conversation201, 201, 50}} {
		data, err := conversation(prose, c.size, c.tools)
		if err != nil {
			return nil, err
		}
		out = append(out, repeated("render", c.name, "render", w.text(fmt.Sprintf("conversation-%d", c.size), string(data)),
			1, microseconds))
	}
	ids, count := answer(all)
	stream := w.text("answer", string(ids))
	tolerant := repeated("parse", "tolerant parser", "strict", stream, float64(count), nanoseconds)
	tolerant.ours = "stream"
	out = append(out, repeated("parse", "strict parser", "strict", stream, float64(count), nanoseconds), tolerant)
	return out, w.err
}

// letters returns random lower-case letters without a space, the same ones every time.
func letters(n int) string {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], 5)
	random := rand.NewChaCha8(seed)
	out := make([]byte, n)
	for i := range out {
		out[i] = 'a' + byte(random.Uint64()%26)
	}
	return string(out)
}

// writer writes inputs and keeps the first error.
type writer struct {
	folder string
	err    error
}

func (w *writer) text(name, text string) []string {
	path := filepath.Join(w.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil && w.err == nil {
		w.err = err
	}
	return []string{path}
}

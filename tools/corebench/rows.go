package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// row is one kind of work: the same input for every column.
type row struct {
	group, name string
	// op is the operation; ours, when set, is that of our own columns.
	op, ours string
	// files are the inputs of the rounds; one alone is for all of them.
	files []string
	// warm is worked through once before each turn, outside the measured time.
	warm string
	// units is how many units of work are in the first file: bytes, messages, tokens or conversations.
	units float64
	unit  unit
	// probes are shorter inputs, the second twice the first, which show who is quadratic.
	probes []string
	// once says that an input is new only once.
	once bool
}

// unit is how a row is printed, from nanoseconds for one unit of work.
type unit struct {
	name string
	show func(ns float64) float64
}

var (
	megabytes    = unit{"MB/s", func(ns float64) float64 { return 1000 / ns }}
	microseconds = unit{"µs", func(ns float64) float64 { return ns / 1000 }}
	nanoseconds  = unit{"ns", func(ns float64) float64 { return ns }}
)

const (
	messageSize                                    = 200
	prompt                                         = "a 200-byte prompt"
	smallProbe                                     = 10_000
	conversation3, conversation41, conversation201 = "3 messages", "41 messages, 10 tools", "201 messages, 50 tools"
)

// rows writes the inputs into a folder and returns the rows that use them.
func rows(folder string, all []corpus, rounds int) ([]*row, error) {
	w := writer{folder: folder}
	var out []*row
	for _, c := range all {
		out = append(out, &row{
			group: "encode", name: c.name, op: "encode", files: w.text(c.name, c.text), units: float64(len(c.text)), unit: megabytes,
		})
	}
	for _, c := range all {
		sets := messages(c.text, messageSize, rounds+1)
		r := &row{group: "encode", name: "new messages, " + c.name, op: "encode", unit: microseconds, once: true, units: float64(len(sets[rounds]))}
		for i, set := range sets {
			r.files = append(r.files, w.text(fmt.Sprintf("new-%s-%d", c.name, i), strings.Join(set[:len(sets[rounds])], "\x00"))...)
		}
		r.warm, r.files = r.files[0], r.files[1:]
		out = append(out, r)
	}
	out = append(out, &row{
		group: "encode", name: prompt, op: "encode", unit: microseconds, units: 1,
		files: w.text("prompt", cut(all[0].text[300_000:], messageSize)),
	})
	for _, run := range []struct{ name, text string }{
		{"1 MB of 'a'", strings.Repeat("a", corpusSize)},
		{"1 MB of spaces", strings.Repeat(" ", corpusSize)},
		{"1 MB of one Chinese character", strings.Repeat("中", corpusSize/len("中"))},
		{"1 MB of digits", strings.Repeat("0123456789", corpusSize/10)},
		{"1 MB of random letters", letters(corpusSize)},
	} {
		file := "run-" + strings.ReplaceAll(strings.TrimPrefix(run.name, "1 MB of "), " ", "-")
		r := &row{group: "encode", name: run.name, op: "encode", files: w.text(file, run.text), units: float64(len(run.text)), unit: megabytes}
		for _, size := range []int{smallProbe, 2 * smallProbe} {
			r.probes = append(r.probes, w.text(fmt.Sprintf("%s-%d", file, size), cut(run.text, size))...)
		}
		out = append(out, r)
	}
	for _, c := range []struct {
		name        string
		size, tools int
	}{{conversation3, 3, 0}, {conversation41, 41, 10}, {conversation201, 201, 50}} {
		data, err := conversation(all[0].text, c.size, c.tools)
		if err != nil {
			return nil, err
		}
		out = append(out, &row{group: "render", name: c.name, op: "render", files: w.text("conversation-"+fmt.Sprint(c.size), string(data)), units: 1, unit: microseconds})
	}
	ids, count := answer(all)
	stream := w.text("answer", string(ids))
	out = append(out,
		&row{group: "parse", name: "strict parser", op: "strict", files: stream, units: float64(count), unit: nanoseconds},
		&row{group: "parse", name: "tolerant parser", op: "strict", ours: "stream", files: stream, units: float64(count), unit: nanoseconds})
	return out, w.err
}

// letters is random lower-case letters without a space, the same every time.
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

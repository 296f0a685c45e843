// Command worker is our own native column of `make bench-core`. It does the work of one request for each line of JSON
// and answers with the processor time that it took. The workers of the other columns use the same protocol
// (docs/bench-core.md).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/harmonyedge/harmonyedge/bench/core/ours"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

type request struct {
	Op, File, Warm string
	Repeat         int
}

type reply struct {
	CPU   int64  `json:"cpu"` // nanoseconds
	Count int    `json:"count"`
	Sum   uint32 `json:"sum"`
	Error string `json:"error,omitempty"`
}

type ready struct {
	Start int64 `json:"start"` // processor time from the start of the process to the first id
	Load  int64 `json:"load"`  // from the call that loads the vocabulary to the first id
	RSS   int64 `json:"rss"`   // growth of the process's memory by loading, in bytes
}

func main() {
	before, size := cpu(), resident()
	t := o200k.Tokenizer()
	t.AppendEncode(nil, "a")
	now := cpu()
	send(ready{Start: now, Load: now - before, RSS: resident() - size})

	bench := ours.New(t)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		r, err := handle(bench, lines.Bytes())
		if err != nil {
			r = reply{Error: err.Error()}
		}
		send(r)
	}
}

func handle(bench *ours.Bench, line []byte) (reply, error) {
	var q request
	if err := json.Unmarshal(line, &q); err != nil {
		return reply{}, err
	}
	if q.Warm != "" {
		if err := load(bench, q.Op, q.Warm); err != nil {
			return reply{}, err
		}
		bench.Run()
	}
	if err := load(bench, q.Op, q.File); err != nil {
		return reply{}, err
	}
	before := cpu()
	for range q.Repeat {
		bench.Run()
	}
	r := reply{CPU: cpu() - before}
	var err error
	r.Count, r.Sum, err = bench.Result()
	return r, err
}

func load(bench *ours.Bench, op, file string) error {
	input, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return bench.Load(op, input)
}

func send(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

// cpu returns the processor time of all threads so far, including the kernel's work for them.
func cpu() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// resident returns the resident memory of the process, in bytes.
func resident() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	fields := strings.Fields(string(statm))
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		panic(err)
	}
	return pages * int64(os.Getpagesize())
}

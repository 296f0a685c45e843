package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
	"github.com/harmonyedge/harmonyedge/envoy"
)

func main() {
	var o options
	flag.StringVar(&o.folder, "folder", "build/corebench", "where the inputs are written, and where the workers lie")
	flag.StringVar(&o.python, "python", ".tools/venv/bench/bin/python", "a Python with the peers")
	flag.IntVar(&o.rounds, "rounds", 7, "how often each column takes its turn in a row")
	flag.StringVar(&o.rows, "rows", ".", "a regular expression: measure only these rows")
	flag.StringVar(&o.columns, "columns", ".", "a regular expression: measure only these columns; tiktoken judges")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "core:", err)
		os.Exit(1)
	}
}

type options struct {
	folder, python, rows, columns string
	rounds                        int
}

func run(o options) error {
	onlyRows, err := regexp.Compile(o.rows)
	if err != nil {
		return err
	}
	onlyColumns, err := regexp.Compile(o.columns)
	if err != nil {
		return err
	}
	columns, err := o.all()
	if err != nil {
		return err
	}
	columns = slices.DeleteFunc(columns, func(c column) bool { return !onlyColumns.MatchString(c.name) })
	texts, err := corpora(o.python)
	if err != nil {
		return err
	}
	inputs := filepath.Join(o.folder, "inputs")
	if err := errors.Join(os.RemoveAll(inputs), os.MkdirAll(inputs, 0o755)); err != nil {
		return err
	}
	all, err := rows(inputs, texts, o.rounds)
	if err != nil {
		return err
	}
	var results []result
	var failed error
	start := time.Now()
	for _, r := range all {
		if !onlyRows.MatchString(r.name) {
			continue
		}
		command.Progress("%4.0f s  %s: %s", time.Since(start).Seconds(), r.group, r.name)
		in := columnsOf(r.group, columns)
		cells, err := measure(r, in, o.rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		verdicts := compare(r, cells)
		results = append(results, result{r, cells, verdicts})
		if err := verify(r, in, verdicts); err != nil && failed == nil {
			failed = err
		}
	}
	fmt.Printf("Processor time, median of %d rounds. %s\n", o.rounds, machine())
	for _, c := range texts {
		fmt.Printf("%s: %d bytes, sha256 %.16x…\n", c.name, len(c.text), sha256.Sum256([]byte(c.text)))
	}
	fmt.Println()
	printTables(os.Stdout, columns, results)
	printLoad(os.Stdout, columns, results)
	printTargets(os.Stdout, results)
	return failed
}

// machine describes the machine that the figures were measured on.
func machine() string {
	model := runtime.GOARCH
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		if m := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(info); m != nil {
			model = string(m[1])
		}
	}
	return fmt.Sprintf("%s, %d cores, %s", model, runtime.NumCPU(), runtime.Version())
}

// all returns the columns of all groups, in the order of the tables.
func (o options) all() ([]column, error) {
	program, err := envoy.Find("")
	if err != nil {
		return nil, err
	}
	vocabulary, err := vocabularyFile()
	if err != nil {
		return nil, err
	}
	peers := filepath.Join("bench", "core", "peers.py")
	python := func(name string) func() (worker, error) {
		return func() (worker, error) {
			// Each peer uses one thread, no cache and no network.
			env := []string{"RAYON_NUM_THREADS=1", "TIKTOKEN_CACHE_DIR="}
			return startProcess(env, o.python, peers, name, vocabulary)
		}
	}
	rust := func(name string) func() (worker, error) {
		return func() (worker, error) {
			env := []string{"RAYON_NUM_THREADS=1", "TIKTOKEN_ENCODINGS_BASE=" + filepath.Dir(vocabulary)}
			return startProcess(env, filepath.Join(o.folder, "rust", "release", "corebench-peers"), name)
		}
	}
	encode, messages, everything := []string{"encode"}, []string{"render", "parse"}, []string{"encode", "render", "parse"}
	return []column{
		{native, true, everything, func() (worker, error) { return startProcess(nil, filepath.Join(o.folder, "worker")) }},
		{wasm, true, everything, func() (worker, error) {
			return startEnvoy(program, filepath.Join(o.folder, "corebench.wasm"))
		}},
		{"tiktoken", false, encode, python("tiktoken")},
		{"openai-harmony", false, everything, python("openai-harmony")},
		{referenceRust, false, messages, rust("openai-harmony")},
		{"gigatoken", false, encode, python("gigatoken")},
		{"bpe-openai", false, encode, rust("bpe-openai")},
	}, nil
}

func columnsOf(group string, columns []column) []column {
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return !slices.Contains(c.groups, group) })
}

// Command slowest reads the output of go test -json, prints what failed, and then a table of the tests that took
// longest: go test -json ./... | go run ./tools/slowest -n 30. make slowest runs it over the tests of make test.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	n := flag.Int("n", 30, "rows of the table")
	flag.Parse()
	passed, err := report(os.Stdin, os.Stdout, *n)
	if err != nil {
		fmt.Fprintln(os.Stderr, "slowest:", err)
	}
	if err != nil || !passed {
		os.Exit(1)
	}
}

// event is one line of go test -json (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// result is one finished test. A parallel test's time includes the time in which it waited for its turn.
type result struct {
	name    string
	seconds float64
}

// report copies the output of failed tests from r to w, and writes the n slowest tests, without subtests, and the
// slowest packages. It reports whether all packages passed.
func report(r io.Reader, w io.Writer, n int) (passed bool, err error) {
	passed = true
	var tests, packages []result
	output := map[string][]string{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return false, fmt.Errorf("a line is not an event of go test -json: %.80q", lines.Text())
		}
		top, _, _ := strings.Cut(e.Test, "/")
		key := e.Package + " " + top
		switch e.Action {
		case "output":
			output[key] = append(output[key], e.Output)
		case "pass", "fail", "skip":
			if strings.Contains(e.Test, "/") {
				continue
			}
			if e.Action == "fail" {
				passed = false
				fmt.Fprint(w, strings.Join(output[key], ""))
			}
			delete(output, key)
			if e.Test == "" {
				packages = append(packages, result{e.Package, e.Elapsed})
			} else {
				tests = append(tests, result{key, e.Elapsed})
			}
		}
	}
	if len(packages) == 0 && lines.Err() == nil {
		return false, fmt.Errorf("no package was tested; pipe go test -json into this command")
	}
	table(w, "packages", packages, n)
	table(w, "tests", tests, n)
	return passed, lines.Err()
}

func table(w io.Writer, what string, all []result, n int) {
	total := 0.0
	for _, r := range all {
		total += r.seconds
	}
	slices.SortStableFunc(all, func(a, b result) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintf(w, "\n%d %s, %.0f s together. The slowest:\n", len(all), what, total)
	for _, r := range all[:min(n, len(all))] {
		fmt.Fprintf(w, "%8.1f s  %s\n", r.seconds, strings.TrimPrefix(r.name, "github.com/harmonyedge/harmonyedge/"))
	}
}

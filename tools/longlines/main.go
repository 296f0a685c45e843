// Command longlines counts the lines of the repository's .go and .md files that are longer than 120 columns, and fails
// when their share of all lines is over a limit: go run ./tools/longlines -limit 0.5. make lint runs it.
//
// A tab counts as one column, as in golangci-lint's lll. Generated files are not counted, nor are pages of benchmarks.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"unicode/utf8"
)

// columns is the length up to which a line is not counted.
const columns = 120

// benchPages is where benchmarks write their pages.
const benchPages = "docs/bench/"

// shown is how many files a failure names.
const shown = 20

func main() {
	limit := flag.Float64("limit", 0.5, "largest share of long lines, in percent")
	flag.Parse()
	all, files, err := countFiles()
	if err != nil {
		fmt.Fprintln(os.Stderr, "longlines:", err)
		os.Exit(1)
	}
	long := 0
	for _, f := range files {
		long += f.long
	}
	share := 100 * float64(long) / float64(max(all, 1))
	fmt.Printf("%d of %d lines are longer than %d columns: %.2f %%, limit %.2f %%\n", long, all, columns, share, *limit)
	if share <= *limit {
		return
	}
	for _, f := range files[:min(shown, len(files))] {
		fmt.Printf("%5d %s\n", f.long, f.path)
	}
	os.Exit(1)
}

// file is a file with long lines.
type file struct {
	path string
	long int
}

// countFiles returns the number of all lines, and the files with long lines, those with the most first.
func countFiles() (all int, files []file, err error) {
	paths, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.go",
		"*.md").Output()
	if err != nil {
		return 0, nil, err
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(paths), "\x00"), "\x00") {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not yet committed
		}
		if err != nil {
			return 0, nil, err
		}
		if strings.HasPrefix(path, benchPages) {
			continue
		}
		lines, long := count(text)
		all += lines
		if long > 0 {
			files = append(files, file{path, long})
		}
	}
	slices.SortStableFunc(files, func(a, b file) int { return cmp.Compare(b.long, a.long) })
	return all, files, nil
}

// count returns the number of a text's lines and of its long ones. A generated file has none.
func count(text []byte) (lines, long int) {
	if bytes.HasPrefix(text, []byte("// Code generated ")) {
		return 0, 0
	}
	for line := range bytes.Lines(text) {
		lines++
		if utf8.RuneCount(bytes.TrimRight(line, "\r\n")) > columns {
			long++
		}
	}
	return lines, long
}

// Command rationale writes RATIONALE.md, the index of the entries in docs/rationale:
//
//	go run ./tools/rationale
//
// An entry is a heading "## NUMBER. QUESTION" in one of the chapters. The index has an anchor for each number, so that
// comments can cite RATIONALE.md#19 whichever chapter entry 19 is in. A paragraph "*Read first: REASON.*" below the
// heading lists the entry at the top of the index, for newcomers.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// chapters are the files in docs/rationale, in the order of the index.
var chapters = []string{
	"shape", "edge", "requests", "prompts", "answers", "streams", "memory", "hosts", "controlplane", "work",
	"release", "service", "tools", "conversations", "sight", "routing",
}

const intro = `# Rationale

Why things are as they are, and which options lost. Each entry is one decision: what was decided, why, what was
rejected, and what was measured or shows it. Figures are from Envoy 1.40 on 2 cores unless an entry says otherwise.

The number of an entry never changes. A new entry gets the next number, whichever chapter it is in. The chapters are in
[docs/rationale](docs/rationale); ` + "`make rationale`" + ` writes this page out of them.

## Read these first

A newcomer needs these before the first change. All others can wait until a comment cites them.

`

var (
	titleLine = regexp.MustCompile(`(?m)^# (.+)$`)
	entryLine = regexp.MustCompile(`(?m)^## (\d+)\. (.+)$`)
	anyEntry  = regexp.MustCompile(`(?m)^## .+$`)
	// markedEntry is an entry with its mark, and anyMark is a mark anywhere.
	markedEntry = regexp.MustCompile(`(?m)^## (\d+)\. (.+)\n\n\*Read first: (.+)\.\*\n$`)
	anyMark     = regexp.MustCompile(`(?i)\*read first`)
)

func main() {
	root := flag.String("root", ".", "the root of the checkout")
	flag.Parse()
	page, err := index(*root)
	if err == nil {
		err = os.WriteFile(filepath.Join(*root, "RATIONALE.md"), page, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rationale:", err)
		os.Exit(1)
	}
}

// index returns the text of RATIONALE.md. It is an error if a heading has no number, or one that another heading has.
// Numbers may be missing: changes that are made side by side take theirs from ranges.
func index(root string) ([]byte, error) {
	first, page, links := bytes.NewBufferString(intro), new(bytes.Buffer), new(bytes.Buffer)
	seen := map[int]string{}
	for _, chapter := range chapters {
		path := "docs/rationale/" + chapter + ".md"
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		title := titleLine.FindSubmatch(text)
		entries := entryLine.FindAllSubmatch(text, -1)
		if title == nil || len(entries) != len(anyEntry.FindAll(text, -1)) {
			return nil, fmt.Errorf("%s: a title and headings of the form %q are wanted", path, "## 7. Why …?")
		}
		marked := markedEntry.FindAllSubmatch(text, -1)
		if len(marked) != len(anyMark.FindAll(text, -1)) {
			return nil, fmt.Errorf("%s: a mark is wanted as a paragraph of its own below a heading: %q", path,
				"*Read first: it says what a pool is.*")
		}
		for _, entry := range marked {
			fmt.Fprintf(first, "- [%s][%s]:\n  %s\n", entry[2], entry[1], entry[3])
		}
		fmt.Fprintf(page, "\n## [%s](%s)\n\n| | question |\n|---|---|\n", title[1], path)
		for _, entry := range entries {
			number, err := strconv.Atoi(string(entry[1]))
			if err != nil {
				return nil, err
			}
			if other, taken := seen[number]; taken {
				return nil, fmt.Errorf("%s: entry %d is in %s already", path, number, other)
			}
			seen[number] = path
			fmt.Fprintf(page, "| <a id=\"%d\"></a>%[1]d | [%s][%[1]d] |\n", number, entry[2])
			fmt.Fprintf(links, "[%d]: %s#%s\n", number, path, slug(string(entry[0][len("## "):])))
		}
	}
	return slices.Concat(first.Bytes(), page.Bytes(), []byte("\n"), links.Bytes()), nil
}

// slug returns the anchor that GitHub gives a heading.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

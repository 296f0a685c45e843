//go:build e2e

package rules

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// ruleWait bounds the wait for an event that a rule says comes.
const ruleWait = 8 * time.Second

// board is where everything that happens in a rule is posted, so that each side can wait for what it depends on.
type board struct {
	mu      sync.Mutex
	rule    string
	lines   []string // "ID callback(…)…" as the probe logs, or "ID event"
	changed chan struct{}
}

func newBoard(rule string) *board { return &board{rule: rule, changed: make(chan struct{})} }

// varies is what the probe reads and is never twice the same.
var varies = []*regexp.Regexp{
	regexp.MustCompile(`(\bdate: )[^|]*[^| ]`),
	regexp.MustCompile(`(\bx-request-id: )[-0-9a-f]+`),
	regexp.MustCompile(`(\bx-envoy-upstream-service-time: )\d+`),
}

// log takes a line of the host's log, which may begin with the host's own words. The probe's lines are posted if they
// are this rule's.
func (b *board) log(line string) {
	_, text, ok := strings.Cut(": "+line, ": probe: ")
	if !ok {
		return
	}
	for _, v := range varies {
		text = v.ReplaceAllString(text, "$1…")
	}
	id, rest, _ := strings.Cut(text, " ")
	switch rule, request, ok := strings.Cut(id, "/"); {
	case rest == "deleted": // an event only: every stream's log would end with it
		if rule == b.rule {
			b.post(request, rest)
		}
	case !ok:
		b.post("!"+id, rest)
	case rule == b.rule:
		b.post("!"+request, rest)
	}
}

// Post says what has happened to a request. The probe's log lines are of "!ID".
func (b *board) post(id, what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, id+" "+what)
	close(b.changed)
	b.changed = make(chan struct{})
}

// wait waits for an event of the request, or of another that it names.
func (b *board) wait(id, event string) error {
	if event == "" {
		return nil
	}
	if other, name, ok := strings.Cut(event, ":"); ok {
		id, event = other, name
	}
	limit := time.After(ruleWait)
	for {
		b.mu.Lock()
		changed := b.changed
		found := slices.ContainsFunc(b.lines, func(line string) bool {
			who, what, _ := strings.Cut(strings.TrimPrefix(line, "!"), " ")
			if end := strings.IndexAny(what, "( "); end >= 0 {
				what = what[:end]
			}
			return who == id && what == event
		})
		b.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-changed:
		case <-limit:
			return fmt.Errorf("%s: waited for %s, which did not come", id, event)
		}
	}
}

// probe is what the probe has logged of a request.
func (b *board) probe(id string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []string
	for _, line := range b.lines {
		if text, ok := strings.CutPrefix(line, "!"+id+" "); ok {
			lines = append(lines, text)
		}
	}
	return lines
}

// logWriter gives whole lines to the current listener.
type logWriter struct {
	mu   sync.Mutex
	part []byte
	to   func(line string)
}

// Write implements io.Writer.
func (w *logWriter) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.part = append(w.part, data...)
	for {
		end := bytes.IndexByte(w.part, '\n')
		if end < 0 {
			return len(data), nil
		}
		w.to(string(w.part[:end]))
		w.part = w.part[end+1:]
	}
}

// ruleFaults collects what went wrong beside the rule itself: events that did not come.
type ruleFaults struct {
	mu   sync.Mutex
	errs []error
}

func (f *ruleFaults) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
}

func (f *ruleFaults) all() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.errs...)
}

//go:build !tinygo

package structuretest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure/structuretest"
)

// bad is an adapter that breaks a rule.
type bad struct {
	harmony.Sink
	rule string
	open bool
}

func (b *bad) Write(text []byte, _ int64) {
	if b.rule == "Content outside of messages" {
		b.Content(text, 0)
		return
	}
	if !b.open || b.rule == "Open inside a message" || b.rule == "got" {
		if b.rule == "got" && b.open { // a message for each piece
			b.Sink.Close(harmony.EndedByEnd)
		}
		b.Open(harmony.Header{})
		b.open = true
	}
	tokens := 0
	if b.rule == "tokens" {
		tokens = -1
	}
	b.Content(text, tokens)
}

func (*bad) Timed() bool                    { return false }
func (*bad) Recoveries() harmony.Recoveries { return harmony.Recoveries{} }

func (b *bad) Break() {
	if b.open && b.rule != "open after Break" {
		b.Sink.Close(harmony.EndedByEnd)
		b.open = false
	}
}

func (b *bad) Finish(bool) {
	if b.rule == "Close outside of messages" {
		b.Sink.Close(harmony.Cut)
	}
	if b.open && b.rule != "open at the end" {
		b.Sink.Close(harmony.Cut)
	}
}

// failing is a test that fails.
type failing struct {
	testing.TB
	said string
}

func (*failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// TestReadFails: each broken rule fails a test.
func TestReadFails(t *testing.T) {
	for rule, text := range map[string]string{
		"Content outside of messages": "a", "Open inside a message": "ab", "Close outside of messages": "",
		"open after Break": "a" + structuretest.Break, "open at the end": "a", "not valid UTF-8": "é", "tokens": "a",
		"got": "ab",
	} {
		t.Run(rule, func(t *testing.T) {
			create := func(sink harmony.Sink, _ structure.Options) structure.Adapter { return &bad{Sink: sink, rule: rule} }
			f := &failing{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				structuretest.Read(f, create, structure.Options{}, text, true)
			}()
			if <-done; !strings.Contains(f.said, rule) {
				t.Errorf("it says %q", f.said)
			}
		})
	}
}

package up

import (
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestWarningsStandAfterTry checks that a warning of the start is printed after the lines that say where the gateway is.
func TestWarningsStandAfterTry(t *testing.T) {
	var out strings.Builder
	u := &up{config: config.Default(), stdout: &out, stderr: &out}
	u.config.Models = []config.Model{config.DefaultModel("m")}
	u.events = hold(u.stderr, time.Hour)
	u.eventLog().Warn("a pool is down")
	u.printReady("127.0.0.1:1", "page: none")
	u.eventLog().Warn("later")
	text := out.String()
	first, second := strings.Index(text, "a pool is down"), strings.Index(text, "later")
	if try := strings.Index(text, "try:\n"); try < 0 || first < try || second < first {
		t.Errorf("it prints\n%s", text)
	}
}

// TestHeldEnds checks that lines are held neither for ever nor without a bound.
func TestHeldEnds(t *testing.T) {
	out := &lockedText{}
	out.writer = &out.text
	h := hold(out, time.Millisecond)
	_, _ = h.Write([]byte("one\n"))
	for limit := time.Now().Add(20 * time.Second); out.String() == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it is held for ever")
		}
	}
	full := &lockedText{}
	full.writer = &full.text
	h = hold(full, time.Hour)
	for range maxHeld/1000 + 1 {
		_, _ = h.Write([]byte(strings.Repeat("x", 999) + "\n"))
	}
	if lines := strings.Count(full.String(), "\n"); lines != maxHeld/1000+1 {
		t.Errorf("%d lines are printed", lines)
	}
	h.release()
	h.release()
}

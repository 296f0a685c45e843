//go:build e2e

package clients

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// codexItem is an item that codex exec shows, of any kind.
type codexItem struct {
	Type, Text, Message, Status string
	Output                      string `json:"aggregated_output"`
	Server, Tool                string
	Changes                     []struct{ Path, Kind string }
	raw                         string
}

// codexTurn is what a user sees of one run of codex exec.
type codexTurn struct {
	items  []codexItem
	failed string // the message of a turn that failed
	err    error  // of the program
	said   string // everything, for the test's log
	took   time.Duration
}

// run runs codex exec and returns what it shows, whatever that is.
func (c *codex) run(t *testing.T, args ...string) codexTurn {
	t.Helper()
	cmd := c.command(t, args...)
	var said, warned bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &warned
	began := time.Now()
	turn := codexTurn{err: cmd.Run(), said: said.String() + warned.String(), took: time.Since(began)}
	for line := range strings.Lines(said.String()) {
		var e struct {
			Type    string
			Item    codexItem
			Error   struct{ Message string }
			Message string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("%v: %s", err, line)
			continue
		}
		switch e.Type {
		case "item.completed":
			e.Item.raw = strings.TrimSpace(line)
			turn.items = append(turn.items, e.Item)
		case "turn.failed":
			turn.failed = e.Error.Message
		}
	}
	return turn
}

// shortened is a message for a cell of a table: of an error of the API the code.
func shortened(message string) string {
	var body struct{ Error struct{ Code string } }
	if json.Unmarshal([]byte(message), &body) == nil && body.Error.Code != "" {
		return "`" + body.Error.Code + "`"
	}
	message, _, _ = strings.Cut(strings.ReplaceAll(message, "|", "/"), "\n")
	return message
}

// last returns the last message of the model.
func (r *codexTurn) last() string {
	text := ""
	for _, item := range r.items {
		if item.Type == "agent_message" {
			text = item.Text
		}
	}
	return text
}

// ended says what is wrong with a turn that should have ended with a text.
func (r *codexTurn) ended(text string) string {
	switch got := r.last(); {
	case r.failed != "":
		return "the turn fails: " + shortened(r.failed)
	case r.err != nil:
		return r.err.Error()
	case got == text:
		return ""
	case strings.Contains(got, "I read "): // what the simulated model says of itself
		return "an answer that is not about the task"
	case got != "":
		return "it ends with " + shortened(got)
	case len(r.items) == 0:
		return "an empty turn, and exit status 0"
	default:
		return "no answer, and exit status 0"
	}
}

//go:build e2e

package lab

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Session is a shell session that a page shows: what is typed, and what is then seen.
type Session struct{ Typed, Shown string }

// ReadSession returns the first session of a page below its heading. A typed line begins with "$ ", or follows one that
// goes on.
func ReadSession(t *testing.T, page, heading string) Session {
	t.Helper()
	data, err := os.ReadFile(File(page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), heading+"\n")
	_, rest, begins := strings.Cut(rest, "```console\n")
	text, _, ends := strings.Cut(rest, "```\n")
	if !ok || !begins || !ends {
		t.Fatalf("%s has no session below %s", page, heading)
	}
	var typed, shown strings.Builder
	goesOn := false
	for line := range strings.Lines(text) {
		command, prompt := strings.CutPrefix(line, "$ ")
		if !prompt && !goesOn {
			shown.WriteString(line)
			continue
		}
		typed.WriteString(command)
		end := strings.TrimSpace(command)
		goesOn = strings.HasSuffix(end, `\`) || strings.HasSuffix(end, "|")
	}
	return Session{typed.String(), shown.String()}
}

// Replace replaces every occurrence of a text.
func (s *Session) Replace(old, by string) {
	s.Typed, s.Shown = strings.ReplaceAll(s.Typed, old, by), strings.ReplaceAll(s.Shown, old, by)
}

// FreeAddress returns an address of 127.0.0.1 on which nothing listens.
func FreeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Run types the session into a shell, and fails the test unless what is seen is what the page shows. prepare, if not
// nil, changes how the shell is started.
func (s *Session) Run(ctx context.Context, t *testing.T, prepare func(shell *exec.Cmd)) {
	t.Helper()
	shell := exec.CommandContext(ctx, "bash", "-m")
	shell.Stdin = strings.NewReader(s.Typed + "wait\n")
	shell.WaitDelay = StopLimit
	if prepare != nil {
		prepare(shell)
	}
	var said bytes.Buffer
	shell.Stderr = &said
	got, err := shell.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, &said)
	}
	// The last answer may end without a line end.
	if strings.TrimSpace(string(got)) != strings.TrimSpace(s.Shown) {
		t.Errorf("the session shows\n%s\nthe page\n%s\n%s", got, s.Shown, &said)
	}
}

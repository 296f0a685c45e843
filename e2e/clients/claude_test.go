//go:build e2e

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// claude is Claude Code with a configuration and a folder to work in.
type claude struct {
	url, model         string
	home, folder, temp string
	// environment is added to what every run has.
	environment []string
	// limit is how long it may run.
	limit time.Duration
}

func newClaude(t *testing.T, url, model string) *claude {
	t.Helper()
	root := t.TempDir()
	c := &claude{url: url, model: model, home: filepath.Join(root, "home"), folder: filepath.Join(root, "work"),
		temp: filepath.Join(root, "tmp"), limit: lab.ProgramLimit}
	for _, folder := range []string{c.home, c.folder, c.temp} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// allowed are the tools that Claude Code runs without asking the user.
const allowed = "Bash,Read,Edit,Write,Agent,WebSearch,mcp__time,mcp__hand"

// command is claude -p, which the test's end or its limit ends. What the user says is the last argument.
func (c *claude) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	last := len(args) - 1
	return c.program(t, append(append([]string{"-p", "--output-format", "stream-json", "--verbose", "--max-turns", "200",
		"--allowedTools", allowed}, args[:last]...), "--", args[last])...)
}

// program is claude with any arguments.
func (c *claude) program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), c.limit)
	t.Cleanup(cancel)
	packages := lab.Tool(t, "HARMONY_CLIENTS")
	cmd := exec.CommandContext(ctx, filepath.Join(packages, "node"), append([]string{
		filepath.Join(packages, "node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs")}, args...)...)
	// The program that runs in node must not outlive it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Dir = c.folder
	// On busy cores an MCP server of Python is not there in the 30 seconds that Claude Code waits of itself.
	cmd.Env = append([]string{fmt.Sprintf("MCP_TIMEOUT=%d", c.limit.Milliseconds()), "PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "CLAUDE_CONFIG_DIR=" + c.home, "TMPDIR=" + c.temp,
		"ANTHROPIC_BASE_URL=" + c.url, "ANTHROPIC_AUTH_TOKEN=none", "ANTHROPIC_MODEL=" + c.model,
		"CLAUDE_CODE_MAX_CONTEXT_TOKENS=131072", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}, c.environment...)
	return cmd
}

// claudeTurn is what a user sees of one run.
type claudeTurn struct {
	result     string // the last text
	failed     bool
	structured string   // the object of --json-schema
	compacted  []string // why the conversation was compacted, each time
	session    string
	err        error  // of the program
	said       string // everything, for the test's log
	took       time.Duration
}

// run runs claude -p and returns what it shows, whatever that is.
func (c *claude) run(t *testing.T, args ...string) claudeTurn {
	t.Helper()
	cmd := c.command(t, args...)
	var said, warned bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &warned
	began := time.Now()
	turn := claudeTurn{err: cmd.Run(), said: said.String() + warned.String(), took: time.Since(began)}
	for line := range strings.Lines(said.String()) {
		var e struct {
			Type, Subtype string
			Session       string `json:"session_id"`
			Failed        bool   `json:"is_error"`
			Result        string
			Structured    json.RawMessage          `json:"structured_output"`
			Compacted     struct{ Trigger string } `json:"compact_metadata"`
		}
		switch err := json.Unmarshal([]byte(line), &e); {
		case err != nil:
			t.Errorf("%v: %s", err, line)
		case e.Subtype == "compact_boundary":
			turn.compacted = append(turn.compacted, e.Compacted.Trigger)
		case e.Type == "result":
			turn.result, turn.failed, turn.session = e.Result, e.Failed, e.Session
			turn.structured = string(e.Structured)
		}
	}
	return turn
}

// ended says what is wrong with a turn that should have ended with a text.
func (r *claudeTurn) ended(text string) string {
	switch {
	case !r.failed && r.err == nil && r.result == text:
		return ""
	case r.result == "" && r.err != nil:
		return r.err.Error()
	case r.result == "":
		return "an empty result"
	case strings.Contains(r.result, "I read "): // what the simulated model says of itself
		return "an answer that is not about the task"
	default:
		return "it ends with " + shortened(r.result)
	}
}
